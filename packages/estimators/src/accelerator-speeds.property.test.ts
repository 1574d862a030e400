/** Speed factors as a bank learns them, with the models of the kind: accelerators in random turn do work of random sizes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EstimatorBank } from "./index.ts";

const seeds = fc.integer({ min: 1, max: 2 ** 31 - 1 });

/** A small seeded generator (mulberry32): uniform in [0, 1). */
function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Device {
  /** What it takes ÷ what is normal. */
  slow: number;
}

/** Devices of one kind that do prefills and decodes, two models, with noise of 2 % (uniform ± 3.5 %). */
class Kind {
  readonly bank = new EstimatorBank();
  readonly devices: Device[];
  readonly random: () => number;
  /** Observations of each since the last `forgetCounts`. */
  counts: number[] = [];

  constructor(seed: number, devices: number) {
    this.random = uniform(seed);
    this.devices = Array.from({ length: devices }, () => ({ slow: 1 }));
    this.forgetCounts();
  }

  forgetCounts(): void {
    this.counts = this.devices.map(() => 0);
  }

  draw() {
    const tokens = this.random() < 0.3 ? 1 + Math.floor(this.random() * 2048) : 0;
    const normalNs = tokens === 0 ? 10_575_000 : 300_000 + 225_000 * tokens;
    return { model: tokens === 0 ? "decode" : "prefill", features: [tokens], priorNs: 2000 + 9000 * tokens, normalNs };
  }

  work(observations: number, wild: (index: number) => number = () => 1): void {
    for (let i = 0; i < observations; i++) {
      const device = Math.floor(this.random() * this.devices.length);
      const { model, features, priorNs, normalNs } = this.draw();
      const noise = 1 + 0.07 * (this.random() - 0.5);
      const observedNs = normalNs * noise * (this.devices[device]?.slow ?? 1) * wild(i);
      this.bank.observeOperator({ model, kind: "k", accelerator: `a${device}`, features, observedNs, priorNs });
      this.counts[device] = (this.counts[device] ?? 0) + 1;
    }
  }

  /** Until everyone has the factor that it should. The observations of each that it took; fails past `observationsMax` of them all. */
  settle(expected: readonly number[], observationsMax: number): readonly number[] {
    this.forgetCounts();
    for (let i = 0; i < observationsMax; i++) {
      if (this.factors().every((factor, a) => Math.abs(factor / (expected[a] ?? 1) - 1) < 0.1)) return this.counts;
      this.work(1);
    }
    throw new Error(`after ${observationsMax} observations the factors are ${this.factors()}, not ${expected}`);
  }

  factors(): number[] {
    return this.devices.map((_, a) => this.bank.speedFactor("k", `a${a}`));
  }

  /** The largest |predicted − true| / true of decodes on all accelerators. */
  worstError(): number {
    const { durationNs } = this.bank.operator("decode", "k").predict([0], 2000);
    const errors = this.factors().map((factor, a) =>
      Math.abs((durationNs * factor) / (10_575_000 * (this.devices[a]?.slow ?? 1)) - 1),
    );
    return Math.max(...errors);
  }
}

const ofEight = (slow: readonly number[], factor: number) =>
  Array.from({ length: 8 }, (_, a) => (slow.includes(a) ? factor : 1));

function slowDown(kind: Kind, which: readonly number[], slow: number): void {
  for (const a of which) (kind.devices[a] as Device).slow = slow;
}

describe("accelerators of a kind", () => {
  it("that are alike have factors of exactly 1, at all times, and the models learn what they would without accelerators", () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 12 }), (seed, devices) => {
        const kind = new Kind(seed, devices);
        const plain = new EstimatorBank();
        const observe = kind.bank.observeOperator.bind(kind.bank);
        kind.bank.observeOperator = (it) => {
          observe(it);
          plain.operator(it.model, it.kind).observe(it.features, it.observedNs, it.priorNs);
        };
        for (let i = 0; i < 150; i++) {
          kind.work(4);
          expect(kind.factors()).toEqual(kind.devices.map(() => 1));
        }
        expect(plain.save().operators).toEqual(kind.bank.save().operators);
      }),
      { numRuns: 40 },
    );
  });

  it("one that becomes three times as slow is found by its 8th observation, and forgotten by its 8th when it is normal again", () => {
    fc.assert(
      fc.property(seeds, fc.nat(7), (seed, which) => {
        const kind = new Kind(seed, 8);
        kind.work(400);
        for (const slow of [3, 1]) {
          slowDown(kind, [which], slow);
          expect(kind.settle(ofEight([which], slow), 200)[which]).toBeLessThanOrEqual(8);
          kind.work(200);
          expect(kind.worstError()).toBeLessThan(0.1);
        }
        expect(kind.factors()).toEqual(ofEight([], 1));
      }),
      { numRuns: 60 },
    );
  });

  it("two of eight that are slow from the very first observation are found within 400 of them all", () => {
    fc.assert(
      fc.property(seeds, fc.nat(6), (seed, which) => {
        const kind = new Kind(seed, 8);
        slowDown(kind, [which, 7], 3);
        kind.settle(ofEight([which, 7], 3), 400);
        kind.work(400);
        expect(kind.worstError()).toBeLessThan(0.1);
      }),
      { numRuns: 60 },
    );
  });

  it("when all become slow at once that is the kind's: factors return to exactly 1, and predictions are right", () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 2, max: 8 }), (seed, devices) => {
        const kind = new Kind(seed, devices);
        kind.work(50 * devices);
        slowDown(kind, [...kind.devices.keys()], 3);
        kind.work(50 * devices);
        expect(kind.factors()).toEqual(kind.devices.map(() => 1));
        expect(kind.worstError()).toBeLessThan(0.1);
      }),
      { numRuns: 60 },
    );
  });

  it("a wild observation, NaN or infinite, changes no factor, of a normal or a slow one", () => {
    const wilds = fc.constantFrom(400, 1 / 400, Number.NaN, Number.POSITIVE_INFINITY, 0, -1, 1e300);
    fc.assert(
      fc.property(seeds, wilds, (seed, wild) => {
        const kind = new Kind(seed, 8);
        slowDown(kind, [0], 3);
        kind.work(500);
        kind.work(1, () => wild);
        kind.work(100, (i) => (i % 25 === 0 ? wild : 1));
        for (const [a, factor] of kind.factors().entries()) {
          if (a === 0) expect(Math.abs(factor / 3 - 1)).toBeLessThan(0.1);
          else expect(factor).toBe(1);
        }
        expect(kind.worstError()).toBeLessThan(0.1);
      }),
      { numRuns: 60 },
    );
  });

  it("the factor holds for work that was never done there", () => {
    const kind = new Kind(5, 4);
    slowDown(kind, [2], 3);
    kind.work(400);
    const { bank } = kind;
    for (let i = 0; i < 12; i++) {
      const seen = { model: "new", kind: "k", features: [i], observedNs: 1000 * (i + 1), priorNs: 500 };
      bank.observeOperator({ ...seen, accelerator: "a0" });
    }
    expect(bank.speedFactor("k", "a2")).toBeGreaterThan(2.9);
    expect(bank.speedFactor("k", "a0")).toBe(1);
    expect(bank.speedFactor("other kind", "a2")).toBe(1);
    // And the model takes what a slow one did for what a normal one would have done.
    const before = bank.operator("new", "k").predict([5], 500).durationNs;
    for (let i = 0; i < 12; i++) {
      const seen = { model: "new", kind: "k", features: [i], observedNs: 3000 * (i + 1), priorNs: 500 };
      bank.observeOperator({ ...seen, accelerator: "a2" });
    }
    expect(Math.abs(bank.operator("new", "k").predict([5], 500).durationNs / before - 1)).toBeLessThan(0.05);
  });
});
