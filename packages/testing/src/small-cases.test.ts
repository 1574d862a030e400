import { expect, test } from "vitest";
import { judgeSmallCase } from "./small-cases.ts";

test("nothing starts that an order makes unsafe, and some of what is refused is feasible", { timeout: 60_000 }, () => {
  const sum = { started: 0, refused: 0, feasible: 0, unsafe: 0 };
  for (let seed = 0; seed < 30; seed++) {
    const report = judgeSmallCase(seed);
    const { requests, started, refusedAtBorder, refusedToStart, feasibleAtBorder, feasibleToStart } = report;
    expect(started + refusedAtBorder + refusedToStart).toBe(requests);
    expect(feasibleAtBorder).toBeLessThanOrEqual(refusedAtBorder);
    expect(feasibleToStart).toBeLessThanOrEqual(refusedToStart);
    sum.started += started;
    sum.refused += refusedAtBorder + refusedToStart;
    sum.feasible += feasibleAtBorder + feasibleToStart;
    sum.unsafe += report.unsafe;
  }
  expect(sum.unsafe).toBe(0);
  expect(Math.min(sum.started, sum.refused)).toBeGreaterThan(15);
  expect(sum.feasible).toBeLessThan(sum.refused);
});

test("a seed gives one case", () => {
  expect(judgeSmallCase(11)).toEqual(judgeSmallCase(11));
});
