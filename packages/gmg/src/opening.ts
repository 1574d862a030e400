import type { Binding } from "@slicescheduler/templates";
import { SubmissionError } from "./graph-errors.ts";
import type { RequestId, RequestNode } from "./nodes.ts";

export interface RequestOpening {
  /** Rising; a number ever used is refused. */
  readonly id: RequestId;
  readonly label: string;
  /** Priority class, 0 is the most urgent. */
  readonly rank: number;
  readonly deadlineNs: number;
  /** The largest instance per template that it may submit, or null to claim only what is submitted. */
  readonly limits: readonly { readonly template: string; readonly symbols: Readonly<Record<string, number>> }[] | null;
  readonly concurrentInstances: number;
  /** Sequences of instances that continue one another, or stand alone, at the same time; each holds what it retains. A whole number from 1. */
  readonly chains: number;
  /**
   * It may stand still for as long as it likes with results that it holds, so that what it may come to need is set aside. Otherwise
   * it goes on by itself once it has started, until it is closed and has released what it retained.
   */
  readonly mayPause: boolean;
  /** Names of partitions it may be laid on; null for all of its templates'. */
  readonly allowedPartitions: readonly string[] | null;
  /** It leaves the graph with its last instance, and takes further ones until then. */
  readonly endsWithInstances: boolean;
}

/** The frontier keeps a list per class. */
export const RANK_MAX = 65_535;

/** Throws INVALID_REQUEST with everything that is wrong at once. */
export function checkOpening({ id, rank, deadlineNs, concurrentInstances, chains, limits }: RequestOpening): void {
  const faults: string[] = [];
  faults.push(...urgencyFaults(rank, deadlineNs));
  if (!(Number.isSafeInteger(concurrentInstances) && concurrentInstances >= 1)) {
    faults.push(`concurrentInstances ${concurrentInstances} is not a whole number from 1`);
  }
  if (!(Number.isSafeInteger(chains) && chains >= 1)) faults.push(`chains ${chains} is not a whole number from 1`);
  if (limits?.length === 0) faults.push("limits name no template; leave them out to claim what is submitted");
  if (faults.length > 0)
    throw new SubmissionError("INVALID_REQUEST", `request ${id} refused: ${faults.join("; ")}`, { request: id });
}

/** In words, of a request or an instance. */
export function urgencyFaults(rank: number, deadlineNs: number): string[] {
  const faults: string[] = [];
  if (!(Number.isSafeInteger(rank) && rank >= 0 && rank <= RANK_MAX)) {
    faults.push(`rank ${rank} is not a whole number from 0 to ${RANK_MAX}`);
  }
  if (!(deadlineNs >= 0)) faults.push(`deadline ${deadlineNs} ns is not a number from 0`);
  return faults;
}

/** Unplaced, and with nothing in it. */
export function newRequest(
  opening: RequestOpening,
  limits: readonly Binding[] | null,
  accelerators: number,
  openedNs: number,
): RequestNode {
  return {
    id: opening.id,
    label: opening.label,
    rank: opening.rank,
    deadlineNs: opening.deadlineNs,
    openedNs,
    limits,
    concurrentInstances: opening.concurrentInstances,
    chains: opening.chains,
    allowedPartitions: opening.allowedPartitions,
    endsWithInstances: opening.endsWithInstances,
    partition: null,
    growing: limits !== null && !opening.mayPause,
    moment: "rest",
    accelerators: [],
    reservedBytes: new Float64Array(accelerators),
    usedBytes: new Float64Array(accelerators),
    workspaceBytes: new Float64Array(accelerators),
    begunInstances: 0,
    instances: new Set(),
    closed: false,
    relocating: false,
    preemptions: 0,
  };
}
