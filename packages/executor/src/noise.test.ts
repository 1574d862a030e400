import { expect, test } from "vitest";
import { Noise } from "./noise.ts";
import { philox4x32, type Words } from "./philox.ts";

const hex = (words: Words) => words.map((word) => word.toString(16).padStart(8, "0")).join(" ");

test("the generator gives the known answers of its authors", () => {
  const ones = 0xffffffff;
  expect(hex(philox4x32([0, 0, 0, 0], 0, 0))).toBe("6627e8d5 e169c58d bc57ac4c 9b00dbd8");
  expect(hex(philox4x32([ones, ones, ones, ones], ones, ones))).toBe("408f276d 41c83b0e a20bc7c6 6d5451fd");
  const pi: Words = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
  expect(hex(philox4x32(pi, 0xa4093822, 0x299f31d0))).toBe("d16cfe09 94fdcceb 5001e420 24126ea1");
});

test.each([0.0062, 0.0163, 0.3, 1])("factors have mean 1 and the coefficient of variation asked for: %f", (cv) => {
  const noise = new Noise(7, cv, cv);
  const count = 40_000;
  const operators = Array.from({ length: count }, (_, index) =>
    noise.operatorFactor({ instance: index >> 3, operator: index & 7, attempt: 0 }),
  );
  const transfers = Array.from({ length: count }, (_, transfer) => noise.transferFactor(transfer));
  for (const factors of [operators, transfers]) {
    const mean = factors.reduce((sum, factor) => sum + factor, 0) / count;
    const variance = factors.reduce((sum, factor) => sum + (factor - mean) ** 2, 0) / (count - 1);
    // Five standard errors of the mean; the variance of so skewed a sample needs more room as cv grows.
    expect(Math.abs(mean - 1)).toBeLessThan((5 * cv) / Math.sqrt(count));
    expect(Math.sqrt(variance) / mean / cv).toBeGreaterThan(cv < 0.5 ? 0.98 : 0.9);
    expect(Math.sqrt(variance) / mean / cv).toBeLessThan(cv < 0.5 ? 1.02 : 1.1);
    expect(Math.min(...factors.slice(0, 10_000))).toBeGreaterThan(0);
  }
});

test("logarithms of factors are normal: shares within one, two and three sigma, none correlated with its neighbour", () => {
  const cv = 0.2;
  const sigma = Math.sqrt(Math.log(1 + cv * cv));
  const noise = new Noise(11, cv, 0);
  const z = Array.from(
    { length: 40_000 },
    (_, instance) =>
      (Math.log(noise.operatorFactor({ instance, operator: 0, attempt: 0 })) + (sigma * sigma) / 2) / sigma,
  );
  const share = (within: number) => z.filter((one) => Math.abs(one) < within).length / z.length;
  expect(share(1)).toBeCloseTo(0.6827, 2);
  expect(share(2)).toBeCloseTo(0.9545, 2);
  expect(share(3)).toBeCloseTo(0.9973, 2);
  const neighbours = z.reduce((sum, one, at) => sum + one * (z[at - 1] ?? 0), 0) / z.length;
  expect(Math.abs(neighbours)).toBeLessThan(0.03);
});

test("a factor depends on what it is drawn for and on nothing else", () => {
  const draws = Array.from({ length: 300 }, (_, index) => ({
    instance: index % 10,
    operator: Math.floor(index / 10) % 10,
    attempt: Math.floor(index / 100),
  }));
  const forwards = draws.map((draw) => new Noise(3, 0.1, 0.1).operatorFactor(draw));
  const noise = new Noise(3, 0.1, 0.1);
  const backwards = draws.toReversed().map((draw) => noise.operatorFactor(draw));
  expect(backwards.toReversed()).toEqual(forwards);
  expect(new Set(forwards).size).toBe(draws.length);
  expect(noise.transferFactor(0)).not.toBe(noise.operatorFactor({ instance: 0, operator: 0, attempt: 0 }));
  expect(noise.transferFactor(5)).not.toBe(noise.transferFactor(5 + 2 ** 32));
});

test("seeds differ in their high words too", () => {
  const seeds = [0, 1, 2, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1];
  const factors = seeds.map((seed) => new Noise(seed, 0.1, 0).operatorFactor({ instance: 1, operator: 1, attempt: 0 }));
  expect(new Set(factors).size).toBe(seeds.length);
});

test("no noise is exactly 1", () => {
  const noise = new Noise(3, 0, 0);
  expect(noise.operatorFactor({ instance: 1, operator: 2, attempt: 0 })).toBe(1);
  expect(noise.transferFactor(1)).toBe(1);
});

test("refuses impossible seeds and coefficients", () => {
  for (const seed of [-1, 0.5, Number.NaN, 2 ** 53])
    expect(() => new Noise(seed, 0, 0)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  for (const cv of [-0.1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => new Noise(0, cv, 0)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    expect(() => new Noise(0, 0, cv)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  }
});
