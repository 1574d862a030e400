import {
  type Executor,
  type ExecutorInstruction,
  type ExecutorStats,
  linkTransferNs,
  rooflineOperatorNs,
  SimulatedTime,
  type VirtualExecutor,
  type VirtualExecutorOptions,
  virtualExecutor,
} from "@slicescheduler/executor";
import { type ClusterSpec, compileCluster, type TemplateSpec } from "@slicescheduler/gmg";
import {
  type MasterEvent,
  type MasterStats,
  type Notices,
  SliceScheduler,
  type SliceSchedulerOptions,
} from "slicescheduler";
import { Application, type Refusal } from "./application.ts";
import { assertAtRest, assertWithinCapacity } from "./at-rest.ts";
import { type Durations, operatorNs } from "./durations.ts";
import { type Faults, failOperatorIfChosen, failTransferIfChosen, noFaults, tolerateInjected } from "./faults.ts";
import { InvariantViolation } from "./invariant-violation.ts";
import { type Outcome, RunWatcher } from "./run-watcher.ts";
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
  /** Default: none. */
  readonly faults?: Faults;
  readonly scheduling?: SliceSchedulerOptions["scheduling"];
  readonly arbitration?: SliceSchedulerOptions["arbitration"];
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
 * `RunWatcher` watches, both sides recounted after every event, HBM within capacity, every accepted instance with its outcome
 * and nothing left at the end. The same options give the same report. Throws an `InvariantViolation`, or what the scheduler
 * or the executor threw.
 */
export async function runWorkload(options: RunOptions): Promise<RunReport> {
  const { cluster, templates, workload, validate = true, onQuiet } = options;
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: options.seed, time, ...truthOf(options) });
  const recorded: { event: MasterEvent; nowNs: number; instructions: readonly ExecutorInstruction[] }[] = [];
  const errors: unknown[] = [];
  const scheduler = new SliceScheduler({
    cluster,
    executor: listening(executor, (instructions) => {
      const last = recorded.at(-1);
      if (last !== undefined) last.instructions = instructions;
    }),
    priorities: ["online", "offline"],
    ...(options.scheduling === undefined ? {} : { scheduling: options.scheduling }),
    ...(options.arbitration === undefined ? {} : { arbitration: options.arbitration }),
    onEvent: (event, nowNs) => {
      recorded.push({ event, nowNs, instructions: [] });
      if (validate) collect(() => validateBoth(scheduler, executor), errors);
    },
    onListenerError: (error) => errors.push(error),
  });
  const log = keepLog(scheduler);
  const watcher = new RunWatcher(scheduler, cluster);
  const handles = new Map(templates.map((spec) => [spec.name, scheduler.register(spec)]));
  for (const spec of templates) watcher.registered(spec);
  const application = new Application(scheduler, handles, workload, (submitted, id) =>
    watcher.submitted(id, submitted),
  );
  application.schedule(time);
  const context = () => describeRun(scheduler, application, watcher);
  while (tolerateInjected(() => time.step(), true)) {
    onQuiet?.({ scheduler, executor, recorded });
    if (errors.length > 0) throw errors[0];
    if (watcher.violations.length > 0) throw new InvariantViolation(watcher.violations, context());
  }
  // What the last call caused is told once its caller had a turn.
  await Promise.resolve();
  if (errors.length > 0) throw errors[0];
  checkEnd(() => {
    watcher.finish();
    assertAtRest(scheduler, executor);
    assertWithinCapacity(executor, cluster);
  }, context);
  return {
    log,
    recorded,
    outcomes: workload.instances.map((_, index) => outcomeOf(application, watcher, index)),
    refusals: application.refusals,
    stats: scheduler.stats(),
    executorStats: executor.stats(),
    endNs: time.nowNs(),
  };
}

function truthOf({
  cluster,
  durations,
  faults = noFaults,
  operatorCv = 0,
  transferCv = 0,
}: RunOptions): Omit<VirtualExecutorOptions, "seed" | "time"> {
  const compiled = compileCluster(cluster);
  return {
    operatorCv,
    transferCv,
    operatorNs: (work) => {
      failOperatorIfChosen(faults, work);
      return durations === undefined ? rooflineOperatorNs(work) : operatorNs(durations, work);
    },
    transferNs: (work) => {
      failTransferIfChosen(faults, work);
      return linkTransferNs(compiled, work);
    },
  };
}

/** The same executor, overheard; injected faults do not come out of it. */
function listening(
  executor: VirtualExecutor,
  onExecute: (instructions: readonly ExecutorInstruction[]) => void,
): Executor {
  return {
    manifest: executor.manifest,
    clock: executor.clock,
    open: (context) => executor.open(context),
    execute: (instructions) => {
      onExecute(instructions);
      tolerateInjected(() => executor.execute(instructions), undefined);
    },
    stats: () => executor.stats(),
    close: () => executor.close(),
  };
}

const NOTICES: readonly (keyof Notices)[] = [
  "decision",
  "operatorIssued",
  "operatorStarted",
  "operatorDone",
  "operatorFailed",
  "transferDone",
  "instanceDone",
  "instanceFailed",
  "instanceCancelled",
];

function keepLog(scheduler: SliceScheduler): LogEntry[] {
  const log: LogEntry[] = [];
  for (const name of NOTICES) scheduler.on(name, (value: unknown) => log.push({ name, value } as LogEntry));
  return log;
}

function validateBoth(scheduler: SliceScheduler, executor: VirtualExecutor): void {
  scheduler.validate();
  executor.validate();
}

function outcomeOf(application: Application, watcher: RunWatcher, index: number): Outcome | null {
  const handle = application.handles.get(index);
  return handle === undefined ? null : watcher.outcome(handle.id);
}

/** What each instance without an outcome waits for, appended to whatever the check found. */
function checkEnd(check: () => void, describe: () => string): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof InvariantViolation)) throw error;
    throw new InvariantViolation(error.violations, describe(), { cause: error });
  }
}

function describeRun(scheduler: SliceScheduler, application: Application, watcher: RunWatcher): string {
  let words = "";
  for (const [index, { id }] of application.handles) {
    if (watcher.outcome(id) !== null) continue;
    words += `\n  instance ${id} (${index} of the workload): ${JSON.stringify(scheduler.explain(id)?.operators)}`;
  }
  return words;
}

function collect(act: () => void, errors: unknown[]): void {
  try {
    act();
  } catch (error) {
    errors.push(error);
  }
}
