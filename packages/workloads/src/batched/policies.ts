/**
 * The policies of `colocation` with continuous batching everywhere, as plain data. A lane is a model instance: a batching engine on
 * one partition, with a pool of its own, that takes every request it is given into its batch.
 */
import type { SliceSchedulerOptions } from "slicescheduler";
import { InvalidOptionError, UnknownPolicyError } from "../errors.ts";
import { nearest } from "../replay/policy.ts";

export interface BatchedLane {
  readonly name: string;
  /** Name of the partition it lies on, and how many accelerators that has. */
  readonly partition: string;
  readonly stages: number;
}

export interface BatchedLaneGroup {
  /** To the lane of its tenant, or to the one with the fewest tokens to read and make (ties: the first). */
  readonly assign: "byTenant" | "leastOutstanding";
  readonly lanes: readonly BatchedLane[];
  /** Most tokens in a step, at least 1. */
  readonly stepTokensMax: number;
  /** Steps under way in an engine, for each of its stages, and one more, at least 1. */
  readonly stepsPerStage: number;
}

export interface BatchedPolicy {
  readonly name: string;
  /** One line for people. */
  readonly summary: string;
  readonly online: BatchedLaneGroup;
  /** Null when there is no offline work; else it has no end, and each lane runs as much of it as fits. */
  readonly offline: BatchedLaneGroup | null;
  /** Scheduling options of the master. */
  readonly scheduling: NonNullable<SliceSchedulerOptions["scheduling"]>;
}

export interface BatchedPolicyTerms {
  /** Model instances with online requests, at least 1. */
  readonly tenants: number;
  /** Accelerators of the cluster. */
  readonly accelerators: number;
  /** Most tokens in a step of an online engine, and of an offline one, at least 1. */
  readonly onlineStepTokens: number;
  readonly offlineStepTokens: number;
}

/** An operator starts whenever none of a more urgent class is ready: what the baselines' queues do. */
const plainPriority: BatchedPolicy["scheduling"] = { slices: false };

/** Of thresholds from 0 to 15 ms, the one with the most requests that leaves online latencies about what they are under Static-Online. */
const dualShareThresholdNs = 10e6;

/**
 * An offline engine has so many steps under way for each stage: where online work takes a stage for seconds, the others go on longer.
 * A baseline gains by it, and loses nothing.
 */
const offlineStepsPerStage = 4;

type Maker = (terms: BatchedPolicyTerms) => Omit<BatchedPolicy, "name">;

const makers: Readonly<Record<string, Maker>> = {
  "static-online": (terms) => ({
    summary: "each online instance a batching engine on its own pair; no offline work",
    online: pinned(terms),
    offline: null,
    scheduling: plainPriority,
  }),
  "subset-share": (terms) => ({
    summary: "beside them one offline engine on accelerators 0 to 3, run when no online operator is ready",
    online: pinned(terms),
    offline: offlineOn(terms, engines(terms, 4).slice(0, 1)),
    scheduling: plainPriority,
  }),
  "dual-share": (terms) => ({
    summary: "beside them two offline engines, on 0 to 3 and 4 to 7, that hold an online operator up by 10 ms at most",
    online: pinned(terms),
    offline: offlineOn(terms, engines(terms, 4)),
    scheduling: { slices: { toleranceShare: 0, toleranceNs: dualShareThresholdNs } },
  }),
  "dual-share-eager": (terms) => ({
    summary: "the same without a threshold",
    online: pinned(terms),
    offline: offlineOn(terms, engines(terms, 4)),
    scheduling: plainPriority,
  }),
  "full-share": (terms) => ({
    summary: "beside them one offline engine over all eight accelerators",
    online: pinned(terms),
    offline: offlineOn(terms, spread(terms)),
    scheduling: plainPriority,
  }),
  slicescheduler: (terms) => ({
    summary:
      "online requests to the engine with the least outstanding work; offline engines on every pair and quad, in slices",
    online: routed(terms),
    offline: offlineOn(terms, [...engines(terms, 2), ...engines(terms, 4)]),
    scheduling: {},
  }),
  "slicescheduler-plain": (terms) => ({
    summary: "the same with plain priority: offline operators run whenever no online operator is ready",
    online: routed(terms),
    offline: offlineOn(terms, [...engines(terms, 2), ...engines(terms, 4)]),
    scheduling: plainPriority,
  }),
  "slicescheduler-online": (terms) => ({
    summary: "the same without offline work: what interference is measured against",
    online: routed(terms),
    offline: null,
    scheduling: {},
  }),
};

/** Names of all policies, in the order in which they are shown. */
export const batchedPolicyNames: readonly string[] = Object.keys(makers);

/** The policy of that name for these terms. Errors: UNKNOWN_POLICY (with the nearest name), INVALID_OPTION. */
export function batchedPolicy(name: string, terms: BatchedPolicyTerms): BatchedPolicy {
  const make = Object.hasOwn(makers, name) ? makers[name] : undefined;
  if (make === undefined) throw new UnknownPolicyError(name, batchedPolicyNames, nearest(name, batchedPolicyNames));
  return { name, ...make(terms) };
}

function engines({ accelerators }: BatchedPolicyTerms, stages: 2 | 4): BatchedLane[] {
  const count = Math.floor(accelerators / stages);
  if (count === 0) throw new InvalidOptionError("accelerators", accelerators, `at least ${stages} for this policy`);
  return Array.from({ length: count }, (_, index) => {
    const partition = `${stages === 2 ? "pair" : "quad"}${index}`;
    return { name: partition, partition, stages };
  });
}

/**
 * One offline instance over all eight: each of its four stages lies on both accelerators of a pair. That serves more than eight stages of
 * half the layers, of which each has to wait for its turn.
 */
function spread({ accelerators }: BatchedPolicyTerms): BatchedLane[] {
  if (accelerators !== 8) throw new InvalidOptionError("accelerators", accelerators, "8 for this policy");
  return ["spread0", "spread1"].map((partition) => ({ name: partition, partition, stages: 4 }));
}

function pinned(terms: BatchedPolicyTerms): BatchedLaneGroup {
  const pairs = engines(terms, 2);
  if (!(Number.isInteger(terms.tenants) && terms.tenants >= 1 && terms.tenants <= pairs.length)) {
    throw new InvalidOptionError("tenants", terms.tenants, `from 1 to ${pairs.length}, the pairs there are`);
  }
  return {
    assign: "byTenant",
    lanes: pairs.slice(0, terms.tenants),
    stepTokensMax: terms.onlineStepTokens,
    stepsPerStage: 1,
  };
}

function routed(terms: BatchedPolicyTerms): BatchedLaneGroup {
  return {
    assign: "leastOutstanding",
    lanes: engines(terms, 2),
    stepTokensMax: terms.onlineStepTokens,
    stepsPerStage: 1,
  };
}

function offlineOn(terms: BatchedPolicyTerms, lanes: readonly BatchedLane[]): BatchedLaneGroup {
  return {
    assign: "leastOutstanding",
    lanes,
    stepTokensMax: terms.offlineStepTokens,
    stepsPerStage: offlineStepsPerStage,
  };
}
