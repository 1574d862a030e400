import { expect, test } from "vitest";
import { generateTraces } from "./generate.ts";
import { measureProfile } from "./measure.ts";
import type { WorkloadProfile } from "./types.ts";

const profile: WorkloadProfile = {
  version: 1,
  name: "even",
  attribution: "made up",
  arrivals: { windowSeconds: 10, requestsPerSecond: [0.35, 0, 0.5], gapQuantiles: [1, 1] },
  lengths: { rows: 3, inputTokenQuantiles: [7, 7], outputTokenQuantiles: [2, 2] },
};

test("equal gaps follow the rate through fast, silent and slow windows, with nothing lost at their edges", () => {
  const { arrivals, lengths } = generateTraces(profile, 1);
  // 3.5 requests expected in the first window, none in the second, 5 in the third: the fourth comes half a gap into it.
  const expected = [1 / 0.35, 2 / 0.35, 3 / 0.35, 21, 23, 25, 27, 29].map((seconds) => seconds * 1e9);
  expect(arrivals).toHaveLength(expected.length);
  arrivals.forEach((row, i) => {
    expect(Math.abs(row.arrivalNs - (expected[i] ?? 0))).toBeLessThanOrEqual(1);
  });
  expect(lengths).toEqual(new Array(3).fill({ arrivalNs: 0, inputTokens: 7, outputTokens: 2 }));
});

test("measuring takes the drift out of the gaps and stops at the last whole window", () => {
  // One request a second over 100 s, then one every 2 s over 50 s, then a last one inside a window that is not whole.
  const seconds = [
    ...Array.from({ length: 100 }, (_, i) => i),
    ...Array.from({ length: 25 }, (_, i) => 100 + 2 * i),
    160,
  ];
  const rows = seconds.map((s) => ({ arrivalNs: s * 1e9, inputTokens: 10 + s, outputTokens: 5 }));
  const { arrivals, lengths } = measureProfile("steps", "made up", rows, rows);
  expect(arrivals.requestsPerSecond).toEqual([1, 1, 0.5]);
  expect(arrivals.gapQuantiles.slice(4)).toEqual(new Array(125).fill(1));
  expect(lengths).toMatchObject({ rows: 126 });
  expect(lengths.inputTokenQuantiles[0]).toBe(10);
  expect(lengths.inputTokenQuantiles.at(-1)).toBe(170);
});
