import { firstFit } from "@slicescheduler/scheduler";
import { describe, expect, test } from "vitest";
import { PLANTS, type Plant, runSafety, type SafetyReport, safetyWorld } from "./index.ts";

const SEEDS = 60;
/** A second or two on a machine that has nothing else to do. */
const timeoutMs = 60_000;

/** Until one says what is asked for. */
async function runSeeds(plant: Plant | null, enough: (report: SafetyReport) => boolean): Promise<SafetyReport[]> {
  const reports: SafetyReport[] = [];
  for (let seed = 0; seed < SEEDS; seed++) {
    const report = await runSafety({ ...safetyWorld(seed), plant });
    reports.push(report);
    if (enough(report)) break;
  }
  return reports;
}

test("nothing breaks in worlds that try to break memory safety, and they do try", { timeout: timeoutMs }, async () => {
  const reports = await runSeeds(null, () => false);
  for (const { violations } of reports) expect(violations).toEqual([]);
  const sum = (of: (report: SafetyReport) => number) => reports.reduce((total, report) => total + of(report), 0);
  for (const outcome of ["done", "failed", "cancelled", "refused"] as const) {
    expect(
      sum(({ outcomes }) => outcomes[outcome]),
      outcome,
    ).toBeGreaterThan(SEEDS / 4);
  }
  expect(sum(({ waitedForMemory }) => (waitedForMemory ? 1 : 0))).toBeGreaterThan(SEEDS / 3);
  expect(sum(({ transfersDone }) => transfersDone)).toBeGreaterThan(SEEDS);
  expect(sum(({ acceleratorsLost }) => acceleratorsLost)).toBeGreaterThan(SEEDS / 10);
  expect(Math.max(...reports.map(({ fullest }) => fullest))).toBeGreaterThan(0.9);
});

test("worlds switch on and off what may go wrong", () => {
  const worlds = Array.from({ length: SEEDS }, (_, seed) => safetyWorld(seed));
  for (const option of ["faults", "delays", "outages", "surprises", "givesBackAfterNs"] as const) {
    const on = worlds.filter((world) => world[option] !== undefined).length;
    expect(Math.min(on, SEEDS - on), option).toBeGreaterThan(SEEDS / 8);
  }
});

test("a seed gives one world and one run", async () => {
  const [first, again, other] = [await runSafety(safetyWorld(7)), await runSafety(safetyWorld(7)), safetyWorld(8)];
  expect(again).toEqual(first);
  expect(other).not.toEqual(safetyWorld(7));
});

describe("a planted fault is found", () => {
  test.each(Object.keys(PLANTS) as Plant[])("%s", { timeout: timeoutMs }, async (plant) => {
    const reports = await runSeeds(plant, ({ counts }) => counts[plant] > 0);
    expect(reports.at(-1)?.counts[plant]).toBeGreaterThan(0);
    expect(reports.at(-1)?.violations[0]).toMatch(/^(overCapacity|standstills|lost|doubled|leakedBytes): /);
  });
});

test("what a run throws is counted, and what it had taken on is lost", async () => {
  let choices = 0;
  const policy: typeof firstFit = {
    name: "gives up",
    choose: (round) => {
      if (choices++ === 4) throw new Error("this policy gives up");
      return firstFit.choose(round);
    },
  };
  const { counts, violations } = await runSafety({ ...safetyWorld(0), scheduling: { policy } });
  expect(counts.broken).toBeGreaterThan(0);
  expect(counts.lost).toBeGreaterThan(0);
  expect(violations.join("\n")).toMatch(/this policy gives up/);
});
