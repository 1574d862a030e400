/**
 * Continuous batching with chunked prefill, as serving engines do it: what each step of one engine is composed of, as a pure
 * state without clock. A step takes one token of each running sequence that can go on, then prompt tokens up to its size.
 *
 * The engine is a pipeline, and steps are composed ahead of those that run. A sequence whose newest token is still being made can be in
 * such a step, which then *awaits* the step that makes it.
 * - While prompts are read, the awaited step is the oldest one under way, so that no stage of the pipeline has to wait for it.
 * - Without prompts all sequences go together: a small step takes as long as a large one, and its stages would wait anyway.
 *
 * Requests are admitted first come, first served, between steps, once the pool has pages for all that they may come to cache: who
 * runs is never evicted. Keys and values lie in pages, so any free ones will do, and only their number is kept.
 */
import { InvalidOptionError, ModelDoesNotFitError } from "../errors.ts";
import {
  cachedTokens,
  cacheTokensMax,
  newSequence,
  type Sequence,
  type SequenceLengths,
  wantsDecode,
  willYield,
} from "./sequence.ts";

export interface BatcherOptions {
  /** Steps composed and not done, at least 1; a pipeline that is disturbed by others needs more than one for each stage. */
  readonly stepsUnderWayMax: number;
  /** Most tokens in a step, at least 1. */
  readonly stepTokensMax: number;
  /** Tokens that a step can have in the time in which it reads the weights, at least 1. */
  readonly lightTokensMax: number;
  /** Most sequences running at once, at least 1. */
  readonly sequencesMax: number;
  /** Size of the key-value pool, and of one page of it, at least 1. */
  readonly poolTokens: number;
  readonly pageTokens: number;
}

/** Prompt tokens of one sequence in a step. */
interface Chunk {
  readonly sequence: number;
  readonly fromToken: number;
  readonly tokens: number;
}

export interface BatchedStep {
  /** 0, 1, 2, … in the order of composition, which is the order in which each stage runs them. */
  readonly number: number;
  readonly chunks: readonly Chunk[];
  /** Sequences that decode one token. */
  readonly decodes: readonly number[];
  /** New tokens in all. */
  readonly tokens: number;
  /** Tokens of its sequences that the steps before have cached, which it reads. */
  readonly cachedTokens: number;
  /** The step that makes the newest token it decodes, when that is not done; else null. */
  readonly awaits: number | null;
}

/** What a step's end brought: who got a token, and which of them that was the last one of. */
export interface StepOutcome {
  readonly yields: readonly number[];
  readonly ended: readonly number[];
}

const countsFrom1 = [
  "stepsUnderWayMax",
  "stepTokensMax",
  "lightTokensMax",
  "sequencesMax",
  "poolTokens",
  "pageTokens",
] as const;

export class Batcher {
  readonly #options: BatcherOptions;
  readonly #waiting: Sequence[] = [];
  /** In the order of admission. */
  #running: Sequence[] = [];
  /** Composed steps that are not done, with those whose token they make. */
  readonly #underWay: { readonly number: number; readonly yields: readonly Sequence[] }[] = [];
  #next = 0;
  #freePages: number;
  #outstandingTokens = 0;
  #waitingTokens = 0;

  /** Throws INVALID_OPTION. */
  constructor(options: BatcherOptions) {
    for (const name of countsFrom1) {
      const value = options[name];
      if (!(Number.isSafeInteger(value) && value >= 1))
        throw new InvalidOptionError(name, value, "a whole number from 1");
    }
    this.#options = options;
    this.#freePages = this.pages;
  }

  /** Pages of the pool; a rest that fills none is left out. */
  get pages(): number {
    return Math.floor(this.#options.poolTokens / this.#options.pageTokens);
  }

  get freePages(): number {
    return this.#freePages;
  }

  get stepsUnderWay(): number {
    return this.#underWay.length;
  }

  /** Tokens, read or made, of everybody here that are in no composed step yet. */
  get outstandingTokens(): number {
    return this.#outstandingTokens;
  }

  /** Prompt tokens of those not yet admitted. */
  get waitingTokens(): number {
    return this.#waitingTokens;
  }

  /** Nobody waits and nobody runs. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#running.length === 0;
  }

  /**
   * Queues a request. Throws INVALID_OPTION for lengths that are none, MODEL_DOES_NOT_FIT for one larger than the pool.
   * @param id given back in steps; nobody else here has it.
   */
  offer(id: number, lengths: SequenceLengths): void {
    for (const name of ["inputTokens", "outputTokens"] as const) {
      if (Number.isSafeInteger(lengths[name]) && lengths[name] >= 1) continue;
      throw new InvalidOptionError(name, lengths[name], "a whole number from 1");
    }
    const { pageTokens } = this.#options;
    const tokens = cacheTokensMax(lengths);
    const pages = Math.ceil(tokens / pageTokens);
    if (pages > this.pages) {
      const asked = `a request of ${tokens} tokens needs ${pages} pages of ${pageTokens} tokens`;
      throw new ModelDoesNotFitError(`${asked}, and the pool has ${this.pages}; give it a larger pool`);
    }
    this.#waiting.push(newSequence(id, lengths, pages));
    this.#outstandingTokens += tokens;
    this.#waitingTokens += lengths.inputTokens;
  }

  /** The next step, or null when enough are under way or nobody can go on before one of them is done. */
  compose(): BatchedStep | null {
    const { stepsUnderWayMax, stepTokensMax } = this.#options;
    if (this.#underWay.length >= stepsUnderWayMax) return null;
    const number = this.#next;
    const decoding = this.#decoding(number);
    const awaited = decoding.reduce((latest, sequence) => Math.max(latest, sequence.lastYield), -1);
    let cached = 0;
    for (const sequence of decoding) {
      cached += cachedTokens(sequence);
      sequence.decodes += 1;
      willYield(sequence, number);
    }
    const yields = [...decoding];
    const chunks: Chunk[] = [];
    let tokens = decoding.length;
    for (let reader = this.#reader(); reader !== undefined && tokens < stepTokensMax; reader = this.#reader()) {
      const fromToken = reader.promptTokens;
      const count = Math.min(stepTokensMax - tokens, reader.inputTokens - fromToken);
      chunks.push({ sequence: reader.id, fromToken, tokens: count });
      tokens += count;
      cached += fromToken;
      reader.promptTokens += count;
      if (reader.promptTokens < reader.inputTokens) continue;
      willYield(reader, number);
      yields.push(reader);
    }
    if (tokens === 0) return null;
    this.#next += 1;
    this.#outstandingTokens -= tokens;
    this.#underWay.push({ number, yields });
    const decodes = decoding.map(({ id }) => id);
    return { number, chunks, decodes, tokens, cachedTokens: cached, awaits: this.#isOut(awaited) ? null : awaited };
  }

  /** The oldest step under way is done. Throws a TypeError for another one: each stage runs them in order. */
  done(number: number): StepOutcome {
    const step = this.#underWay.shift();
    if (step?.number !== number) throw new TypeError(`step ${number} is done, and step ${step?.number} should be`);
    const ended: number[] = [];
    for (const sequence of step.yields) {
      sequence.tokensOut += 1;
      if (sequence.tokensOut < sequence.outputTokens) continue;
      ended.push(sequence.id);
      this.#freePages += sequence.pages;
    }
    if (ended.length > 0)
      this.#running = this.#running.filter(({ tokensOut, outputTokens }) => tokensOut < outputTokens);
    return { yields: step.yields.map(({ id }) => id), ended };
  }

  /** Takes out everybody who is not admitted yet, in order. */
  dropWaiting(): number[] {
    const dropped = this.#waiting.splice(0);
    for (const sequence of dropped) this.#outstandingTokens -= cacheTokensMax(sequence);
    this.#waitingTokens = 0;
    return dropped.map(({ id }) => id);
  }

  #isOut(yieldedBy: number): boolean {
    return yieldedBy < (this.#underWay[0]?.number ?? this.#next);
  }

  /** Who decodes in the step of that number. */
  #decoding(number: number): Sequence[] {
    const { stepsUnderWayMax, stepTokensMax, lightTokensMax } = this.#options;
    const wanting = this.#running.filter(wantsDecode);
    if (wanting.length <= Math.min(lightTokensMax, stepTokensMax) && this.#reader() === undefined) {
      // Further ahead they would only stand in the way of who arrives.
      return wanting.every(({ yieldBefore }) => this.#isOut(yieldBefore)) ? wanting : [];
    }
    return wanting
      .filter(({ lastYield }) => this.#isOut(lastYield) || lastYield <= number - (stepsUnderWayMax - 1))
      .sort((a, b) => a.lastYield - b.lastYield)
      .slice(0, stepTokensMax);
  }

  /** The first whose prompt is not read to its end; admits the next in line when there is none. */
  #reader(): Sequence | undefined {
    const reading = this.#running.find(({ promptTokens, inputTokens }) => promptTokens < inputTokens);
    if (reading !== undefined) return reading;
    const next = this.#waiting[0];
    if (next === undefined || this.#running.length >= this.#options.sequencesMax || next.pages > this.#freePages)
      return undefined;
    this.#waiting.shift();
    this.#waitingTokens -= next.inputTokens;
    this.#freePages -= next.pages;
    this.#running.push(next);
    return next;
  }
}
