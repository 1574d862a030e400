/**
 * The replay's own books of tokens: every prompt token of every request once and in order, every output token once and after the
 * one before it, by steps that are done. It knows what steps were made of, never the batcher's state.
 */
import type { CheckFailure } from "../errors.ts";
import type { BatchedStep } from "./batcher.ts";
import { cacheTokensMax, type SequenceLengths } from "./sequence.ts";

interface Progress extends SequenceLengths {
  promptTokens: number;
  outputTokensDone: number;
  readonly pages: number;
}

/** Most failures kept; a broken run breaks everywhere. */
const failuresMax = 1000;

export class TokenBook {
  readonly #sequences = new Map<number, Progress>();
  readonly #failures: CheckFailure[] = [];
  readonly #pageTokens: number;
  readonly #poolTokens: number;
  readonly #stepTokensMax: number;
  #usedPages = 0;

  constructor(pool: { readonly pageTokens: number; readonly poolTokens: number; readonly stepTokensMax: number }) {
    this.#pageTokens = pool.pageTokens;
    this.#poolTokens = pool.poolTokens;
    this.#stepTokensMax = pool.stepTokensMax;
  }

  /** A step was composed; `lengthsOf` tells what was asked for. */
  composed(step: BatchedStep, lengthsOf: (sequence: number) => SequenceLengths): void {
    const tokens = step.decodes.length + step.chunks.reduce((sum, chunk) => sum + chunk.tokens, 0);
    if (tokens !== step.tokens || tokens > this.#stepTokensMax || tokens === 0) {
      this.#fail(
        "step size",
        `step ${step.number} says ${step.tokens} tokens and has ${tokens}, at most ${this.#stepTokensMax}`,
      );
    }
    for (const { sequence, fromToken } of step.chunks) {
      if (fromToken > 0) continue;
      if (this.#sequences.has(sequence)) this.#fail("tokens exactly once", `request ${sequence} is admitted twice`);
      const lengths = lengthsOf(sequence);
      const pages = Math.ceil(cacheTokensMax(lengths) / this.#pageTokens);
      this.#usedPages += pages;
      this.#sequences.set(sequence, { ...lengths, promptTokens: 0, outputTokensDone: 0, pages });
    }
    const usedTokens = this.#usedPages * this.#pageTokens;
    if (usedTokens > this.#poolTokens) {
      this.#fail("pool", `step ${step.number} has pages of ${usedTokens} tokens in use, of ${this.#poolTokens}`);
    }
  }

  /** A step is done. */
  done({ number, chunks, decodes }: BatchedStep): void {
    for (const { sequence, fromToken, tokens } of chunks) {
      const progress = this.#sequences.get(sequence);
      if (progress === undefined || progress.promptTokens !== fromToken) {
        const found = progress?.promptTokens ?? "none";
        this.#fail(
          "tokens exactly once",
          `step ${number} reads request ${sequence} from token ${fromToken}; read: ${found}`,
        );
        continue;
      }
      progress.promptTokens += tokens;
      if (progress.promptTokens === progress.inputTokens) this.#yielded(sequence, progress);
    }
    for (const sequence of decodes) {
      const progress = this.#sequences.get(sequence);
      if (progress === undefined || progress.promptTokens < progress.inputTokens || progress.outputTokensDone === 0) {
        this.#fail("tokens exactly once", `step ${number} decodes request ${sequence}, whose first token is not out`);
      } else this.#yielded(sequence, progress);
    }
  }

  /** Everything that broke, plus requests that never got all their tokens. */
  failures(): CheckFailure[] {
    const left = [...this.#sequences].map(
      ([sequence, { promptTokens, inputTokens, outputTokensDone, outputTokens }]) => ({
        check: "tokens exactly once",
        detail: `request ${sequence} ended with ${promptTokens} of ${inputTokens} tokens read and ${outputTokensDone} of ${outputTokens} made`,
      }),
    );
    return [...this.#failures, ...left];
  }

  #yielded(sequence: number, progress: Progress): void {
    progress.outputTokensDone += 1;
    if (progress.outputTokensDone < progress.outputTokens) return;
    this.#sequences.delete(sequence);
    this.#usedPages -= progress.pages;
  }

  #fail(check: string, detail: string): void {
    if (this.#failures.length < failuresMax) this.#failures.push({ check, detail });
  }
}
