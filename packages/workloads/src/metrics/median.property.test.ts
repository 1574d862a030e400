import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { Comparison } from "./compare.ts";
import { fieldwiseMedian, medianComparison } from "./median.ts";
import type { PolicyResult } from "./result.ts";

const tree = fc.record({
  rate: fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }),
  list: fc.array(fc.integer(), { minLength: 3, maxLength: 3 }),
  inner: fc.record({ p50: fc.integer() }),
});

function slowMedian(values: readonly number[]): number {
  const left = [...values];
  while (left.length > 2) {
    left.splice(left.indexOf(Math.max(...left)), 1);
    left.splice(left.indexOf(Math.min(...left)), 1);
  }
  return left.reduce((a, b) => a + b, 0) / left.length;
}

describe("fieldwiseMedian", () => {
  test.prop([fc.array(tree, { minLength: 1, maxLength: 7 })])("each number is the median of its place", (trees) => {
    const found = fieldwiseMedian(trees);
    expect(found.rate).toBeCloseTo(slowMedian(trees.map((it) => it.rate)), 3);
    expect(found.inner.p50).toBeCloseTo(slowMedian(trees.map((it) => it.inner.p50)), 3);
    found.list.forEach((value, i) => {
      expect(value).toBeCloseTo(slowMedian(trees.map((it) => it.list[i] ?? 0)), 3);
    });
  });

  test("of one it is that one; null anywhere is null; what has no median is a programming error", () => {
    expect(fieldwiseMedian([{ a: 1, b: null }])).toEqual({ a: 1, b: null });
    expect(fieldwiseMedian<number | null>([1, null, 3])).toBeNull();
    expect(() => fieldwiseMedian(["a"])).toThrowError(TypeError);
  });
});

describe("medianComparison", () => {
  const seed = (requestsPerSecond: number, p50: number, overCapacity: number): Comparison => {
    const latency = { p50, p90: 2 * p50, p99: 3 * p50 };
    const result: PolicyResult = {
      requestsPerSecond,
      tokensPerSecond: 10 * requestsPerSecond,
      sloAttainment: 0.9,
      utilization: 0.5,
      utilizationPerAccelerator: [0.5],
      ttftMs: latency,
      tpotMs: null,
      onlineOffered: 1,
      onlineCompleted: 1,
      offlineOffered: 0,
      offlineCompleted: 0,
      inWindow: { online: 1, offline: 0, outputTokens: 3 },
      drain: { online: 0, offline: 0, offlineDropped: 0, seconds: 0 },
      peakHbmBytes: [7],
      overCapacity,
      standstills: 0,
      operators: 1,
      rounds: 1,
    };
    const ratio = {
      requestsPerSecond: 2 * requestsPerSecond,
      tokensPerSecond: null,
      sloAttainmentDelta: 0,
      utilizationDelta: 0,
    };
    return { slo: { ttftMs: 100 * p50, source: "static-online" }, policies: { a: result }, ratios: { b: ratio } };
  };

  test("medians of figures and of ratios, the range beside them, and the worst of what must be 0", () => {
    const found = medianComparison([seed(3, 1, 0), seed(1, 5, 0), seed(2, 2, 4)]);
    expect(found.policies["a"]).toMatchObject({
      requestsPerSecond: 2,
      ttftMs: { p50: 2, p99: 6 },
      tpotMs: null,
      overCapacity: 4,
    });
    expect(found.ratios["b"]).toMatchObject({ requestsPerSecond: 4, tokensPerSecond: null });
    expect(found.spread["a"]).toMatchObject({
      requestsPerSecond: { min: 1, max: 3 },
      ttftP50Ms: { min: 1, max: 5 },
      tpotP50Ms: null,
    });
    expect(found.slo).toEqual({ ttftMs: 200, source: "static-online" });
  });
});
