import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { type BatchedStep, Batcher, type BatcherOptions } from "./batcher.ts";
import type { SequenceLengths } from "./sequence.ts";

/** The same rules, worked out anew each time from what was offered, composed and done; it keeps no state of its own. */
class SlowTwin {
  readonly offered: (SequenceLengths & { id: number })[] = [];
  readonly steps: BatchedStep[] = [];
  stepsDone = 0;
  readonly #options: BatcherOptions;

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  compose(): BatchedStep | null {
    const { stepsUnderWayMax, stepTokensMax, lightTokensMax } = this.#options;
    const number = this.steps.length;
    if (number - this.stepsDone === stepsUnderWayMax) return null;
    const running = this.#running();
    const wanting = running.filter(
      (s) => this.#promptRead(s.id) === s.inputTokens && this.#decodes(s.id) < s.outputTokens - 1,
    );
    const canAdmit = this.#nextAdmitted(running) !== undefined;
    const someoneReads = running.some((s) => this.#promptRead(s.id) < s.inputTokens) || canAdmit;
    let decoding: typeof wanting;
    if (!someoneReads && wanting.length <= lightTokensMax && wanting.length <= stepTokensMax) {
      const farAhead = wanting.some(({ id }) => (this.#yields(id).at(-2) ?? -1) >= this.stepsDone);
      decoding = farAhead ? [] : wanting;
    } else {
      const last = (id: number): number => this.#yields(id).at(-1) ?? -1;
      decoding = wanting.filter(({ id }) => last(id) < this.stepsDone || last(id) + stepsUnderWayMax - 1 <= number);
      decoding = [...decoding].sort((a, b) => last(a.id) - last(b.id)).slice(0, stepTokensMax);
    }
    const awaited = Math.max(-1, ...decoding.map(({ id }) => this.#yields(id).at(-1) ?? -1));
    let cachedTokens = decoding.reduce((sum, s) => sum + s.inputTokens + this.#decodes(s.id), 0);
    let room = stepTokensMax - decoding.length;
    const chunks = [];
    const readers = running.filter((s) => this.#promptRead(s.id) < s.inputTokens);
    const runningNow = [...running];
    while (room > 0) {
      let reader = readers.shift();
      if (reader === undefined) {
        reader = this.#nextAdmitted(runningNow);
        if (reader === undefined) break;
        runningNow.push(reader);
      }
      const fromToken = this.#promptRead(reader.id);
      const tokens = Math.min(room, reader.inputTokens - fromToken);
      chunks.push({ sequence: reader.id, fromToken, tokens });
      cachedTokens += fromToken;
      room -= tokens;
    }
    if (room === stepTokensMax) return null;
    const awaits = awaited >= this.stepsDone ? awaited : null;
    return {
      number,
      chunks,
      decodes: decoding.map(({ id }) => id),
      tokens: stepTokensMax - room,
      cachedTokens,
      awaits,
    };
  }

  outputTokensOut(id: number): number {
    return this.#yields(id).filter((step) => step < this.stepsDone).length;
  }

  usedPages(): number {
    return this.#running().reduce((sum, s) => sum + this.#pages(s), 0);
  }

  idle(): boolean {
    return this.offered.every((s) => this.outputTokensOut(s.id) === s.outputTokens);
  }

  /** Admitted, which is: it has a first chunk, and not all of its tokens. */
  #running(): (SequenceLengths & { id: number })[] {
    return this.offered.filter((s) => this.#isAdmitted(s.id) && this.outputTokensOut(s.id) < s.outputTokens);
  }

  #isAdmitted(id: number): boolean {
    return this.steps.some(({ chunks }) => chunks.some((chunk) => chunk.sequence === id));
  }

  #nextAdmitted(
    running: readonly (SequenceLengths & { id: number })[],
  ): (SequenceLengths & { id: number }) | undefined {
    const { sequencesMax, poolTokens, pageTokens } = this.#options;
    const next = this.offered.find(({ id }) => !this.#isAdmitted(id) && !running.some((s) => s.id === id));
    const used = running.reduce((sum, s) => sum + this.#pages(s), 0);
    if (next === undefined || running.length >= sequencesMax) return undefined;
    return used + this.#pages(next) <= Math.floor(poolTokens / pageTokens) ? next : undefined;
  }

  #pages({ inputTokens, outputTokens }: SequenceLengths): number {
    return Math.ceil((inputTokens + outputTokens - 1) / this.#options.pageTokens);
  }

  #promptRead(id: number): number {
    return this.steps.flatMap(({ chunks }) => chunks).reduce((sum, c) => sum + (c.sequence === id ? c.tokens : 0), 0);
  }

  #decodes(id: number): number {
    return this.steps.filter(({ decodes }) => decodes.includes(id)).length;
  }

  /** Numbers of the steps that make its tokens. */
  #yields(id: number): number[] {
    const { inputTokens = 0 } = this.offered.find((s) => s.id === id) ?? {};
    return this.steps
      .filter(
        ({ chunks, decodes }) =>
          decodes.includes(id) || chunks.some((c) => c.sequence === id && c.fromToken + c.tokens === inputTokens),
      )
      .map(({ number }) => number);
  }
}

const options: fc.Arbitrary<BatcherOptions> = fc.record({
  stepsUnderWayMax: fc.integer({ min: 1, max: 9 }),
  stepTokensMax: fc.integer({ min: 1, max: 12 }),
  lightTokensMax: fc.integer({ min: 1, max: 6 }),
  sequencesMax: fc.integer({ min: 1, max: 6 }),
  poolTokens: fc.integer({ min: 60, max: 200 }),
  pageTokens: fc.integer({ min: 1, max: 4 }),
});
const command = fc.oneof(
  fc.record({
    type: fc.constant("offer" as const),
    inputTokens: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 24, max: 48 })),
    outputTokens: fc.integer({ min: 1, max: 12 }),
  }),
  fc.record({ type: fc.constant("compose" as const) }),
  fc.record({ type: fc.constant("compose" as const) }),
  fc.record({ type: fc.constant("done" as const), times: fc.integer({ min: 1, max: 4 }) }),
);

class Pair {
  readonly fast: Batcher;
  readonly slow: SlowTwin;
  readonly #options: BatcherOptions;

  constructor(drawn: BatcherOptions) {
    this.#options = drawn;
    this.fast = new Batcher(drawn);
    this.slow = new SlowTwin(drawn);
  }

  offer(lengths: SequenceLengths): void {
    const id = this.slow.offered.length * 10;
    this.fast.offer(id, lengths);
    this.slow.offered.push({ id, ...lengths });
  }

  compose(): BatchedStep | null {
    const expected = this.slow.compose();
    const step = this.fast.compose();
    expect(step).toEqual(expected);
    if (step !== null) this.slow.steps.push(step);
    return step;
  }

  done(): void {
    const step = this.slow.steps[this.slow.stepsDone];
    if (step === undefined) return;
    const before = new Map(this.slow.offered.map(({ id }) => [id, this.slow.outputTokensOut(id)]));
    const { yields, ended } = this.fast.done(step.number);
    this.slow.stepsDone += 1;
    const gained = this.slow.offered.filter(({ id }) => this.slow.outputTokensOut(id) > (before.get(id) ?? 0));
    expect([...yields].sort((a, b) => a - b)).toEqual(gained.map(({ id }) => id));
    const finished = gained.filter(({ id, outputTokens }) => this.slow.outputTokensOut(id) === outputTokens);
    expect([...ended].sort((a, b) => a - b)).toEqual(finished.map(({ id }) => id));
  }

  check(): void {
    const { poolTokens, pageTokens, stepsUnderWayMax } = this.#options;
    const usedPages = this.fast.pages - this.fast.freePages;
    // Who is admitted in advance of a step that turns out full has pages, and no chunk yet.
    expect(usedPages).toBeGreaterThanOrEqual(this.slow.usedPages());
    expect(usedPages * pageTokens).toBeLessThanOrEqual(poolTokens);
    expect(this.fast.stepsUnderWay).toBeLessThanOrEqual(stepsUnderWayMax);
    const cacheable = this.slow.offered.reduce((sum, s) => sum + s.inputTokens + s.outputTokens - 1, 0);
    const composed = this.slow.steps.reduce((sum, step) => sum + step.tokens, 0);
    expect(this.fast.outstandingTokens).toBe(cacheable - composed);
  }
}

describe("Batcher against its slow twin", () => {
  test.prop([options, fc.array(command, { maxLength: 100, size: "max" })], { numRuns: 50 })(
    "composes the same steps",
    (drawn, commands) => {
      const pair = new Pair(drawn);
      for (const it of commands) {
        if (it.type === "offer") pair.offer(it);
        else if (it.type === "compose") pair.compose();
        else for (let i = 0; i < it.times; i++) pair.done();
        pair.check();
      }
      // Once nobody arrives any more, everybody gets all tokens, and nothing is left.
      for (let rounds = 0; !pair.slow.idle(); rounds++) {
        expect(rounds).toBeLessThan(5000);
        while (pair.compose() !== null);
        pair.done();
        pair.check();
      }
      expect(pair.compose()).toBeNull();
      expect(pair.fast.isIdle).toBe(true);
      expect(pair.fast.freePages).toBe(pair.fast.pages);
      expect(pair.fast.outstandingTokens).toBe(0);
    },
  );
});
