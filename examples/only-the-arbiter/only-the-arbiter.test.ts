import { expect, test } from "vitest";
import { explainJam, oneAfterAnother, play, shards } from "./only-the-arbiter.ts";

test("everything arrives, in far less time than one after another, and the urgent one passes those that wait", () => {
  const intents = shards();
  const { moved, totalMs } = play(intents);
  expect(moved.map(({ transfer }) => transfer).sort((a, b) => a - b)).toEqual(intents.map(({ transfer }) => transfer));
  // The uplink alone has 4 · 600 MB and 30 MB to carry, at 12 GB/s.
  expect(totalMs).toBeGreaterThanOrEqual(2430 / 12);
  expect(totalMs).toBeLessThan(0.9 * oneAfterAnother(intents).totalMs);
  const urgent = moved.find(({ transfer }) => transfer === intents.length - 1);
  // At most one shard of 600 MB is in its way, and itself.
  expect(urgent?.tookMs).toBeLessThanOrEqual((600 + 60 + 30) / 12);
});

test("who waits is told with the ports that it waits for", () => {
  const told = explainJam();
  expect(told).toContain("4 waiting, 2 with ports");
  expect(told).toMatch(
    /Transfer 1 .* waits for egress of accelerator 0 \(taken by transfer 0\) and link 0 \(taken by transfer 0\)/,
  );
});
