import { runExecutorConformance } from "@slicescheduler/testing";
import { describe, expect, test } from "vitest";
import { conformance, lanes } from "./conformance.ts";
import { LANE_MANIFEST } from "./lane-executor.ts";
import { left, smoothedSum } from "./own-executor.ts";

describe("the lanes conform", () => {
  conformance(test);
});

test("lanes that moved nothing would not conform", async () => {
  const bodies = new Map<string, () => Promise<void>>();
  const create = () => {
    const backend = lanes();
    return {
      ...backend,
      read: (tensor: number, lane: number) => backend.read(tensor, lane).map((value) => (lane === 0 ? value : 0)),
    };
  };
  runExecutorConformance({ test: (name, body) => bodies.set(name, body), manifest: LANE_MANIFEST, create });
  await expect(bodies.get("transfers: a transfer moves the contents of a tensor")?.()).rejects.toThrow(
    /seen: {5}0,0,0/,
  );
});

test("the lanes serve a scheduler: real results, more work than memory, and nothing is left", async () => {
  // Each needs up to 24 KB of the 64 KB of a lane.
  const samples = Array.from({ length: 12 }, (_, at) => 1_500 - 3 * at);
  const sums = await Promise.all(samples.map((count, at) => smoothedSum(count, at % 2 === 0 ? "online" : "offline")));
  // Smoothing keeps the sum, and 0, 1, 2, 0, 1, 2, … sums up to its length.
  for (const [at, sum] of sums.entries()) expect(sum).toBeCloseTo(samples[at] ?? 0, 6);
  expect(left()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0, standstills: 0, tensors: 0 });
});
