/**
 * Policies of a replay as plain data: which requests may start when, where, and how the master schedules them. The engine under
 * them is the same for all; a baseline is a set of model instances (lanes) that each take one request at a time.
 */
import type { SliceSchedulerOptions } from "slicescheduler";
import { UnknownPolicyError } from "../errors.ts";
import { policyMakers } from "./policies.ts";

export type RequestClass = "online" | "offline";

/** One queue of requests, served first come first served. */
export interface Lane {
  readonly name: string;
  /** Names of the partitions its requests may be laid on. */
  readonly partitions: readonly string[];
  /** Requests it has under way at once; a serial model instance has 1, a pipelined one as many as it has stages. */
  readonly concurrentRequestsMax: number;
}

export interface LaneGroup {
  /** To the lane of its tenant, or to the one with the fewest requests waiting and under way (ties: the first). */
  readonly assign: "byTenant" | "leastLoaded";
  readonly lanes: readonly Lane[];
  /** Layers in one operator of their passes, a divisor of 32. Default 8. */
  readonly layersPerOperator?: number;
  /** Prompts longer than this are worked off in pieces of so many tokens. Default: in one piece. */
  readonly prefillTokensMax?: number;
  /** Passes and pieces of prompts submitted beyond the one that runs. Default: that of the replay. */
  readonly lookahead?: number;
}

/** Scheduling options of the master, as a policy sets them. */
export type ReplayScheduling = NonNullable<SliceSchedulerOptions["scheduling"]>;

export interface ReplayPolicy {
  readonly name: string;
  /** One line for people. */
  readonly summary: string;
  readonly online: LaneGroup;
  /** Null when offline requests are not served at all. */
  readonly offline: LaneGroup | null;
  /** Default: the master's own. */
  readonly scheduling?: ReplayScheduling;
}

/** What a policy is made for. */
export interface PolicyTerms {
  /** Names of all partitions that templates can have on the cluster. */
  readonly partitions: readonly string[];
  /** Model instances with online requests; may be 0. */
  readonly tenants: number;
  /** Accelerators of one model instance: 1, 2 or 4. Default 2. */
  readonly instanceAccelerators?: number;
}

/** Names of all policies, in the order in which they are shown. */
export const policyNames: readonly string[] = Object.keys(policyMakers);

/** The policy of that name for these terms. Errors: UNKNOWN_POLICY (with the nearest name), INVALID_OPTION. */
export function replayPolicy(name: string, terms: PolicyTerms): ReplayPolicy {
  return makerOf(name)(terms);
}

/** Throws UNKNOWN_POLICY (with the nearest name) when no policy has that name; needs no cluster. */
export function assertPolicyKnown(name: string): void {
  makerOf(name);
}

function makerOf(name: string): (terms: PolicyTerms) => ReplayPolicy {
  const make = Object.hasOwn(policyMakers, name) ? policyMakers[name] : undefined;
  if (make === undefined) throw new UnknownPolicyError(name, policyNames, nearest(name, policyNames));
  return make;
}

/** The known name with the fewest edits, if they are few enough to be a slip; one that begins so is nearly right however much it lacks. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const typed = name.toLowerCase().slice(0, 64);
  let best: string | undefined;
  let bestCost = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const edits = editDistance(typed, candidate.toLowerCase());
    const begins = typed !== "" && candidate.toLowerCase().startsWith(typed);
    const cost = begins ? Math.min(edits, 1 + edits / 1000) : edits;
    if (cost >= bestCost) continue;
    best = candidate;
    bestCost = cost;
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swap));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
