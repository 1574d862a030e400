import { expect, test } from "vitest";
import { IssueBudget } from "./budget.ts";

test("before anything was observed the horizon alone limits", () => {
  expect(new IssueBudget(8, { operatorsPerAcceleratorMax: 3 }).operatorsMax).toBe(24);
});

test("t = (N·l + 1)/(s·g): the paper's figures give its 62 accelerators", () => {
  // g = 10.575 ms, l = 3, t = 0.1 (paper §5.5), s = 176.8 operators/ms (§5.4.3): N·l = 0.1 · 176.8 · 10.575 − 1 = 185.97.
  const budget = new IssueBudget(62, {
    timeliness: 0.1,
    simulatedOperatorsPerMs: 176.8,
    operatorsPerAcceleratorMax: 3,
  });
  budget.observe(10_575_000);
  expect(budget.operatorsMax).toBe(185);
  expect(budget.operatorsPerAccelerator).toBe(3);
});

test("short operators shrink it, to one per accelerator at least", () => {
  const budget = new IssueBudget(8, { operatorsPerAcceleratorMax: 3 });
  budget.observe(100_000);
  expect(budget.operatorsMax).toBe(9);
  expect(budget.operatorsPerAccelerator).toBe(2);
  for (let i = 0; i < 1000; i++) budget.observe(1000);
  expect(budget.operatorsMax).toBe(8);
});
