import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LeastSquares } from "./least-squares.ts";

/** The slow twin: the same rules on a full covariance matrix. */
class PlainLeastSquares {
  readonly coefficients: number[];
  readonly covariance: number[][];
  readonly #forgetting: number;

  constructor(variances: readonly number[], forgetting: number) {
    this.#forgetting = forgetting;
    this.coefficients = variances.map(() => 0);
    this.covariance = variances.map((variance, row) => variances.map((_, column) => (row === column ? variance : 0)));
  }

  learn(z: readonly number[], target: number): void {
    const pz = this.covariance.map((row) => dot(row, z));
    const variance = dot(pz, z);
    const step = (target - dot(this.coefficients, z)) / (1 + variance);
    const weight = this.#forgetting - (1 - this.#forgetting) / variance;
    const removed = weight / (1 + weight * variance);
    for (const [row, values] of this.covariance.entries()) {
      this.coefficients[row] = at(this.coefficients, row) + at(pz, row) * step;
      for (const column of values.keys()) values[column] = at(values, column) - removed * at(pz, row) * at(pz, column);
    }
  }

  variance(z: readonly number[]): number {
    return dot(
      this.covariance.map((row) => dot(row, z)),
      z,
    );
  }
}

const at = (values: readonly number[], index: number) => values[index] ?? Number.NaN;
const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, index) => sum + value * at(b, index), 0);

const component = fc.double({ min: -2, max: 2, noNaN: true });
const sample = fc.record({ z: fc.tuple(fc.constant(1), component, component), target: component });

describe("LeastSquares", () => {
  it("agrees with the update of a full covariance matrix", () => {
    fc.assert(
      fc.property(
        fc.array(sample, { maxLength: 40 }),
        fc.constantFrom(0.8, 0.98, 1),
        component,
        (samples, forgetting, x) => {
          const fast = new LeastSquares(3, forgetting);
          fast.diagonal.set([100, 10, 1]);
          const slow = new PlainLeastSquares([100, 10, 1], forgetting);
          for (const { z, target } of samples) {
            fast.learn(Float64Array.from(z), target);
            slow.learn(z, target);
          }
          const probe = [1, x, -x];
          const tolerance = 1e-6 * (1 + slow.variance(probe));
          expect(Math.abs(fast.variance(Float64Array.from(probe)) - slow.variance(probe))).toBeLessThan(tolerance);
          for (const [index, coefficient] of slow.coefficients.entries()) {
            expect(Math.abs((fast.coefficients[index] ?? Number.NaN) - coefficient)).toBeLessThan(1e-5);
          }
        },
      ),
    );
  });

  it("keeps the variance of every direction positive and below its start, however long one repeats", () => {
    fc.assert(
      fc.property(fc.array(sample, { minLength: 3, maxLength: 12 }), (samples) => {
        const law = new LeastSquares(3, 0.95);
        law.diagonal.set([100, 100, 100]);
        for (const { z, target } of samples) {
          const regressors = Float64Array.from(z);
          for (let repeat = 0; repeat < 2000; repeat++) law.learn(regressors, target);
          // Repeated alone, a sample counts for 1 / (1 − λ): variance / (1 + variance) = 1 − λ.
          expect(law.variance(regressors)).toBeCloseTo(0.05 / 0.95, 6);
        }
        for (const direction of [
          [1, 0, 0],
          [0, 1, 0],
          [0, 0, 1],
          [1, 1, 1],
          [1, -1, 1],
        ]) {
          const variance = law.variance(Float64Array.from(direction));
          expect(variance).toBeGreaterThan(0);
          expect(variance).toBeLessThan(1000);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("leaves a regressor out that takes no part yet", () => {
    const law = new LeastSquares(3, 0.98);
    law.diagonal.set([100, 100, 0]);
    for (let sample = 0; sample < 50; sample++) law.learn(Float64Array.of(1, sample % 7, 0), 3 + 2 * (sample % 7));
    expect(law.coefficients[2]).toBe(0);
    expect(law.value(Float64Array.of(1, 10, 0))).toBeCloseTo(23, 1);
  });
});
