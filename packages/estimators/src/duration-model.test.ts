import { describe, expect, it } from "vitest";
import { DurationModel, EstimatorError, type EstimatorErrorCode, FEATURES_MAX } from "./index.ts";

function codeOf(action: () => unknown): EstimatorErrorCode | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof EstimatorError) return error.code;
    throw error;
  }
}

function observeAll(model: DurationModel, features: readonly number[], observations: readonly number[]): void {
  for (const observedNs of observations) model.observe(features, observedNs, 1000);
}

describe("DurationModel", () => {
  it("answers with the prior, unsure, before any observation", () => {
    const model = new DurationModel();
    expect(model.predict([512], 1234.4)).toEqual({ durationNs: 1234, confidence: 0, source: "prior" });
    expect(model.predict([], 0).durationNs).toBe(1);
    expect(model.predict([1], 1e300).durationNs).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("one observation corrects the level of the prior for other features too", () => {
    const model = new DurationModel();
    model.observe([512], 3_000_000, 1_000_000);
    const { durationNs, source } = model.predict([1024], 2_000_000);
    expect(source).toBe("regression");
    expect(durationNs).toBeGreaterThan(5_500_000);
    expect(durationNs).toBeLessThan(6_500_000);
  });

  it("learns the part of a law that the prior has and features do not", () => {
    const model = new DurationModel();
    const priorNs = (tokens: number, past: number) => 1000 + tokens * (tokens + past);
    for (let index = 0; index < 60; index++) {
      const [tokens, past] = [1 + ((index * 97) % 500), (index * 131) % 2000];
      model.observe([tokens, past], 50_000 + 200 * tokens + 2 * tokens * (tokens + past), priorNs(tokens, past));
    }
    const truth = 50_000 + 200 * 400 + 2 * 400 * 2300;
    expect(Math.abs(model.predict([400, 1900], priorNs(400, 1900)).durationNs / truth - 1)).toBeLessThan(0.01);
  });

  it("answers exact repeats from the third on by their median", () => {
    const model = new DurationModel();
    observeAll(model, [7], [100_000, 104_000]);
    expect(model.predict([7], 1000).source).toBe("regression");
    observeAll(model, [7], [101_000]);
    expect(model.predict([7], 1000)).toMatchObject({ durationNs: 101_000, source: "history" });
    expect(model.predict([8], 1000).source).toBe("regression");
    observeAll(model, [7], [40_000_000]);
    expect(model.predict([7], 1000)).toMatchObject({ durationNs: 102_500, source: "history" });
  });

  it("history follows a small new level after five observations", () => {
    const model = new DurationModel();
    observeAll(model, [7], Array(8).fill(100_000));
    observeAll(model, [7], Array(5).fill(104_000));
    expect(model.predict([7], 1000).durationNs).toBe(104_000);
  });

  it("a new level on one shape is taken over for all", () => {
    const model = new DurationModel();
    for (let round = 0; round < 10; round++)
      for (const tokens of [1, 10, 100]) observeAll(model, [tokens], [tokens * 9000]);
    observeAll(model, [10], Array(4).fill(180_000));
    expect(model.accuracy().shifts).toBe(1);
    expect(model.predict([10], 1000)).toMatchObject({ durationNs: 180_000, source: "history" });
    expect(model.predict([100], 1000).source).toBe("regression");
    expect(Math.abs(model.predict([100], 1000).durationNs / 1_800_000 - 1)).toBeLessThan(0.1);
  });

  it("three wild ones in a row are no new level", () => {
    const model = new DurationModel();
    observeAll(model, [7], Array(20).fill(100_000));
    observeAll(model, [7], [40_000_000, 40_000_000, 40_000_000, 100_000, 100_000]);
    expect(model.accuracy()).toMatchObject({ shifts: 0, outliers: 3 });
    expect(model.predict([8], 1000).durationNs).toBeLessThan(130_000);
  });

  it("forgets the features observed longest ago when it knows too many", () => {
    const model = new DurationModel({ historyKeysMax: 2 });
    for (const feature of [1, 2]) observeAll(model, [feature], [5000, 5000, 5000]);
    observeAll(model, [1], [5000]);
    observeAll(model, [3], [5000, 5000, 5000]);
    expect([1, 2, 3].map((feature) => model.predict([feature], 1000).source)).toEqual([
      "history",
      "regression",
      "history",
    ]);
    expect(model.save().history).toHaveLength(2);
  });

  it("counts each prediction against what came, before it learns", () => {
    const model = new DurationModel();
    model.observe([1], 2000, 1000);
    expect(model.accuracy()).toMatchObject({ samples: 1, mape: 0.5, recentMape: 0.5 });
    const { durationNs } = model.predict([1], 1000);
    model.observe([1], 2000, 1000);
    expect(model.accuracy().mape).toBeCloseTo((0.5 + Math.abs(durationNs - 2000) / 2000) / 2, 12);
  });

  it("refuses features, priors and options that are none, and keeps its state", () => {
    const model = new DurationModel();
    observeAll(model, [1, 2], [5000]);
    const before = model.save();
    for (const features of [[1], [1, 2, 3], [1, Number.NaN], [Number.POSITIVE_INFINITY, 1]]) {
      expect(codeOf(() => model.predict(features, 1))).toBe("FEATURES_INVALID");
      expect(codeOf(() => model.observe(features, 1, 1))).toBe("FEATURES_INVALID");
    }
    for (const priorNs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(codeOf(() => model.predict([1, 2], priorNs))).toBe("PRIOR_INVALID");
      expect(codeOf(() => model.observe([1, 2], 1, priorNs))).toBe("PRIOR_INVALID");
    }
    expect(model.save()).toEqual(before);
    expect(codeOf(() => new DurationModel().predict(Array(FEATURES_MAX + 1).fill(1), 1))).toBe("FEATURES_INVALID");
    expect(codeOf(() => new DurationModel({ forgetting: 1.1 }))).toBe("OPTIONS_INVALID");
    expect(codeOf(() => new DurationModel({ forgetting: Number.NaN }))).toBe("OPTIONS_INVALID");
    expect(codeOf(() => new DurationModel({ historyKeysMax: 1.5 }))).toBe("OPTIONS_INVALID");
  });
});
