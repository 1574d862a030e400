/** What estimators have saved of what they learned. */
import { DurationModel, EstimatorBank, EstimatorError } from "@slicescheduler/estimators";
import fc from "fast-check";
import { expect, test } from "vitest";
import { damaged, loaded } from "./hostile.ts";

const numRuns = Number(process.env["FUZZ"] ?? 1000);

function learnedBank(): EstimatorBank {
  const bank = new EstimatorBank({ historyKeysMax: 8 });
  for (let i = 1; i <= 60; i++) {
    const features = [i % 7, (i * i) % 11];
    const observedNs = 1000 + 100 * (i % 7) + 13 * ((i * i) % 11) + (i % 3);
    for (const accelerator of ["a0", "a1"]) {
      const factor = accelerator === "a1" ? 2 : 1;
      bank.observeOperator({
        model: "m",
        kind: "k",
        accelerator,
        features,
        observedNs: factor * observedNs,
        priorNs: 900,
      });
    }
    bank.transfer("a0", "a1").observe([i * 1000], 50 + i, 40);
  }
  return bank;
}

const isOwn = (error: unknown) => error instanceof EstimatorError;

test("a damaged bank is refused with the path, or predicts positive whole nanoseconds and goes on learning", () => {
  const saved = JSON.parse(JSON.stringify(learnedBank().save()));
  expect(EstimatorBank.load(saved).save()).toEqual(saved);
  let refused = 0;
  fc.assert(
    fc.property(damaged(saved), (value) => {
      const bank = loaded(() => EstimatorBank.load(value), isOwn);
      if (bank === undefined) {
        refused++;
        return;
      }
      const again = bank.save();
      expect(EstimatorBank.load(again).save()).toEqual(again);
      // A model that was cut down or renamed may expect other features, which is an error of its own.
      loaded(() => expectSound(bank.operator("m", "k"), [3, 4]), isOwn);
      loaded(() => expectSound(bank.transfer("a0", "a1"), [5000]), isOwn);
      expect(bank.speedFactor("k", "a1")).toBeGreaterThan(0);
    }),
    { numRuns },
  );
  expect(refused).toBeGreaterThan(numRuns / 3);
});

function expectSound(model: DurationModel, features: readonly number[]): void {
  for (let i = 0; i < 3; i++) {
    const { durationNs, confidence } = model.predict(features, 1000);
    expect(Number.isSafeInteger(durationNs) && durationNs >= 1).toBe(true);
    expect(confidence >= 0 && confidence <= 1).toBe(true);
    model.observe(features, 1000 + i, 1000);
  }
}

test("a damaged model alone", () => {
  const saved = JSON.parse(JSON.stringify(learnedBank().operator("m", "k").save()));
  let refused = 0;
  fc.assert(
    fc.property(damaged(saved), (value) => {
      const model = loaded(() => DurationModel.load(value), isOwn);
      if (model === undefined) refused++;
      else loaded(() => expectSound(model, [3, 4]), isOwn);
    }),
    { numRuns },
  );
  expect(refused).toBeGreaterThan(numRuns / 3);
});
