/** What an exhaustive search runs: a cluster, what an application asks of it, and what may go wrong. Plain data. */
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/gmg";
import type { ApplicationEvent } from "slicescheduler";
import type { ModelPlant } from "./model-plants.ts";

/**
 * How messages travel between the master and the executor. `"immediate"`: each event is answered, and the answer carried out, before the
 * next one is delivered. `"inOrder"`: both directions are lines, on which messages stay as long as they like. `"perAccelerator"`: as
 * well, with a line of events from each accelerator, which overtake each other.
 */
export type Channel = "immediate" | "inOrder" | "perAccelerator";

/**
 * What may happen once in a run, at any moment, to any of those it can happen to: an instance is cancelled, a running operator or a moving
 * transfer fails, an accelerator is lost; with the channel `"immediate"` it may come back. With `"timePasses"` the ends of all transfers under way
 * are overdue at some moment, and are heard, if at all, after that.
 */
export type ModelFault = "cancel" | "operatorFails" | "transferFails" | "acceleratorLost" | "timePasses";

export interface SmallWorld {
  /** Tells it from others in a report. */
  readonly name: string;
  readonly cluster: ClusterSpec;
  readonly templates: readonly TemplateSpec[];
  /** What the application asks, in this order, each part at any time after the one before. */
  readonly script: readonly (readonly ApplicationEvent[])[];
  readonly channel: Channel;
  /** Null for none. */
  readonly fault: ModelFault | null;
  /** Operators per accelerator that are issued and not done, at most. */
  readonly issuedAheadMax: number;
  /** Operators laid by one decision, at most. */
  readonly batchOperatorsMax: number;
  /** A fault put in on purpose; null for none. */
  readonly plant: ModelPlant | null;
}
