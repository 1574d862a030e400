import { expect, test } from "vitest";
import { EstimatorBank, FrozenBank } from "./index.ts";

function taught(): EstimatorBank {
  const bank = new EstimatorBank();
  for (let tokens = 1; tokens < 20; tokens++) bank.operator("layer", "k").observe([tokens], 100 + 7 * tokens, 50);
  for (let round = 0; round < 40; round++) {
    const accelerator = `a${round % 4}`;
    const observedNs = (100 + 7 * (round % 19)) * (round % 4 === 3 ? 3 : 1);
    bank.observeOperator({ model: "layer", kind: "k", accelerator, features: [round % 19], observedNs, priorNs: 50 });
  }
  bank.transfer("a", "b").observe([10], 30, 20);
  return bank;
}

test("it answers what its bank would, of what is known and of what is not", () => {
  const bank = taught();
  const frozen = new FrozenBank(bank);
  for (const tokens of [3, 50]) {
    const known = bank.operator("layer", "k").predict([tokens], 50);
    expect(frozen.operator("layer", "k").predict([tokens], 50)).toEqual(known);
  }
  expect(frozen.transfer("a", "b").predict([10], 20)).toEqual(bank.transfer("a", "b").predict([10], 20));
  expect(frozen.operator("other", "k").predict([3], 50)).toEqual({ durationNs: 50, confidence: 0, source: "prior" });
  expect(bank.speedFactor("k", "a3")).toBeGreaterThan(2.5);
  for (const accelerator of ["a0", "a3", "a9"]) {
    expect(frozen.speedFactor("k", accelerator)).toBe(bank.speedFactor("k", accelerator));
  }
  expect(frozen.operator("layer", "k").accuracy()).toEqual(bank.operator("layer", "k").accuracy());
});

test("neither of them learns what is told to it, and the bank gets no models by being asked", () => {
  const bank = taught();
  const before = bank.save();
  const frozen = new FrozenBank(bank);
  for (let sample = 0; sample < 10; sample++) {
    frozen.operator("layer", "k").observe([3], 9999, 50);
    frozen.operator("other", "k").observe([3, 4], 9999, 50);
    frozen.transfer("b", "a").observe([3], 9999, 50);
    const seen = { model: "layer", kind: "k", features: [3], observedNs: 9999, priorNs: 50 };
    frozen.observeOperator({ ...seen, accelerator: "a0" });
  }
  expect(bank.save()).toEqual(before);
  expect(bank.size).toBe(2);
  expect([frozen.size, frozen.save()]).toEqual([2, before]);
  expect(frozen.operator("other", "k").predict([3], 50).source).toBe("prior");
  expect(frozen.findOperator("other", "k")).toBe(undefined);
  expect(frozen.findTransfer("b", "a")).toBe(undefined);
});

test("what its bank learns later shows", () => {
  const bank = taught();
  const frozen = new FrozenBank(bank);
  expect(frozen.operator("late", "k").predict([1], 50).source).toBe("prior");
  for (let sample = 0; sample < 5; sample++) bank.operator("late", "k").observe([1], 400, 50);
  expect(frozen.operator("late", "k").predict([1], 50)).toMatchObject({ durationNs: 400, source: "history" });
  expect(new FrozenBank(frozen).operator("late", "k").predict([1], 50).durationNs).toBe(400);
});
