/**
 * Hours of simulated time on small clusters on which everything goes wrong at once: what was asked for, what became of it, and whether anything was
 * lost, doubled or leaked. Exits with 1 when a promise was broken; `--plant NAME` breaks it on purpose. One seed alone: `--seed N`.
 */
import { parseArgs } from "node:util";
import {
  CHAOS_PLANTS,
  type ChaosPlant,
  type ChaosReport,
  chaosWorld,
  isChaosPlant,
  runChaos,
} from "@slicescheduler/testing";
import type { Measure } from "../measurement.ts";

const NS_PER_HOUR = 3.6e12;
const HOURS = 20;
/** Worlds that each planted fault may take to be found. */
const PLANTED_WORLDS_MAX = 40;
const TOLD_MAX = 5;

interface Options {
  readonly hours: number;
  readonly from: number;
  readonly seed: number | null;
  readonly plant: ChaosPlant | null;
}

/** Throws a `RangeError` that names the argument. */
function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      hours: { type: "string" },
      from: { type: "string" },
      seed: { type: "string" },
      plant: { type: "string" },
    },
  });
  const { plant = null, hours = String(HOURS) } = values;
  if (plant !== null && !isChaosPlant(plant))
    throw new RangeError(`--plant ${plant}: there is no such fault; there are ${Object.keys(CHAOS_PLANTS).join(", ")}`);
  if (!(Number(hours) > 0 && Number(hours) < 1e6)) throw new RangeError(`--hours ${hours}: give a number above 0`);
  return {
    hours: Number(hours),
    from: whole("from", values.from) ?? 0,
    seed: whole("seed", values.seed),
    plant,
  };
}

function whole(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0 || value >= 2 ** 31)
    throw new RangeError(`--${name} ${text}: give a whole number from 0 below 2^31`);
  return value;
}

/** Sums over worlds. */
class Tally {
  simulatedNs = 0;
  worlds = 0;
  requests = 0;
  longestToOutcomeNs = 0;
  lateEvents = 0;
  earlyEvents = 0;
  readonly counts: Record<string, number> = {
    lost: 0,
    doubled: 0,
    leakedBytes: 0,
    overCapacity: 0,
    standstills: 0,
    broken: 0,
  };
  readonly outcomes: Record<string, number> = { done: 0, failed: 0, cancelled: 0 };
  readonly faultsInjected: Record<string, number> = {};
  readonly told: Record<string, number> = {};
  readonly violated: { readonly seed: number; readonly violations: readonly string[] }[] = [];

  add(seed: number, report: ChaosReport): void {
    this.worlds += 1;
    this.simulatedNs += report.simulatedNs;
    this.requests += report.requests;
    this.longestToOutcomeNs = Math.max(this.longestToOutcomeNs, report.longestToOutcomeNs);
    this.lateEvents += report.lateEvents;
    this.earlyEvents += report.earlyEvents;
    sum(this.counts, report.counts);
    sum(this.outcomes, report.outcomes);
    sum(this.faultsInjected, report.faults);
    sum(this.told, report.told);
    if (report.violations.length > 0) this.violated.push({ seed, violations: report.violations.slice(0, TOLD_MAX) });
  }
}

function sum(into: Record<string, number>, parts: Readonly<Record<string, number | undefined>>): void {
  for (const [name, count = 0] of Object.entries(parts)) into[name] = (into[name] ?? 0) + count;
}

export const measure: Measure = async (args) => {
  const options = readOptions(args);
  const beginNs = process.hrtime.bigint();
  const tally = new Tally();
  const first = options.seed ?? options.from;
  for (let seed = first; isGoingOn(seed - first, tally, options); seed++)
    tally.add(seed, await runChaos(chaosWorld(seed), options.plant));
  const planted = options.plant === null && options.seed === null ? await findPlants(options.from) : [];
  const plantsFound = planted.filter(({ seed }) => seed !== null).length;
  if (tally.violated.length > 0 || plantsFound < planted.length) process.exitCode = 1;
  const seconds = Number(process.hrtime.bigint() - beginNs) / 1e9;
  const { simulatedNs, longestToOutcomeNs, counts, violated, worlds, ...rest } = tally;
  return {
    text: textOf(tally, options, planted, seconds),
    json: {
      simulatedHours: round(simulatedNs / NS_PER_HOUR),
      ...rest,
      ...counts,
      longestToOutcomeMs: round(longestToOutcomeNs / 1e6),
      seeds: { from: first, worlds },
      plant: options.plant,
      plantedFound: plantsFound,
      plantedTotal: planted.length,
      planted,
      violated,
      seconds: round(seconds),
    },
  };
};

function isGoingOn(done: number, { simulatedNs, violated }: Tally, { hours, seed, plant }: Options): boolean {
  if (seed !== null) return done === 0;
  if (plant !== null) return violated.length === 0 && done < PLANTED_WORLDS_MAX;
  return simulatedNs < hours * NS_PER_HOUR;
}

/** For each planted fault, the first seed that finds it and what it says; null where none of the first worlds does. */
async function findPlants(from: number) {
  const found: { plant: ChaosPlant; seed: number | null; violation: string | null }[] = [];
  for (const plant of Object.keys(CHAOS_PLANTS).filter(isChaosPlant)) {
    let seed = from;
    let violation: string | null = null;
    for (; violation === null && seed < from + PLANTED_WORLDS_MAX; seed++)
      violation = (await runChaos(chaosWorld(seed), plant)).violations[0] ?? null;
    found.push({ plant, seed: violation === null ? null : seed - 1, violation });
  }
  return found;
}

function textOf(
  tally: Tally,
  options: Options,
  planted: Awaited<ReturnType<typeof findPlants>>,
  seconds: number,
): string {
  const each = (record: Readonly<Record<string, number>>) =>
    Object.entries(record)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ") || "none";
  const { simulatedNs, worlds, requests, outcomes, counts, violated, longestToOutcomeNs } = tally;
  const hours = (simulatedNs / NS_PER_HOUR).toFixed(2);
  const how = options.plant === null ? "" : `, with a planted fault (${CHAOS_PLANTS[options.plant]})`;
  const lines = [
    `${hours} hours of simulated time in ${worlds} worlds, ${seconds.toFixed(1)} s${how}`,
    `broken promises: ${each(counts)}`,
    `${requests} instances: ${each(outcomes)}; the longest took ${(longestToOutcomeNs / 1e6).toFixed(0)} ms to its outcome`,
    `faults that struck: ${each(tally.faultsInjected)}`,
    `what the master did: ${each(tally.told)}; reports ignored ${tally.lateEvents}, waited with ${tally.earlyEvents}`,
    ...planted.map(({ plant, seed, violation }) =>
      seed === null ? `planted ${plant}: NOT FOUND` : `planted ${plant}: found by seed ${seed}: ${violation}`,
    ),
  ];
  for (const { seed, violations } of violated.slice(0, TOLD_MAX)) {
    lines.push("", `seed ${seed}:`, ...violations.map((it) => `  ${it}`));
    lines.push(`  kinds of faults: ${chaosWorld(seed).kinds.join(", ")}`);
    const plant = options.plant === null ? "" : ` --plant ${options.plant}`;
    lines.push(`  replay: npm run experiment -- chaos --seed ${seed}${plant}`);
  }
  return lines.join("\n");
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
