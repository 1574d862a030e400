import { expect, test } from "vitest";
import { SpeedFactors } from "./speed-factors.ts";

/** Four accelerators that did as their models said, five times each. */
function four(): SpeedFactors {
  const factors = new SpeedFactors();
  for (let i = 0; i < 20; i++) factors.observe(`a${i % 4}`, i % 2 === 0 ? 0.01 : -0.01);
  return factors;
}

test("three far observations in a row are a new level", () => {
  const factors = four();
  for (let i = 0; i < 2; i++) factors.observe("a0", Math.log(3));
  expect(factors.factor("a0")).toBe(1);
  factors.observe("a0", Math.log(3));
  expect(Math.abs(factors.factor("a0") - 3)).toBeLessThan(0.05);
});

test("unless most others have just changed alike: then it is for the models to learn", () => {
  const factors = four();
  for (const a of [1, 2]) factors.observe(`a${a}`, Math.log(3));
  for (let i = 0; i < 3; i++) factors.observe("a0", Math.log(3));
  expect(factors.factor("a0")).toBe(1);
  // One of three is not most.
  const two = four();
  two.observe("a1", Math.log(3));
  for (let i = 0; i < 3; i++) two.observe("a0", Math.log(3));
  expect(two.factor("a0")).toBeGreaterThan(2.9);
  // The other way is not alike.
  const others = four();
  for (const a of [1, 2]) others.observe(`a${a}`, -Math.log(3));
  for (let i = 0; i < 3; i++) others.observe("a0", Math.log(3));
  expect(others.factor("a0")).toBeGreaterThan(2.9);
});

test("one that is little slower is found by the median of many", () => {
  const factors = four();
  let samples = 0;
  while (factors.factor("a2") === 1 && samples < 40) {
    factors.observe("a2", Math.log(1.13));
    samples++;
  }
  expect(samples).toBeGreaterThan(3);
  expect(samples).toBeLessThanOrEqual(24);
});

test("as many accelerators of a kind as are allowed, and no more", () => {
  const factors = new SpeedFactors();
  for (let i = 0; i < 65_536; i++) factors.observe(`a${i}`, 0);
  expect(() => factors.observe("one more", 0)).toThrowError(expect.objectContaining({ code: "TOO_MANY_ACCELERATORS" }));
  factors.observe("a7", 0);
});
