import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { logTicks } from "./log-ticks.ts";

test("values that lie close together have marks", () => {
  const { texts } = logTicks(Math.log10(121.9), Math.log10(129.1), 500);
  expect(texts).toEqual(["122 ms", "123 ms", "124 ms", "125 ms", "126 ms", "127 ms", "128 ms", "129 ms"]);
  expect(logTicks(Math.log10(0.899), Math.log10(1.101), 300).texts).toEqual([
    "0.90 ms",
    "0.95 ms",
    "1.00 ms",
    "1.05 ms",
    "1.10 ms",
  ]);
  expect(logTicks(0, 4, 600).texts.slice(0, 4)).toEqual(["1 ms", "3 ms", "10 ms", "30 ms"]);
});

test.prop([
  fc.double({ min: -5, max: 6, noNaN: true }),
  fc.double({ min: 1e-4, max: 8, noNaN: true }),
  fc.integer({ min: 200, max: 1500 }),
])(
  "there are at least two marks, within the stretch, that say different things, and none in the way of another",
  (from, length, width) => {
    const { at, texts } = logTicks(from, from + length, width);
    expect(at.length).toBeGreaterThanOrEqual(2);
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts).toHaveLength(at.length);
    for (const [i, log] of at.entries()) {
      expect(log).toBeGreaterThanOrEqual(from - 1e-12);
      expect(log).toBeLessThanOrEqual(from + length + 1e-12);
      const gapPixels = i === 0 ? Number.POSITIVE_INFINITY : ((log - (at[i - 1] ?? 0)) / length) * width;
      expect(gapPixels).toBeGreaterThan(at.length > 2 ? 54 : 10);
    }
  },
);
