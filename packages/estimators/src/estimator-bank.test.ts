import { describe, expect, it } from "vitest";
import { DurationModel, EstimatorBank, EstimatorError, SPEED_SAMPLES } from "./index.ts";

function trained(): EstimatorBank {
  const bank = new EstimatorBank({ forgetting: 0.95, historyKeysMax: 8 });
  for (let index = 0; index < 30; index++) {
    bank.operator("layers", "H200").observe([index % 5, index], 10_000 + index * 31, 5000);
    bank.operator("layers", "L40").observe([index % 5, index], 40_000 + index * 97, 5000);
    bank.transfer("__proto__", "gpu1").observe([index * 1000], 8000 + index * 40, 5000);
    const slow = index % 3 === 0 ? 3 : 1;
    const seen = { model: "head", kind: "H200", features: [index % 7], priorNs: 500 };
    bank.observeOperator({ ...seen, accelerator: `gpu${index % 3}`, observedNs: (1000 + (index % 7)) * slow });
  }
  return bank;
}

function failure(action: () => unknown): EstimatorError {
  try {
    action();
  } catch (error) {
    if (error instanceof EstimatorError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("EstimatorBank", () => {
  it("keeps one model per pair of names", () => {
    const bank = new EstimatorBank();
    const model = bank.operator("a", "b");
    expect(bank.operator("a", "b")).toBe(model);
    for (const other of [bank.operator("b", "a"), bank.transfer("a", "b"), bank.transfer("b", "a")]) {
      expect(other).not.toBe(model);
    }
    expect(bank.size).toBe(4);
  });

  it("loads what it saved, through JSON, and goes on the same", () => {
    const bank = trained();
    const loaded = EstimatorBank.load(JSON.parse(JSON.stringify(bank.save())));
    expect(loaded.save()).toEqual(bank.save());
    for (const it of [bank, loaded]) it.operator("layers", "L40").observe([2, 7], 123_456, 5000);
    expect(loaded.operator("layers", "L40").predict([3, 9], 5000)).toEqual(
      bank.operator("layers", "L40").predict([3, 9], 5000),
    );
    expect(loaded.operator("new", "L40").save().forgetting).toBe(0.95);
    expect(loaded.speedFactor("H200", "gpu0")).toBeGreaterThan(2.5);
    expect(loaded.speedFactor("H200", "gpu0")).toBe(bank.speedFactor("H200", "gpu0"));
  });

  it("reads version 1, which knew no speeds of accelerators", () => {
    const saved = trained().save();
    const { speeds: _, ...old } = { ...saved, version: 1 };
    const loaded = EstimatorBank.load(JSON.parse(JSON.stringify(old)));
    expect(loaded.speedFactor("H200", "gpu0")).toBe(1);
    expect(loaded.save()).toEqual({ ...saved, speeds: [] });
  });

  it("refuses an accelerator or a kind that appears twice, and more observations than are kept", () => {
    const saved = trained().save();
    const [kind] = saved.speeds;
    const [accelerator] = kind?.accelerators ?? [];
    const logs = Array.from({ length: SPEED_SAMPLES + 1 }, () => 0);
    for (const speeds of [
      [kind, kind],
      [{ ...kind, accelerators: [accelerator, accelerator] }],
      [{ ...kind, accelerators: [{ ...accelerator, logs }] }],
      [{ ...kind, accelerators: [{ ...accelerator, logs: [] }] }],
    ]) {
      expect(failure(() => EstimatorBank.load({ ...saved, speeds })).code).toBe("STATE_INVALID");
    }
  });

  it("gives a copy: what is done to it reaches nobody", () => {
    const bank = trained();
    const saved = JSON.parse(JSON.stringify(bank.save()));
    const loaded = EstimatorBank.load(saved);
    saved.operators[0].state.regression.coefficients.fill(1e9);
    saved.operators[0].state.history.length = 0;
    expect(loaded.save()).toEqual(bank.save());
  });

  it("a name like __proto__ is a name, in a saved value it pollutes nothing", () => {
    const saved = JSON.parse(
      JSON.stringify(trained().save()).replace('"version"', '"__proto__":{"polluted":1},"constructor":{},"version"'),
    );
    const loaded = EstimatorBank.load(saved);
    expect(loaded.transfer("__proto__", "gpu1").accuracy().samples).toBe(30);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    const inherited = Object.create(trained().save());
    expect(failure(() => EstimatorBank.load(inherited)).code).toBe("STATE_INVALID");
  });

  it("tells another version from a foreign value", () => {
    const saved = trained().save();
    expect(failure(() => EstimatorBank.load({ ...saved, version: 3 })).code).toBe("STATE_VERSION");
    const model = new DurationModel().save();
    expect(failure(() => DurationModel.load({ ...model, version: "1" })).code).toBe("STATE_VERSION");
    for (const foreign of [null, undefined, 5, "x", [], {}, { format: "other", version: 1 }, model]) {
      expect(failure(() => EstimatorBank.load(foreign)).code).toBe("STATE_INVALID");
    }
    expect(failure(() => DurationModel.load(saved)).code).toBe("STATE_INVALID");
  });

  it("refuses a saved value with any number replaced by what it cannot be, naming the place", () => {
    const text = JSON.stringify(trained().save());
    const count = countLeaves(JSON.parse(text));
    expect(count).toBeGreaterThan(100);
    for (let leaf = 0; leaf < count; leaf++) {
      for (const bad of [Number.NaN, "1", null]) {
        const broken = replaceLeaf(JSON.parse(text), leaf, bad);
        const { code, message } = failure(() => EstimatorBank.load(broken));
        expect(["STATE_INVALID", "STATE_VERSION"]).toContain(code);
        expect(message).toMatch(/^the saved (bank|model)/);
      }
    }
  });

  it("refuses a model that appears twice, and arrays of the wrong length", () => {
    const saved = trained().save();
    const [first] = saved.operators;
    const twice = { ...saved, operators: [first, first] };
    expect(failure(() => EstimatorBank.load(twice)).message).toContain("twice");
    const model = JSON.parse(JSON.stringify(first?.state));
    for (const name of ["coefficients", "upper", "diagonal", "scales"]) {
      const longer = { ...model, regression: { ...model.regression, [name]: [...model.regression[name], 1] } };
      expect(failure(() => DurationModel.load(longer)).code).toBe("STATE_INVALID");
    }
  });
});

describe("observeOperator", () => {
  it("counts what is no duration as refused, and teaches no speed by it", () => {
    const bank = trained();
    const { speeds } = bank.save();
    const seen = { model: "head", kind: "H200", accelerator: "gpu0", features: [3], priorNs: 500 };
    // The last would be a duration on an accelerator that is three times as fast.
    const invalid = [Number.NaN, Number.POSITIVE_INFINITY, 0, -5, 2 ** 54];
    for (const observedNs of invalid) bank.observeOperator({ ...seen, observedNs });
    expect(bank.save().speeds).toEqual(speeds);
    expect(bank.operator("head", "H200").accuracy().refused).toBe(invalid.length);
  });

  it("changes nothing when features or prior are refused", () => {
    const bank = trained();
    const before = bank.save();
    const seen = { model: "head", kind: "H200", accelerator: "new", features: [3], observedNs: 1000, priorNs: 500 };
    expect(failure(() => bank.observeOperator({ ...seen, features: [1, 2] })).code).toBe("FEATURES_INVALID");
    expect(failure(() => bank.observeOperator({ ...seen, priorNs: -1 })).code).toBe("PRIOR_INVALID");
    expect(bank.save()).toEqual(before);
  });

  it("takes accelerators that do work of different sizes for alike while the law of the sizes is not known", () => {
    const bank = new EstimatorBank();
    for (let index = 0; index < 8; index++) {
      const tokens = index % 2 === 0 ? 4 : 2000 + index;
      const seen = { model: "m", kind: "k", accelerator: `a${index % 2}`, features: [tokens], priorNs: 1000 };
      bank.observeOperator({ ...seen, observedNs: 50_000 * tokens });
      expect([bank.speedFactor("k", "a0"), bank.speedFactor("k", "a1")]).toEqual([1, 1]);
    }
  });
});

const isLeaf = (value: unknown): value is number => typeof value === "number";

function countLeaves(value: unknown): number {
  if (isLeaf(value)) return 1;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, it) => sum + countLeaves(it), 0);
}

/** Replaces the number at position `leaf` of a walk over all numbers. */
function replaceLeaf(root: Record<string, unknown>, leaf: number, bad: unknown): unknown {
  let next = 0;
  const walk = (holder: Record<string, unknown>): void => {
    for (const key of Object.keys(holder)) {
      const value = holder[key];
      if (isLeaf(value) && next++ === leaf) holder[key] = bad;
      else if (typeof value === "object" && value !== null) walk(value as Record<string, unknown>);
    }
  };
  walk(root);
  return root;
}
