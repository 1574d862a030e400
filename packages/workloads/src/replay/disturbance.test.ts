import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { type Disturbance, type DisturbedOperator, disturbanceFactor } from "./disturbance.ts";

const operator: DisturbedOperator = { pass: "decode", accelerator: "a0", instance: 1, operator: 2, atNs: 5 };

describe("disturbanceFactor", () => {
  test("nothing disturbs by default", () => {
    expect(disturbanceFactor({}, 1)(operator)).toBe(1);
  });

  test("a bias holds for its pass, from its time on", () => {
    const factorOf = disturbanceFactor({ bias: { pass: "decode", factor: 2, fromNs: 5 } }, 1);
    expect(factorOf(operator)).toBe(2);
    expect(factorOf({ ...operator, atNs: 4 })).toBe(1);
    expect(factorOf({ ...operator, pass: "prefill" })).toBe(1);
    expect(
      disturbanceFactor({ bias: { pass: "all", factor: 0.5, fromNs: 0 } }, 1)({ ...operator, pass: "prefill" }),
    ).toBe(0.5);
  });

  test("a slow accelerator is slow for everything, and alone; factors multiply", () => {
    const disturbance: Disturbance = {
      bias: { pass: "all", factor: 2, fromNs: 0 },
      slowAccelerator: { name: "a0", factor: 3, fromNs: 5 },
    };
    const factorOf = disturbanceFactor(disturbance, 1);
    expect(factorOf(operator)).toBe(6);
    expect(factorOf({ ...operator, accelerator: "a1" })).toBe(2);
    expect(factorOf({ ...operator, atNs: 4 })).toBe(2);
  });

  test.prop([fc.nat(), fc.nat(1e6), fc.nat(63)])(
    "stragglers depend on seed, instance and operator only",
    (seed, instance, index) => {
      const at = (atNs: number): number =>
        disturbanceFactor(
          { stragglers: { share: 0.3, factor: 20 } },
          seed,
        )({ ...operator, instance, operator: index, atNs });
      expect(at(1)).toBe(at(1e12));
      expect([1, 20]).toContain(at(1));
    },
  );

  test("about the given share straggles, other operators for another seed", () => {
    const straggling = (seed: number): number[] => {
      const factorOf = disturbanceFactor({ stragglers: { share: 0.01, factor: 20 } }, seed);
      const all = Array.from({ length: 40_000 }, (_, i) =>
        factorOf({ ...operator, instance: i >> 2, operator: i & 3 }),
      );
      return all.flatMap((factor, i) => (factor === 20 ? [i] : []));
    };
    // Binomial: 400 expected, standard deviation 20.
    expect(Math.abs(straggling(1).length - 400)).toBeLessThan(100);
    expect(straggling(1)).not.toEqual(straggling(2));
  });

  test.each([
    [{ bias: { pass: "all", factor: 0, fromNs: 0 } }, /bias\.factor/],
    [{ slowAccelerator: { name: "a0", factor: Number.NaN, fromNs: 0 } }, /slowAccelerator\.factor/],
    [{ stragglers: { share: 1.1, factor: 2 } }, /stragglers\.share/],
  ] as const)("refuses %j", (disturbance, reason) => {
    expect(() => disturbanceFactor(disturbance, 1)).toThrowError(reason);
  });
});
