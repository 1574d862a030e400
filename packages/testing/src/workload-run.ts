import {
  type Executor,
  type ExecutorInstruction,
  type FaultCounts,
  linkTransferNs,
  rooflineOperatorNs,
  SimulatedTime,
  type VirtualExecutor,
  type VirtualExecutorOptions,
  virtualExecutor,
} from "@slicescheduler/executor";
import { compileCluster } from "@slicescheduler/gmg";
import { type MasterEvent, type Notices, SliceScheduler } from "slicescheduler";
import { Application } from "./application.ts";
import { leftOver, overCapacity } from "./at-rest.ts";
import { delayedExecutor } from "./delayed-executor.ts";
import { DeviceBooks } from "./device-books.ts";
import { operatorNs } from "./durations.ts";
import { faultyMessages } from "./faulty-messages.ts";
import { plantedCluster, plantedExecutor } from "./plants.ts";
import { relayedExecutor } from "./relayed-executor.ts";
import { type Outcome, RunWatcher } from "./run-watcher.ts";
import type { LogEntry, RecordedEvent, RunOptions } from "./run-workload.ts";
import { surprisedNs } from "./surprises.ts";
import type { Violation } from "./violation.ts";

/** One workload on one scheduler on one virtual executor, an event of the clock at a time, with everything that watches it. */
export class WorkloadRun {
  readonly scheduler: SliceScheduler;
  readonly executor: VirtualExecutor;
  readonly watcher: RunWatcher;
  readonly books: DeviceBooks;
  readonly application: Application;
  readonly time = new SimulatedTime();
  readonly recorded: (RecordedEvent & { instructions: readonly ExecutorInstruction[] })[] = [];
  readonly log: readonly LogEntry[];
  /** What was thrown where no caller could get it: by listeners and by the recounts. */
  readonly errors: unknown[] = [];
  /** How often each kind of fault of messages struck. */
  readonly messageFaults: () => FaultCounts;
  readonly #options: RunOptions;

  constructor(options: RunOptions) {
    const { templates, workload, delays, messages, outages = [], plant = null, validate = true } = options;
    // A line that delays instructions would have to drop those that were meant for the accelerator before it was lost.
    if (delays !== undefined && outages.length > 0) throw new RangeError("delays and outages were given together");
    if (delays !== undefined && messages !== undefined) throw new RangeError("delays and messages were given together");
    const cluster = plantedCluster(options.cluster, plant);
    this.#options = options;
    this.executor = virtualExecutor({ seed: options.seed, time: this.time, outages, ...truthOf(options) });
    this.books = new DeviceBooks(options.cluster, templates);
    const device = this.books.overhear(plantedExecutor(options.between?.(this.executor) ?? this.executor, plant));
    const far = delays === undefined ? device : delayedExecutor(device, this.time, delays);
    const line = messages === undefined ? null : faultyMessages(far, this.time, messages, options.seed);
    this.messageFaults = line?.counts ?? (() => ({}));
    this.scheduler = new SliceScheduler({
      cluster,
      executor: this.#listening(line?.executor ?? far),
      health: options.health ?? false,
      priorities: ["online", "offline"],
      ...(options.memorySafety === undefined ? {} : { memorySafety: options.memorySafety }),
      ...(options.scheduling === undefined ? {} : { scheduling: options.scheduling }),
      ...(options.arbitration === undefined ? {} : { arbitration: options.arbitration }),
      onEvent: (event: MasterEvent, nowNs: number) => {
        this.recorded.push({ event, nowNs, instructions: [] });
        if (validate) this.#validate();
      },
      onListenerError: (error) => this.errors.push(error),
    });
    this.log = keepLog(this.scheduler);
    this.watcher = new RunWatcher(this.scheduler, cluster, { messagesTravel: (delays ?? messages) !== undefined });
    const handles = new Map(templates.map((spec) => [spec.name, this.scheduler.register(spec)]));
    for (const spec of templates) this.watcher.registered(spec);
    this.application = new Application(this.scheduler, handles, workload, {
      onSubmitted: (submitted, id) => this.watcher.submitted(id, submitted),
      givesBackAfterNs: options.givesBackAfterNs ?? 0,
      givesBack: plant !== "standstills",
    });
    this.application.schedule(this.time);
  }

  /** Everything that the next event of the clock causes. Returns false when none was left. */
  step(): boolean {
    return this.time.step();
  }

  /** What does not hold at this moment, between two events, and what the watcher has seen. */
  found(): Violation[] {
    return [...this.watcher.found, ...this.books.violations, ...this.books.overCapacity(), ...this.#accountsDiffer()];
  }

  /** All that is wrong once no event is left; call it once. */
  foundAtEnd(): Violation[] {
    this.watcher.end();
    const { executor, scheduler } = this;
    const { cluster, plant = null, memorySafety } = this.#options;
    const found = [...this.found(), ...leftOver(scheduler, executor), ...this.#leaked(), ...this.#standstills()];
    // Predictions may be wrong: then an allocation is refused, and the work behind it tried again or failed.
    if (memorySafety !== "predicted") found.push(...overCapacity(executor, plantedCluster(cluster, plant)));
    const { earlyEvents } = scheduler.stats();
    if (this.#options.messages === undefined && earlyEvents > 0)
      found.push({ kind: "broken", words: `${earlyEvents} reports waited, although all came in order`, amount: 1 });
    if (found.length === 0) this.#validate();
    return found;
  }

  outcome(index: number): Outcome | null {
    const handle = this.application.handles.get(index);
    return handle === undefined ? null : this.watcher.outcome(handle.id);
  }

  /** What each instance without an outcome waits for, in words. */
  describe(): string {
    let words = "";
    for (const [index, { id }] of this.application.handles) {
      if (this.watcher.outcome(id) !== null) continue;
      words += `\n  instance ${id} (${index} of the workload): ${JSON.stringify(this.scheduler.explain(id)?.operators)}`;
    }
    return words;
  }

  #validate(): void {
    try {
      this.scheduler.validate();
      this.executor.validate();
    } catch (error) {
      this.errors.push(error);
    }
  }

  /** Where the executor's own account is not what the books say. */
  #accountsDiffer(): Violation[] {
    const found: Violation[] = [];
    for (const [index, { name, usedHbmBytes }] of this.executor.stats().accelerators.entries()) {
      const bytes = this.books.usedBytes(index);
      if (bytes === usedHbmBytes) continue;
      const words = `accelerator ${name} has ${bytes} bytes in use by the books, ${usedHbmBytes} by its own account`;
      found.push({ kind: "broken", words, amount: 1 });
    }
    return found;
  }

  /**
   * What the scheduler had to resolve by failing somebody; where memory is guaranteed, nothing. One that only waits for the
   * application to go on is none.
   */
  #standstills(): Violation[] {
    if (this.#options.memorySafety === "predicted") return [];
    return this.log.flatMap((entry) =>
      entry.name === "standstill" && entry.value.failed !== null
        ? [{ kind: "standstills", words: `at ${entry.value.atNs} ns: ${entry.value.reason}`, amount: 1 }]
        : [],
    );
  }

  /** Bytes above baseline and weights, by the books or by the executor's own account. */
  #leaked(): Violation[] {
    const found: Violation[] = [];
    for (const [index, { name, usedHbmBytes }] of this.executor.stats().accelerators.entries()) {
      const amount = Math.max(usedHbmBytes, this.books.usedBytes(index)) - this.books.restingBytes(index);
      const words = `accelerator ${name} has ${amount} bytes in use at rest besides baseline and weights`;
      if (amount !== 0) found.push({ kind: "leakedBytes", words, amount });
    }
    return found;
  }

  /** The same executor, overheard. */
  #listening(executor: Executor): Executor {
    return relayedExecutor(executor, {
      execute: (instructions, pass) => {
        const last = this.recorded.at(-1);
        if (last !== undefined) last.instructions = instructions;
        pass(instructions);
      },
    });
  }
}

function truthOf({
  cluster,
  durations,
  surprises,
  faults,
  operatorCv = 0,
  transferCv = 0,
}: RunOptions): Omit<VirtualExecutorOptions, "seed" | "time"> {
  const compiled = compileCluster(cluster);
  const surprised = (expectedNs: number, who: number, what: number) =>
    surprises === undefined ? expectedNs : surprisedNs(surprises, expectedNs, who, what);
  return {
    operatorCv,
    transferCv,
    ...(faults === undefined ? {} : { faults }),
    operatorNs: (work) => {
      const expectedNs = durations === undefined ? rooflineOperatorNs(work) : operatorNs(durations, work);
      return surprised(expectedNs, work.instance, work.operator);
    },
    transferNs: (work) => surprised(linkTransferNs(compiled, work), work.transfer, -1),
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
  "acceleratorLost",
  "acceleratorReturned",
  "standstill",
];

function keepLog(scheduler: SliceScheduler): LogEntry[] {
  const log: LogEntry[] = [];
  for (const name of NOTICES) scheduler.on(name, (value: unknown) => log.push({ name, value } as LogEntry));
  return log;
}
