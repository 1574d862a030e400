import { describe, expect, test } from "vitest";
import { fmix32, seededRandom } from "./random.ts";

describe("fmix32", () => {
  test("murmur3's published finaliser", () => {
    expect([0, 1, 2, 0xffffffff].map(fmix32)).toEqual([0, 0x514e28b7, 0x30f4c306, 0x81f16f39]);
  });
});

describe("seededRandom", () => {
  const draw = (seed: number, stream?: number, count = 4): number[] => {
    const random = seededRandom(seed, stream);
    return Array.from({ length: count }, () => random());
  };

  test("equal seeds agree; seeds, their high bits and streams differ", () => {
    expect(draw(1)).toEqual(draw(1));
    const first = [draw(1), draw(2), draw(1, 1), draw(1 + 2 ** 32), draw(1 + 2 ** 33)].map((numbers) => numbers[0]);
    expect(new Set(first).size).toBe(5);
  });

  test("uniform: each tenth gets its share, neighbouring seeds are uncorrelated", () => {
    const counts = new Array<number>(10).fill(0);
    for (const value of draw(3, 0, 20_000)) counts[Math.floor(value * 10)] = (counts[Math.floor(value * 10)] ?? 0) + 1;
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(200);
    const starts = Array.from({ length: 2000 }, (_, seed) => draw(seed, 0, 1)[0] ?? 0);
    expect(Math.abs(starts.reduce((a, b) => a + b, 0) / 2000 - 0.5)).toBeLessThan(0.03);
  });
});
