import { expect, test } from "vitest";
import { type Surprises, surprisedNs } from "./surprises.ts";

const EXPECTED_NS = 10;

function drawn(kind: Surprises["kind"]): number[] {
  return Array.from({ length: 2000 }, (_, who) => surprisedNs({ kind, seed: 3 }, EXPECTED_NS, who, 1));
}

test("durations are whole, from 0 to 10^12 ns, and the same whenever they are asked for", () => {
  for (const kind of ["heavyTailed", "extreme", "inverted", "alternating"] as const) {
    const all = drawn(kind);
    expect(all.every((ns) => Number.isSafeInteger(ns) && ns >= 0 && ns <= 1e12)).toBe(true);
    expect(drawn(kind)).toEqual(all);
  }
});

test("each kind surprises in its way", () => {
  const heavy = drawn("heavyTailed").sort((a, b) => a - b);
  expect(heavy[1000]).toBeLessThan(10 * EXPECTED_NS);
  expect(heavy.at(-1)).toBeGreaterThan(1000 * EXPECTED_NS);
  expect(new Set(drawn("extreme"))).toEqual(new Set([0, EXPECTED_NS, 1e12]));
  expect(surprisedNs({ kind: "inverted", seed: 3 }, 1, 0, 0)).toBeGreaterThan(drawn("inverted")[0] ?? 0);
  expect(new Set(drawn("alternating"))).toEqual(new Set([EXPECTED_NS, 1000 * EXPECTED_NS]));
});
