/**
 * What a run left behind, as columns: one array per field, one entry per row. Times are whole nanoseconds of the executor's clock, kept in
 * `Float64Array`, NaN where a thing has not happened; indices are −1 where a thing is not known. Treat a record as read only.
 */
import type { Decision } from "@slicescheduler/scheduler";

export interface RunRecord {
  /** Free text: the policy, the seed. */
  readonly label: string;
  /** The span that was recorded. Operators and transfers still under way at the end have no `endNs`. */
  readonly startNs: number;
  readonly endNs: number;
  /** Priority classes, the most urgent first; a rank is an index here. */
  readonly priorities: readonly string[];
  /** Names of tenants as they came up; the empty name is nobody's. */
  readonly tenants: readonly string[];
  /** In the cluster's order. */
  readonly accelerators: readonly RecordedAccelerator[];
  /** Operators as `template/operator`, as they came up. */
  readonly operatorNames: readonly string[];
  /** In the order in which they started, those of one instant in the order in which the master was told. */
  readonly operators: OperatorColumns;
  /** In the order in which they ended. */
  readonly transfers: TransferColumns;
  /** Per accelerator, HBM in use by the master's account. */
  readonly hbm: readonly HbmSteps[];
  /** In the order in which they became known. */
  readonly requests: RequestColumns;
  readonly decisions: RecordedDecisions;
  /** Losses, failures, standstills and the like, in order. */
  readonly notices: readonly RecordedNotice[];
  /** What did not fit into the recorder's limits: its oldest rows. */
  readonly dropped: DroppedRows;
}

export interface RecordedAccelerator {
  readonly name: string;
  readonly kind: string;
  /** HBM less the margin: what may be in use at most. */
  readonly capacityBytes: number;
  /** In use by others, as declared. */
  readonly baselineBytes: number;
}

/** How the run of an operator ended; an index into this list. */
export const OPERATOR_OUTCOMES = ["running", "done", "failed", "lost"] as const;
export type OperatorOutcome = (typeof OPERATOR_OUTCOMES)[number];

export interface OperatorColumns {
  readonly count: number;
  readonly issueNumber: Float64Array;
  /** Index of the accelerator. */
  readonly accelerator: Uint16Array;
  /** NaN where the issue was not recorded. */
  readonly issuedNs: Float64Array;
  readonly startNs: Float64Array;
  readonly endNs: Float64Array;
  /** Index into `operatorNames`. */
  readonly name: Uint32Array;
  /** Priority class of its instance at submission; what it inherits from more urgent ones is not recorded. */
  readonly rank: Int16Array;
  /** Index into `tenants`. */
  readonly tenant: Int32Array;
  /** Number of the request, as the master gave it; its row is that with the same `id` in `requests`, unless that was dropped. */
  readonly request: Float64Array;
  readonly instance: Float64Array;
  /** Round of the decision that placed it, or −1. */
  readonly round: Float64Array;
  /** Index into `OPERATOR_OUTCOMES`. */
  readonly outcome: Uint8Array;
}

/** How a transfer ended; an index into this list. */
export const TRANSFER_OUTCOMES = ["done", "quarantined"] as const;
export type TransferOutcome = (typeof TRANSFER_OUTCOMES)[number];

export interface TransferColumns {
  readonly count: number;
  readonly transfer: Float64Array;
  readonly source: Uint16Array;
  readonly destination: Uint16Array;
  readonly bytes: Float64Array;
  /** When its data began to move; for one that was quarantined, NaN. */
  readonly startNs: Float64Array;
  readonly endNs: Float64Array;
  /** Number of the tensor. */
  readonly tensor: Float64Array;
  /** Index into `TRANSFER_OUTCOMES`. */
  readonly outcome: Uint8Array;
}

/** From `atNs[i]` on `usedBytes[i]` are in use, until the next step. */
export interface HbmSteps {
  readonly count: number;
  readonly atNs: Float64Array;
  readonly usedBytes: Float64Array;
  /** The most that was in use, also within one instant. */
  readonly peakBytes: number;
}

/** What became of a request; an index into this list. */
export const REQUEST_OUTCOMES = ["open", "done", "failed", "cancelled"] as const;
export type RequestOutcomeName = (typeof REQUEST_OUTCOMES)[number];

export interface RequestColumns {
  readonly count: number;
  /** Number as the master gave it. */
  readonly id: Float64Array;
  readonly labels: readonly string[];
  readonly rank: Int16Array;
  /** Index into `tenants`. */
  readonly tenant: Int32Array;
  /** When its first instance was submitted; NaN where that was not recorded. */
  readonly submittedNs: Float64Array;
  /** When its first operator started. */
  readonly startedNs: Float64Array;
  /** End of the first instance of it that was done: the first token, where the first pass makes it. */
  readonly firstDoneNs: Float64Array;
  /** As the application reported it by `token`; NaN where it did not. */
  readonly firstTokenNs: Float64Array;
  readonly lastTokenNs: Float64Array;
  /** Reported tokens. */
  readonly tokens: Float64Array;
  /** End of its latest instance. */
  readonly endNs: Float64Array;
  /** Instances that were done. */
  readonly instancesDone: Uint32Array;
  /** Index into `REQUEST_OUTCOMES`; `"done"` once its latest instance was done and none is left. */
  readonly outcome: Uint8Array;
}

/**
 * Decisions, thinned where there were too many: of all, those whose position is a multiple of `stride`; of those that rejected a candidate, in
 * the same way by `rejectingStride`. A stride doubles whenever what it keeps reaches the recorder's limit, so what is kept is spread evenly over the run.
 */
export interface RecordedDecisions {
  readonly seen: number;
  readonly stride: number;
  /** Those with a candidate that was short of memory, or predicted to be. */
  readonly rejectingSeen: number;
  readonly rejectingStride: number;
  /** By rising round. */
  readonly kept: readonly Decision[];
}

export type RecordedNoticeKind =
  | "operatorFailed"
  | "operatorWithdrawn"
  | "transferQuarantined"
  | "transferReleased"
  | "instanceFailed"
  | "instanceCancelled"
  | "standstill"
  | "acceleratorLost"
  | "acceleratorReturned"
  | "acceleratorSuspect"
  | "acceleratorCleared"
  | "acceleratorDraining"
  | "acceleratorDrained";

export interface RecordedNotice {
  readonly kind: RecordedNoticeKind;
  readonly atNs: number;
  /** Index, or −1 where it concerns none in particular. */
  readonly accelerator: number;
  /** Number, or −1. */
  readonly instance: number;
  /** In words. */
  readonly text: string;
}

export interface DroppedRows {
  readonly operators: number;
  readonly transfers: number;
  readonly hbmSteps: number;
  readonly requests: number;
  readonly notices: number;
}
