import { describe, expect, it } from "vitest";
import { EstimatorError, ROOFLINE_MIN_NS, rooflineNs } from "./index.ts";

describe("rooflineNs", () => {
  it("is the slower of arithmetic and memory traffic, rounded up", () => {
    const rates = { flopsPerSecond: 1e15, hbmBytesPerSecond: 4e12 };
    expect(rooflineNs({ flops: 1e12, movedBytes: 4e6, ...rates })).toBe(1_000_000);
    expect(rooflineNs({ flops: 1e9, movedBytes: 4e9 + 1, ...rates })).toBe(1_000_001);
  });

  it("is at least the time of a launch", () => {
    expect(rooflineNs({ flops: 0, movedBytes: 0 })).toBe(ROOFLINE_MIN_NS);
  });

  it("leaves a missing rate out, and assumes both when none is known", () => {
    expect(rooflineNs({ flops: 1e15, movedBytes: 1e9, hbmBytesPerSecond: 1e12 })).toBe(1_000_000);
    expect(rooflineNs({ flops: 1e12, movedBytes: 1e18, flopsPerSecond: 1e15 })).toBe(1_000_000);
    expect(rooflineNs({ flops: 2e12, movedBytes: 0 })).toBe(2 * rooflineNs({ flops: 1e12, movedBytes: 0 }));
  });

  it("refuses what is out of range", () => {
    const good = { flops: 1, movedBytes: 1, flopsPerSecond: 1, hbmBytesPerSecond: 1 };
    for (const [name, bad] of [
      ["flops", -1],
      ["movedBytes", Number.NaN],
      ["flopsPerSecond", 0],
      ["hbmBytesPerSecond", Number.POSITIVE_INFINITY],
    ] as const) {
      expect(() => rooflineNs({ ...good, [name]: bad })).toThrow(EstimatorError);
    }
  });
});
