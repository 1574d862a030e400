import { expect, test } from "vitest";
import { CHAOS_KINDS, chaosWorld } from "./chaos-world.ts";
import { CHAOS_PLANTS, type ChaosReport, isChaosPlant, runChaos } from "./run-chaos.ts";

const WORLDS = 10;

/** A repair takes 40 s, until a loss is noticed and given up 10 s, and whoever waits is not alone; a world is under load for 150 s. */
const LONGEST_NS = 100e9;

test("minutes under faults of all kinds: nothing is lost, doubled or leaked, and every outcome comes in bounded time", async () => {
  const struck = new Set<string>();
  let simulatedNs = 0;
  for (let seed = 0; seed < WORLDS; seed++) {
    const report = await runChaos(chaosWorld(seed));
    expect(report.violations, `seed ${seed}; npm run experiment -- chaos --seed ${seed}`).toEqual([]);
    const { done, failed, cancelled } = report.outcomes;
    expect(done + failed + cancelled).toBe(report.requests);
    expect(report.longestToOutcomeNs).toBeLessThan(LONGEST_NS);
    simulatedNs += report.simulatedNs;
    for (const kind of Object.keys(report.faults)) struck.add(kind);
  }
  expect(simulatedNs).toBeGreaterThan(WORLDS * 100e9);
  expect(struck.size).toBeGreaterThanOrEqual(10);
});

test("a world and its run depend on the seed alone", async () => {
  expect(chaosWorld(5)).toEqual(chaosWorld(5));
  const first = await runChaos(chaosWorld(5));
  expect(await runChaos(chaosWorld(5))).toEqual(first);
});

test("over the seeds every kind of fault is drawn", () => {
  const kinds = new Set(Array.from({ length: 60 }, (_, seed) => chaosWorld(seed).kinds).flat());
  expect([...kinds].sort()).toEqual([...CHAOS_KINDS].sort());
});

/** What each planted fault must be found by. */
const FOUND_BY: Readonly<Record<keyof typeof CHAOS_PLANTS, keyof ChaosReport["counts"]>> = {
  notWatched: "lost",
  notGivenUp: "broken",
  releasesDropped: "leakedBytes",
  runsTwice: "doubled",
};

test.each(Object.keys(CHAOS_PLANTS).filter(isChaosPlant))("the planted fault %s is found", async (plant) => {
  for (let seed = 0; seed < 40; seed++) {
    const { counts } = await runChaos(chaosWorld(seed), plant);
    if (counts[FOUND_BY[plant]] > 0) return;
  }
  expect.fail("no seed found it");
});
