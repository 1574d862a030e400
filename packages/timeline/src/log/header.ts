import type { EstimatorBankState } from "@slicescheduler/estimators";
import type { ExecutorManifest } from "@slicescheduler/executor";
import type { ClusterSpec } from "@slicescheduler/gmg";
import type { MasterEvent, SliceSchedulerOptions } from "slicescheduler";

export const LOG_FORMAT = "slicescheduler.events";
export const LOG_VERSION = 1;

type Scheduling = NonNullable<SliceSchedulerOptions["scheduling"]>;

/** The options of a scheduler that change what it answers, as plain data. */
export interface EventLogHeader {
  readonly format: typeof LOG_FORMAT;
  readonly version: typeof LOG_VERSION;
  /** Free text. */
  readonly label: string;
  readonly cluster: ClusterSpec;
  readonly priorities: readonly string[];
  readonly memorySafety: NonNullable<SliceSchedulerOptions["memorySafety"]>;
  /** Policy and estimators are told apart, since they are no plain data. */
  readonly scheduling: Omit<Scheduling, "policy" | "estimators">;
  /** Name of the policy, null for the default: a replay has to be given one of that name. */
  readonly policy: string | null;
  /** What was known of durations at the start; null for nothing. */
  readonly estimators: EstimatorBankState | null;
  readonly arbitration: NonNullable<SliceSchedulerOptions["arbitration"]>;
  readonly health: NonNullable<SliceSchedulerOptions["health"]>;
  /** Of the executor; null where it was not told. */
  readonly manifest: ExecutorManifest | null;
}

/** An event that the master handled, and when. */
export interface EventLogEntry {
  readonly nowNs: number;
  readonly event: MasterEvent;
}

/** What the master had decided, so that a replay can be held to it. */
export interface DecisionCheck {
  readonly round: number;
  readonly instance: number;
  readonly partition: string;
}

export interface EventLog {
  readonly header: EventLogHeader;
  /** In order; times never step back. */
  readonly entries: readonly EventLogEntry[];
  /** In order, each with the number of entries before it, by which it was made. */
  readonly checks: readonly (DecisionCheck & { readonly entriesBefore: number })[];
  /** The last line was cut off, and left out. */
  readonly isCutOff: boolean;
}
