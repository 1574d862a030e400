import type { Outage } from "@slicescheduler/executor";
import type { ClusterSpec } from "@slicescheduler/gmg";
import fc from "fast-check";
import { type ClusterOptions, clusters, seldom } from "./clusters.ts";
import { delays } from "./delayed-executor.ts";
import { durations } from "./durations.ts";
import { faults } from "./faults.ts";
import type { RunOptions } from "./run-workload.ts";
import { surprises } from "./surprises.ts";
import { buildTemplates, drawnFamilies, type TemplateOptions } from "./templates.ts";
import { tightened } from "./tightened.ts";
import { buildWorkload, drawnWorkloads, type WorkloadOptions } from "./workloads.ts";
import { arbitrations, schedulings } from "./worlds.ts";

/**
 * Worlds that try to break memory safety: little memory, measured by what the requests may come to need, durations against all
 * expectation, messages that travel, failures, cancels, an application that gives back late. Each world draws first what it is made
 * of and what is switched off, so that rare things also meet alone.
 */
export function safetyWorlds(): fc.Arbitrary<RunOptions> {
  return fc
    .record({
      acceleratorsMin: fc.integer({ min: 1, max: 3 }),
      acceleratorsMax: fc.constantFrom(3, 4),
      templatesMax: fc.integer({ min: 1, max: 3 }),
      operatorsMin: fc.integer({ min: 1, max: 4 }),
      operatorsMax: fc.integer({ min: 4, max: 7 }),
      spreadMin: fc.integer({ min: 1, max: 3 }),
      partitionsMax: fc.integer({ min: 1, max: 3 }),
      groupsMin: fc.integer({ min: 1, max: 6 }),
      groupsMax: fc.integer({ min: 6, max: 10 }),
      instancesMax: fc.integer({ min: 1, max: 6 }),
      cancels: fc.boolean(),
      careless: fc.boolean(),
      restricted: fc.boolean(),
      fails: fc.boolean(),
      travels: fc.boolean(),
      surprises: fc.boolean(),
      late: fc.boolean(),
      outages: seldom(fc.constant(true)).map((on) => on ?? false),
    })
    .chain(drawn);
}

/**
 * The world of a seed, a whole number from 0 below 2^31: the same for the same versions of this package and of fast-check.
 */
export function safetyWorld(seed: number): RunOptions {
  const [world] = fc.sample(safetyWorlds(), { seed, numRuns: 1, unbiased: seed % 2 === 0 });
  if (world === undefined) throw new RangeError(`seed ${seed} gives no world`);
  return world;
}

/** What a world is made of, and what is switched on. */
interface Switches extends ClusterOptions, TemplateOptions, WorkloadOptions {
  readonly fails: boolean;
  readonly travels: boolean;
  readonly surprises: boolean;
  readonly late: boolean;
  readonly outages: boolean;
}

/**
 * How much of what the neediest request may come to hold the accelerators have, in thousandths: from what only a close bound lets
 * in to what two of them share.
 */
const SHARES = [400, 550, 700, 800, 900, 1000, 1000, 1001, 1050, 1100, 1250, 1500, 2000];

function drawn(switches: Switches): fc.Arbitrary<RunOptions> {
  const cv = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true }));
  const onlyIf = <Value>(on: boolean, arbitrary: fc.Arbitrary<Value>) => (on ? arbitrary : fc.constant(undefined));
  return fc
    .record({
      cluster: clusters(switches),
      family: drawnFamilies(switches),
      workload: drawnWorkloads(switches),
      share: fc.constantFrom(...SHARES),
      durations: durations(),
      seed: fc.nat(),
      operatorCv: cv,
      transferCv: cv,
      scheduling: schedulings(),
      arbitration: arbitrations(),
      faults: onlyIf(switches.fails, faults()),
      delays: onlyIf(switches.travels && !switches.outages, delays()),
      outages: onlyIf(switches.outages, drawnOutages()),
      surprises: onlyIf(switches.surprises, surprises()),
      givesBackAfterNs: onlyIf(switches.late, fc.nat({ max: 300 })),
    })
    .map(({ cluster, family, workload: drawnWorkload, share, outages, ...rest }) => {
      const templates = buildTemplates(family, cluster);
      const workload = buildWorkload(drawnWorkload, templates);
      const options = given({ ...rest, outages: outages && buildOutages(outages, cluster) });
      return { ...options, cluster: tightened(cluster, templates, workload, share), templates, workload };
    });
}

interface DrawnOutage {
  readonly lostNs: number;
  readonly absentNs: number | null;
}

/** Per accelerator; null: it stays. */
function drawnOutages(): fc.Arbitrary<readonly (DrawnOutage | null)[]> {
  const outage = fc.record({
    lostNs: fc.integer({ min: 1, max: 200 }),
    absentNs: fc.option(fc.integer({ min: 1, max: 200 }), { freq: 4 }),
  });
  return fc.array(fc.option(outage, { freq: 2 }), { minLength: 2, maxLength: 4 });
}

function buildOutages(drawn: readonly (DrawnOutage | null)[], { accelerators }: ClusterSpec): Outage[] {
  return accelerators.flatMap(({ name }, index) => {
    const outage = drawn[index] ?? null;
    if (outage === null) return [];
    const { lostNs, absentNs } = outage;
    return [{ accelerator: name, lostNs, ...(absentNs === null ? {} : { backNs: lostNs + absentNs }) }];
  });
}

/** Without the options that were switched off. */
function given<Options extends object>(options: Options): { [Key in keyof Options]: Exclude<Options[Key], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof Options]: Exclude<Options[Key], undefined> };
}
