import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DurationModel } from "./duration-model.ts";

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

/** Multiplies by 1 ± noise, normal, cut at three standard deviations. */
function noisy(random: () => number, value: number, noise: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return value * (1 + noise * Math.min(Math.max(normal, -3), 3));
}

const laws = fc.record({
  baseNs: fc.integer({ min: 1_000, max: 100_000_000 }),
  perTokenNs: fc.integer({ min: 1, max: 1_000_000 }),
  perPastNs: fc.integer({ min: 0, max: 100_000 }),
});
type Law = typeof laws extends fc.Arbitrary<infer T> ? T : never;

const durationNs = (law: Law, [tokens = 0, past = 0]: readonly number[]) =>
  law.baseNs + law.perTokenNs * tokens + law.perPastNs * past;
const drawFeatures = (random: () => number) => [1 + Math.floor(random() * 4096), Math.floor(random() * 8192)];

function train(model: DurationModel, law: Law, random: () => number, samples: number, noise: number, factor = 1) {
  for (let sample = 0; sample < samples; sample++) {
    const features = drawFeatures(random);
    model.observe(features, noisy(random, factor * durationNs(law, features), noise), 1e6);
  }
}

/** Median and ninth decile of |predicted − true| / true over fresh features. */
function trueError(model: DurationModel, law: Law, random: () => number, factor = 1) {
  const errors: number[] = [];
  for (let sample = 0; sample < 99; sample++) {
    const features = drawFeatures(random);
    const truth = factor * durationNs(law, features);
    errors.push(Math.abs(model.predict(features, 1e6).durationNs - truth) / truth);
  }
  errors.sort((a, b) => a - b);
  return { median: errors[49] ?? Number.NaN, ninthDecile: errors[89] ?? Number.NaN };
}

describe("a linear law", () => {
  it("is learned to about its noise, over six decades of durations", () => {
    fc.assert(
      fc.property(laws, seeds, (law, seed) => {
        const random = uniform(seed);
        const model = new DurationModel();
        train(model, law, random, 300, 0.01);
        const error = trueError(model, law, random);
        expect(error.median).toBeLessThan(0.012);
        // The rest is where both features are near 0: a long way from most observations, relative to the duration.
        expect(error.ninthDecile).toBeLessThan(0.06);
        expect(model.accuracy().shifts).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it("stays known elsewhere while the same features repeat thousands of times, and after", () => {
    fc.assert(
      fc.property(laws, seeds, (law, seed) => {
        const random = uniform(seed);
        const model = new DurationModel({ historyKeysMax: 0 });
        train(model, law, random, 300, 0.02);
        const repeated = drawFeatures(random);
        for (let sample = 0; sample < 5000; sample++) {
          model.observe(repeated, noisy(random, durationNs(law, repeated), 0.02), 1e6);
        }
        expect(trueError(model, law, random).median).toBeLessThan(0.08);
        train(model, law, random, 3, 0.02);
        expect(trueError(model, law, random).median).toBeLessThan(0.08);
        for (const variance of model.save().regression?.diagonal ?? []) expect(variance).toBeGreaterThan(0);
      }),
      { numRuns: 20 },
    );
  });

  it("says how far off it will be", () => {
    fc.assert(
      fc.property(laws, seeds, fc.constantFrom(0.02, 0.1, 0.2), (law, seed, noise) => {
        const random = uniform(seed);
        const model = new DurationModel();
        train(model, law, random, 300, noise);
        let expected = 0;
        for (let sample = 0; sample < 100; sample++) {
          expected += (1 - model.predict(drawFeatures(random), 1e6).confidence) / 100;
        }
        expect(expected).toBeGreaterThan(0.4 * noise);
        expect(expected).toBeLessThan(1.7 * noise);
      }),
      { numRuns: 40 },
    );
  });
});

describe("a level that changes for good", () => {
  it.each([2, 0.5, 400])("by %d times is taken over within ten observations at small noise", (factor) => {
    fc.assert(
      fc.property(laws, seeds, (law, seed) => {
        const random = uniform(seed);
        const model = new DurationModel();
        train(model, law, random, 200, 0.02);
        // Four do nearly always; one more is needed for each of them where the model was not sure.
        train(model, law, random, 10, 0.02, factor);
        expect(trueError(model, law, random, factor).median).toBeLessThan(0.1);
      }),
      { numRuns: 30 },
    );
  });

  it("is taken over within 200 observations at 20 % noise", () => {
    fc.assert(
      fc.property(laws, seeds, (law, seed) => {
        const random = uniform(seed);
        const model = new DurationModel();
        train(model, law, random, 300, 0.2);
        train(model, law, random, 200, 0.2, 2);
        // An estimate that stayed with the old level would be off by 0.5.
        expect(trueError(model, law, random, 2).median).toBeLessThan(0.45);
      }),
      { numRuns: 40 },
    );
  });
});

describe("bad observations", () => {
  it("a wild one moves no estimate by more than 6 %", () => {
    const wild = fc.constantFrom(400, 1 / 400, 1e9, 1e-9, 3);
    fc.assert(
      fc.property(laws, seeds, wild, fc.integer({ min: 30, max: 200 }), (law, seed, factor, samples) => {
        const random = uniform(seed);
        const model = new DurationModel();
        train(model, law, random, samples, 0.02);
        const features = [2000, 4000];
        const before = model.predict(features, 1e6).durationNs;
        const at = drawFeatures(random);
        model.observe(at, Math.max(1, durationNs(law, at) * factor), 1e6);
        expect(Math.abs(model.predict(features, 1e6).durationNs / before - 1)).toBeLessThan(0.06);
      }),
      { numRuns: 100 },
    );
  });

  it.each([0, 1, 3, 5])("a wild one among the first, number %d, is found out after eight", (position) => {
    const errors: number[] = [];
    for (let seed = 1; seed <= 80; seed++) {
      const random = uniform(seed);
      const law: Law = {
        baseNs: Math.ceil(1e3 * 1e5 ** random()),
        perTokenNs: Math.ceil(1e6 ** random()),
        perPastNs: Math.floor(1e5 ** random()),
      };
      const model = new DurationModel();
      train(model, law, random, position, 0.01);
      train(model, law, random, 1, 0.01, [400, 1 / 400, 50, 1e6][seed % 4]);
      train(model, law, random, 7 - position, 0.01);
      errors.push(trueError(model, law, random).median);
    }
    errors.sort((a, b) => a - b);
    expect(errors[40]).toBeLessThan(0.02);
    expect(errors[72]).toBeLessThan(0.1);
  });

  it("one in ten three times too long do not become the law", () => {
    fc.assert(
      fc.property(laws, seeds, (law, seed) => {
        const random = uniform(seed);
        const model = new DurationModel();
        train(model, law, random, 50, 0.02);
        for (let round = 0; round < 30; round++) {
          train(model, law, random, 9, 0.02);
          train(model, law, random, 1, 0.02, 3);
        }
        expect(trueError(model, law, random).median).toBeLessThan(0.08);
      }),
      { numRuns: 30 },
    );
  });

  it("durations that are none change nothing but their count", () => {
    const none = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, -1, 2 ** 53);
    fc.assert(
      fc.property(laws, seeds, fc.array(none, { minLength: 1 }), fc.nat(20), (law, seed, observations, samples) => {
        const random = uniform(seed);
        const model = new DurationModel();
        train(model, law, random, samples, 0.02);
        const before = model.save();
        for (const observedNs of observations) model.observe([5, 5], observedNs, 1e6);
        const { refused } = before.accuracy;
        const expected = { ...before, accuracy: { ...before.accuracy, refused: refused + observations.length } };
        // Any number of features will do before the first observation that counts.
        expect(model.save()).toEqual(expected);
      }),
    );
  });
});

const anyNumber = fc.double({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1, noNaN: true });
const anyPrior = fc.oneof(fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true }), fc.integer({ min: 0, max: 1e9 }));
const anyDuration = fc.oneof(fc.double(), fc.integer({ min: 1, max: 10_000_000_000 }));
const observations = fc.nat(4).chain((count) =>
  fc.array(
    fc.record({
      features: fc.array(fc.oneof(anyNumber, fc.nat(4096), fc.constant(0)), { minLength: count, maxLength: count }),
      observedNs: anyDuration,
      priorNs: anyPrior,
    }),
    { maxLength: 60 },
  ),
);

describe("whatever is observed", () => {
  it("estimates are whole, positive and exact, confidences from 0 to 1", () => {
    fc.assert(
      fc.property(observations, (stream) => {
        const model = new DurationModel({ historyKeysMax: 16 });
        for (const { features, observedNs, priorNs } of stream) {
          model.observe(features, observedNs, priorNs);
          for (const other of stream) {
            const { durationNs, confidence } = model.predict(other.features, other.priorNs);
            expect(Number.isSafeInteger(durationNs) && durationNs >= 1).toBe(true);
            expect(confidence >= 0 && confidence <= 1).toBe(true);
          }
          const { mape, recentMape } = model.accuracy();
          expect(mape >= 0 && recentMape >= 0).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("a model saved, written out, read and loaded goes on as the one it was saved from", () => {
    fc.assert(
      fc.property(observations, fc.nat(60), (stream, savedAt) => {
        const model = new DurationModel({ historyKeysMax: 4, forgetting: 0.9 });
        let loaded: DurationModel | undefined;
        for (const [index, { features, observedNs, priorNs }] of stream.entries()) {
          if (index === savedAt) loaded = DurationModel.load(JSON.parse(JSON.stringify(model.save())));
          expect(loaded?.predict(features, priorNs) ?? null).toEqual(loaded ? model.predict(features, priorNs) : null);
          model.observe(features, observedNs, priorNs);
          loaded?.observe(features, observedNs, priorNs);
        }
        if (loaded) expect(JSON.stringify(loaded.save())).toBe(JSON.stringify(model.save()));
      }),
      { numRuns: 200 },
    );
  });
});
