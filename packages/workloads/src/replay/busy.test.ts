import { expect, test } from "vitest";
import { BusyTime } from "./busy.ts";

test("operators count into the window as far as they lie in it", () => {
  const busy = new BusyTime(2, 100);
  busy.add(0, 0, 10);
  busy.add(0, 95, 120);
  busy.add(1, 100, 130);
  expect(busy.utilization()).toEqual([0.15, 0]);
  expect(busy.totalNs()).toEqual([35, 30]);
});
