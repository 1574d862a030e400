import { simulationGuided } from "@slicescheduler/scheduler";
import { expect, test } from "vitest";
import { compare, measure, packing } from "./own-policy.ts";

test("packing keeps accelerators free for the time that it is allowed to lose, and loses no more than that", () => {
  const [fastest, , , patient] = compare(60);
  if (process.env["SHOW"] !== undefined) console.log(compare(60));
  if (fastest === undefined || patient === undefined) throw new Error("nothing was compared");
  expect(patient.acceleratorsUsed).toBeLessThan(fastest.acceleratorsUsed);
  expect(patient.meanSeconds).toBeGreaterThan(fastest.meanSeconds);
  expect(patient.meanSeconds).toBeLessThan(3 * fastest.meanSeconds);
});

test("without slack it does as well as the default, and a run can be repeated", () => {
  const strict = measure(packing(0), 60);
  expect(strict.meanSeconds / measure(simulationGuided, 60).meanSeconds).toBeCloseTo(1, 1);
  expect(measure(packing(0), 60)).toEqual(strict);
});
