import type {
  Executor,
  ExecutorInstruction,
  ExecutorStats,
  MessageFaults,
  Outage,
  VirtualExecutor,
  VirtualFaults,
} from "@slicescheduler/executor";
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/gmg";
import type { MasterEvent, MasterStats, Notices, SliceScheduler, SliceSchedulerOptions } from "slicescheduler";
import type { Refusal } from "./application.ts";
import type { Delays } from "./delayed-executor.ts";
import type { Durations } from "./durations.ts";
import { InvariantViolation } from "./invariant-violation.ts";
import type { Plant } from "./plants.ts";
import type { Outcome } from "./run-watcher.ts";
import type { Surprises } from "./surprises.ts";
import { WorkloadRun } from "./workload-run.ts";
import type { Workload } from "./workloads.ts";

export interface RunOptions {
  readonly cluster: ClusterSpec;
  readonly templates: readonly TemplateSpec[];
  readonly workload: Workload;
  /** Of the executor's noise. */
  readonly seed: number;
  /** True durations of operators. Default: the roofline of what their templates declare. */
  readonly durations?: Durations;
  /** Coefficients of variation of the noise on them. Default 0. */
  readonly operatorCv?: number;
  readonly transferCv?: number;
  /** What becomes of them, and of those of transfers, against all expectation. Default: nothing. */
  readonly surprises?: Surprises;
  /** How long messages between scheduler and executor are on their way. Default: no time at all. */
  readonly delays?: Delays;
  /** How long the application takes to release a result and to close a request. Default 0. */
  readonly givesBackAfterNs?: number;
  /** Of the devices; those of messages are given apart, so that what the devices do stays known. Default: none. */
  readonly faults?: Omit<VirtualFaults, "messages">;
  /** What becomes of what the executor reports; not together with `delays`. Default: it arrives at once. */
  readonly messages?: MessageFaults;
  /** When accelerators are lost and return; not together with `delays`. Default: never. */
  readonly outages?: readonly Outage[];
  /** What stands between the devices and everything else; for faults of the run itself. Default: nothing. */
  readonly between?: (executor: Executor) => Executor;
  /** A fault of the run itself, which it must find. Default: none. */
  readonly plant?: Plant | null;
  readonly memorySafety?: SliceSchedulerOptions["memorySafety"];
  readonly scheduling?: SliceSchedulerOptions["scheduling"];
  readonly arbitration?: SliceSchedulerOptions["arbitration"];
  /** Default: nobody is suspected of anything, and nothing is tried again. */
  readonly health?: SliceSchedulerOptions["health"];
  /** Recount the graph and the executor after every event. Default true. */
  readonly validate?: boolean;
  /** Called whenever everything that an instant's event causes has happened, before time goes on. */
  readonly onQuiet?: (world: QuietWorld) => void;
}

export interface QuietWorld {
  readonly scheduler: SliceScheduler;
  readonly executor: VirtualExecutor;
  readonly recorded: readonly RecordedEvent[];
}

/** An event that the master's core handled, and what it answered. */
export interface RecordedEvent {
  readonly event: MasterEvent;
  readonly nowNs: number;
  readonly instructions: readonly ExecutorInstruction[];
}

export type LogEntry = {
  readonly [Name in keyof Notices]: { readonly name: Name; readonly value: Notices[Name] };
}[keyof Notices];

export interface RunReport {
  /** Everything that the scheduler emitted, in order. */
  readonly log: readonly LogEntry[];
  /** Feeds a `MasterCore` that must answer the same. */
  readonly recorded: readonly RecordedEvent[];
  /** Per instance of the workload; null where it was refused. */
  readonly outcomes: readonly (Outcome | null)[];
  readonly refusals: readonly Refusal[];
  readonly stats: MasterStats;
  readonly executorStats: ExecutorStats;
  readonly endNs: number;
}

/**
 * Runs a workload to its end in simulated time, on a virtual executor, and checks it on the way: everything that
 * `RunWatcher` watches, both sides recounted after every event, HBM within capacity by the executor's account and by
 * `DeviceBooks`, every accepted instance with its outcome and nothing left at the end. The same options give the same report.
 * Throws an `InvariantViolation`, a `RangeError` for options that contradict each other, or what the scheduler or the executor threw.
 */
export async function runWorkload(options: RunOptions): Promise<RunReport> {
  const run = new WorkloadRun(options);
  const { scheduler, executor, recorded, log, errors, application, time } = run;
  while (run.step()) {
    options.onQuiet?.({ scheduler, executor, recorded });
    if (errors.length > 0) throw errors[0];
    const found = run.found();
    if (found.length > 0) throw new InvariantViolation(found, run.describe());
  }
  // What the last call caused is told once its caller had a turn.
  await Promise.resolve();
  if (errors.length > 0) throw errors[0];
  const found = run.foundAtEnd();
  if (errors.length > 0) throw errors[0];
  if (found.length > 0) throw new InvariantViolation(found, run.describe());
  return {
    log,
    recorded,
    outcomes: options.workload.instances.map((_, index) => run.outcome(index)),
    refusals: application.refusals,
    stats: scheduler.stats(),
    executorStats: executor.stats(),
    endNs: time.nowNs(),
  };
}
