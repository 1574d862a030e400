/**
 * SliceScheduler and the baselines of EXPERIMENTS, each as strong as its mechanism allows. In all of them an offline operator starts
 * only when no online operator is ready on its accelerator: that is the queue's order by priority class, which the engine gives to all.
 * Looking ahead to the next online operator, slice fitting, is Dual-Share's mechanism, with a threshold, and SliceScheduler's.
 */
import { InvalidOptionError } from "../errors.ts";
import type { Lane, LaneGroup, PolicyTerms, ReplayPolicy, ReplayScheduling } from "./policy.ts";

/**
 * For how long an offline operator may hold up an online one under Dual-Share. Of 0 to 600 ms, and no threshold, this serves the most
 * requests when the pipeline is filled; a serial one would serve 2 % more without any, at a lower SLO attainment and a TPOT p99 three times
 * as long (`npm run experiment -- dual-threshold`).
 */
const dualShareThresholdNs = 400e6;

/** An offline operator starts whenever no online one is ready, however long it takes. */
const plainPriority: ReplayScheduling = { slices: false };

type Maker = (terms: PolicyTerms) => ReplayPolicy;

/** Whether an offline instance takes one request at a time, as in the paper, or one for each stage of its pipeline. */
type Pace = "serial" | "pipelined";

/** By name, in the order in which they are shown. */
export const policyMakers: Readonly<Record<string, Maker>> = {
  "static-online": staticOnline,
  "subset-share": (terms) => subsetShare(terms, "serial"),
  "subset-share-pipelined": (terms) => subsetShare(terms, "pipelined"),
  "dual-share": (terms) => dualShare(terms, "serial"),
  "dual-share-pipelined": (terms) => dualShare(terms, "pipelined"),
  "full-share": (terms) => fullShare(terms, "serial"),
  "full-share-pipelined": (terms) => fullShare(terms, "pipelined"),
  "full-share-deep": (terms) => ({
    name: "full-share-deep",
    summary: "static-online and one offline instance of eight stages, one request at a time",
    online: ownAccelerators(terms),
    offline: { ...offlineInstances("full-share-deep", terms, [["eight0"]], 1), layersPerOperator: 4 },
    scheduling: plainPriority,
  }),
  slicescheduler: (terms) => {
    const candidates = [instanceSize(terms), 2 * instanceSize(terms)].flatMap((size) => groupsOf(terms, size));
    if (candidates.length === 0) throw tooFew(terms);
    return {
      name: "slicescheduler",
      summary: "online and offline requests as graph instances, placed by simulation",
      online: { assign: "leastLoaded", lanes: [anywhere("online", candidates)] },
      offline: { assign: "leastLoaded", lanes: [anywhere("offline", candidates)] },
    };
  },
};

/** Offline work it takes only where no instance is an online one: then there is nobody whose accelerators it would share. */
function staticOnline(terms: PolicyTerms): ReplayPolicy {
  const isOnline = terms.tenants > 0;
  return {
    name: "static-online",
    summary: isOnline
      ? "each online instance on accelerators of its own, one request at a time; no offline work"
      : "offline instances on accelerators of their own, one request at a time; there is no online work",
    online: ownAccelerators(terms),
    offline: isOnline ? null : { assign: "leastLoaded", lanes: ownLanes(terms) },
    scheduling: plainPriority,
  };
}

/** After AntMan: one offline instance beside the online ones, on half of the cluster. */
function subsetShare(terms: PolicyTerms, pace: Pace): ReplayPolicy {
  return {
    name: named("subset-share", pace),
    summary: `static-online and one offline instance on four accelerators, ${words(pace)}`,
    online: ownAccelerators(terms),
    offline: offlineInstances(named("subset-share", pace), terms, [["quad0"]], pace === "serial" ? 1 : 4),
    scheduling: plainPriority,
  };
}

/** After Orion: an offline instance on each half, whose operators start only if they hold up no online one beyond the threshold. */
function dualShare(terms: PolicyTerms, pace: Pace): ReplayPolicy {
  return {
    name: named("dual-share", pace),
    summary: `static-online and two offline instances on four accelerators each, ${words(pace)}`,
    online: ownAccelerators(terms),
    offline: offlineInstances(named("dual-share", pace), terms, [["quad0"], ["quad1"]], pace === "serial" ? 1 : 4),
    scheduling: { slices: { toleranceNs: dualShareThresholdNs } },
  };
}

/**
 * One offline instance over all eight accelerators: each of its four stages lies on both accelerators of a pair, and a request goes
 * down the one or the other. That serves more than eight stages of four layers (`full-share-deep`), where every token has to wait for
 * its turn at eight accelerators instead of four.
 */
function fullShare(terms: PolicyTerms, pace: Pace): ReplayPolicy {
  return {
    name: named("full-share", pace),
    summary: `static-online and one offline instance on all eight accelerators, ${words(pace)}`,
    online: ownAccelerators(terms),
    offline: offlineInstances(named("full-share", pace), terms, [["spread0", "spread1"]], pace === "serial" ? 1 : 8),
    scheduling: plainPriority,
  };
}

function named(name: string, pace: Pace): string {
  return pace === "serial" ? name : `${name}-${pace}`;
}

function words(pace: Pace): string {
  return pace === "serial" ? "one request at a time" : "as many requests as stages";
}

function anywhere(name: string, partitions: readonly string[]): Lane {
  return { name, partitions, concurrentRequestsMax: Number.POSITIVE_INFINITY };
}

/** One lane for each online instance; where the cluster has fewer places than instances, instances share them in turn. */
function ownAccelerators(terms: PolicyTerms): LaneGroup {
  return { assign: "byTenant", lanes: ownLanes(terms).slice(0, terms.tenants) };
}

/** As many instances as the cluster has places for. */
function ownLanes(terms: PolicyTerms): Lane[] {
  const places = groupsOf(terms, instanceSize(terms));
  if (places.length === 0) throw tooFew(terms);
  return places.map((place, index) => ({ name: `instance ${index}`, partitions: [place], concurrentRequestsMax: 1 }));
}

const groupNames: ReadonlyMap<number, RegExp> = new Map([
  [1, /^single\d+$/],
  [2, /^pair\d+$/],
  [4, /^quad\d+$/],
]);

function instanceSize({ instanceAccelerators = 2 }: PolicyTerms): number {
  if (!groupNames.has(instanceAccelerators)) {
    throw new InvalidOptionError("instanceAccelerators", instanceAccelerators, "1, 2 or 4");
  }
  return instanceAccelerators;
}

/** Partitions that are pipelines over so many accelerators; none for sizes that four operators do not fill. */
function groupsOf({ partitions }: PolicyTerms, size: number): string[] {
  const pattern = groupNames.get(size);
  return pattern === undefined ? [] : partitions.filter((partition) => pattern.test(partition));
}

function tooFew(terms: PolicyTerms): InvalidOptionError {
  const size = instanceSize(terms);
  return new InvalidOptionError(
    "cluster",
    `one with fewer than ${size} accelerators`,
    `one with room for an instance of ${size}`,
  );
}

function offlineInstances(
  policy: string,
  terms: PolicyTerms,
  instances: readonly (readonly string[])[],
  concurrentRequestsMax: number,
): LaneGroup {
  const missing = instances.flat().filter((place) => !terms.partitions.includes(place));
  if (missing.length > 0) {
    const found = `one of ${groupsOf(terms, 1).length}`;
    throw new InvalidOptionError("cluster", found, `one of eight accelerators for policy "${policy}"`);
  }
  const lanes = instances.map((partitions) => ({
    name: `offline on ${partitions.join(" or ")}`,
    partitions,
    concurrentRequestsMax,
  }));
  return { assign: "leastLoaded", lanes };
}
