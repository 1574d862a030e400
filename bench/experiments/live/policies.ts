/** Who may run where, and how many at a time; beyond that the same engine, queues and model for all. */
import type { SliceSchedulerOptions } from "slicescheduler";
import type { LiveRequest } from "./workload.ts";

export interface LivePolicy {
  readonly name: "static-online" | "slicescheduler";
  readonly takesOffline: boolean;
  /** Requests of one lane run one after another, in order of arrival; null: as soon as they arrive. */
  readonly lane: (request: LiveRequest) => number | null;
  /** Where a request may be laid; undefined: anywhere. */
  readonly partitions: (request: LiveRequest) => readonly string[] | undefined;
  readonly scheduling: NonNullable<SliceSchedulerOptions["scheduling"]>;
}

/** @param pairs Names of the partitions of two accelerators, one for each online instance. */
export function staticOnline(pairs: readonly string[]): LivePolicy {
  return {
    name: "static-online",
    takesOffline: false,
    lane: ({ tenant }) => tenant,
    partitions: ({ tenant }) => [pairs[tenant] as string],
    scheduling: { slices: false },
  };
}

export function sliceScheduler(): LivePolicy {
  return {
    name: "slicescheduler",
    takesOffline: true,
    lane: () => null,
    partitions: () => undefined,
    scheduling: {},
  };
}
