import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { readSchema } from "../assets.ts";
import { parseQuantity, type QuantityKind, quantityPatterns } from "./quantity.ts";

describe("quantities", () => {
  test.each<[unknown, QuantityKind, number | undefined]>([
    ["80GB", "bytes", 80e9],
    ["80 GB", "bytes", 80e9],
    ["79.6 GiB", "bytes", Math.round(79.6 * 2 ** 30)],
    ["512B", "bytes", 512],
    ["2MiB", "bytes", 2 ** 21],
    ["1.5kB", "bytes", 1500],
    [123, "bytes", 123],
    ["3.35 TB/s", "bytesPerSecond", 3.35e12],
    ["900GBps", "bytesPerSecond", 900e9],
    ["400 Gbit/s", "bytesPerSecond", 50e9],
    ["100Gb/s", "bytesPerSecond", 12.5e9],
    ["989.5 TFLOP/s", "flopsPerSecond", 989.5e12],
    ["1PFLOPS", "flopsPerSecond", 1e15],
    ["20us", "nanoseconds", 20_000],
    ["1.5 ms", "nanoseconds", 1_500_000],
    ["2 µs", "nanoseconds", 2000],
    ["80", "bytes", undefined],
    ["80gb", "bytes", undefined],
    ["80 GB/s", "bytes", undefined],
    ["-1GB", "bytes", undefined],
    ["1e9B", "bytes", undefined],
    [" 1GB", "bytes", undefined],
    ["20 minutes", "nanoseconds", undefined],
    [Number.NaN, "bytes", undefined],
    [Number.POSITIVE_INFINITY, "bytes", undefined],
    [null, "bytes", undefined],
    [["1GB"], "bytes", undefined],
  ])("%j as %s", (value, kind, expected) => {
    const found = parseQuantity(value, kind);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toBeCloseTo(expected, 3);
  });

  test("the schemas hold the same patterns, so that editors and the loader agree", () => {
    const patterns = new Set<string>();
    JSON.stringify(readSchema("cluster"), (key, value) => {
      if (key === "pattern") patterns.add(String(value));
      return value;
    });
    expect(patterns).toEqual(new Set(Object.values(quantityPatterns).map((pattern) => `^${pattern}$`)));
  });

  test.prop([fc.anything(), fc.constantFrom<QuantityKind>("bytes", "bytesPerSecond", "flopsPerSecond", "nanoseconds")])(
    "anything is a finite number or no quantity",
    (value, kind) => {
      const found = parseQuantity(value, kind);
      expect(found === undefined || Number.isFinite(found)).toBe(true);
    },
  );
});
