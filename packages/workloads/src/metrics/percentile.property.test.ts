import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { percentileOfSorted, percentiles } from "./percentile.ts";

const values = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 60 });

describe("percentiles", () => {
  test("of 1 … 11, where positions fall on values, and of 1 … 4, where they fall between", () => {
    const sorted = Array.from({ length: 11 }, (_, i) => i + 1);
    expect(percentileOfSorted(sorted, 0.5)).toBe(6);
    expect(percentileOfSorted(sorted, 0.9)).toBe(10);
    expect(percentileOfSorted([1, 2, 3, 4], 0.5)).toBe(2.5);
    expect(percentiles([])).toBeNull();
  });

  test.prop([values, fc.double({ min: 0, max: 1, noNaN: true })])(
    "lies between the values it is between",
    (drawn, share) => {
      const sorted = [...drawn].sort((a, b) => a - b);
      const found = percentileOfSorted(sorted, share);
      const below = sorted.filter((value) => value < found - 1e-9).length;
      const atMost = sorted.filter((value) => value <= found + 1e-9).length;
      expect(below).toBeLessThanOrEqual(share * (sorted.length - 1) + 1);
      expect(atMost).toBeGreaterThanOrEqual(share * (sorted.length - 1));
    },
  );

  test.prop([values])("do not depend on the order, and rise", (drawn) => {
    const found = percentiles(drawn);
    expect(percentiles([...drawn].reverse())).toEqual(found);
    expect(found === null || (found.p50 <= found.p90 && found.p90 <= found.p99)).toBe(true);
  });
});
