import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exactMovingNs } from "./formats/testing/exact-link.ts";
import { simulateDag } from "./index.ts";
import { linkNs, movingNs } from "./link.ts";

describe("moving bytes takes ceil(bytes / rate)", () => {
  test("where floating point would round up to the next nanosecond", () => {
    // ceil((61 / 1e9) · 1e9) is 62.
    for (const bytes of [61, 122, 61_000, 999_999_937, 2 ** 33 + 1]) expect(movingNs(bytes, 1e9)).toBe(bytes);
    expect(Math.ceil((61 / 1e9) * 1e9)).toBe(62);
    expect([movingNs(1, 25e9), movingNs(25, 25e9), movingNs(26, 25e9), movingNs(0, 25e9)]).toEqual([1, 1, 2, 0]);
  });

  test("where the product with 1e9 is past 2^53", () => {
    expect(movingNs(2 ** 53 - 1, 1e9)).toBe(2 ** 53 - 1);
    expect(movingNs(3 * 10 ** 15, 3e9)).toBe(10 ** 15);
    expect(movingNs(3 * 10 ** 15 + 1, 3e9)).toBe(10 ** 15 + 1);
    expect(movingNs(9e15, 4.5e9)).toBe(2e15);
  });

  test("at rates with a fraction, very small and very large ones", () => {
    expect([movingNs(3, 0.5), movingNs(1, 1e300), movingNs(7, 1e9 + 1e-6)]).toEqual([6e9, 1, 7]);
    const rates = fc.oneof(
      fc.double({ min: 1e-3, max: 1e13, noNaN: true }),
      fc.integer({ min: 1, max: 1e12 }),
      fc.constantFrom(1e9, 3e9, 12e9, 25e9, 1 / 3, 2 ** 60, Number.MIN_VALUE),
    );
    const bytes = fc.oneof(fc.nat(10_000), fc.maxSafeInteger().map(Math.abs));
    fc.assert(
      fc.property(bytes, rates, (it, rate) => movingNs(it, rate) === exactMovingNs(it, rate)),
      {
        numRuns: 500,
      },
    );
  });

  test("and a transfer at least 1 ns, with its latency", () => {
    expect(linkNs({ latencyNs: 0, bytesPerSecond: 1e9 }, 0)).toBe(1);
    expect(linkNs({ latencyNs: 5, bytesPerSecond: 1e9 }, 0)).toBe(5);
    expect(linkNs({ latencyNs: 5, bytesPerSecond: 1e9 }, 61)).toBe(66);
  });
});

test("a graph's transfer takes as long as the execution model says", () => {
  const { transfers } = simulateDag({
    accelerators: [{ name: "a" }, { name: "b" }],
    link: { latencyNs: 10, bytesPerSecond: 1e9 },
    operators: [
      { name: "first", accelerator: "a", durationNs: 7, outputBytes: 61 },
      { name: "second", accelerator: "b", durationNs: 5, inputs: ["first"] },
    ],
  });
  expect(transfers).toMatchObject([{ startNs: 7, doneNs: 7 + 10 + 61 }]);
});
