import { type Cluster, type CompiledAccelerator, compileCluster } from "@slicescheduler/gmg";
import { ExecutorCore, type StartedTransfer } from "./core.ts";
import {
  Bindings,
  linkTransferNs,
  noisyNs,
  rooflineOperatorNs,
  type VirtualOperator,
  type VirtualTransfer,
  virtualOperator,
} from "./durations.ts";
import { ExecutorError } from "./errors.ts";
import { Noise } from "./noise.ts";
import { EVENT_KIND, SimulatedTime, type SimulatedTimer } from "./simulated-time.ts";
import type { ExecutorStats, Leftovers } from "./stats.ts";
import type { Executor, ExecutorContext, ExecutorInstruction, ExecutorManifest, IssueInstruction } from "./types.ts";

export interface VirtualExecutorOptions {
  /** Whole number from 0 to 2^53 − 1: same seed, same noise. */
  readonly seed: number;
  /** The clock it runs on. Default: one of its own that advances by itself while work is pending. */
  readonly time?: SimulatedTime;
  /** True duration of an operator without noise, in nanoseconds. Default: the roofline of its declared FLOPs and bytes. */
  readonly operatorNs?: (work: VirtualOperator) => number;
  /** True duration of a transfer without noise, in nanoseconds. Default: latency and rate of the cluster's links. */
  readonly transferNs?: (work: VirtualTransfer) => number;
  /** Coefficient of variation of operators' noise, from 0 to 10. Default 0. */
  readonly operatorCv?: number;
  /** Coefficient of variation of transfers' noise, from 0 to 10. Default 0. */
  readonly transferCv?: number;
}

export interface VirtualExecutor extends Executor {
  readonly time: SimulatedTime;
  /** Counts since `open`. Throws NOT_OPEN. */
  stats(): ExecutorStats;
  /** What is there besides weights, for the check at the end of a run. Throws NOT_OPEN. */
  leftovers(): Leftovers;
  /** Recounts queues and memory from scratch. Throws NOT_OPEN, INVARIANT_BROKEN. */
  validate(): void;
}

/**
 * An executor without devices: operators and transfers take simulated time and hold simulated memory, by the rules of
 * docs/execution-model.md. What they take is its own truth; it never sees an estimate. Throws INVALID_OPTION.
 */
export function virtualExecutor(options: VirtualExecutorOptions): VirtualExecutor {
  return new VirtualBackend(options);
}

interface Opened {
  readonly context: ExecutorContext;
  readonly cluster: Cluster;
  readonly core: ExecutorCore;
}

class VirtualBackend implements VirtualExecutor {
  readonly manifest: ExecutorManifest = { name: "virtual", simulatedTime: true };
  readonly time: SimulatedTime;
  readonly clock: SimulatedTime;
  readonly #options: VirtualExecutorOptions;
  readonly #noise: Noise;
  readonly #bindings = new Bindings();
  /** Ends of operators and transfers that were started. */
  readonly #timers = new Set<SimulatedTimer>();
  #opened: Opened | null = null;
  #isClosed: boolean = false;
  #isDraining: boolean = false;

  constructor(options: VirtualExecutorOptions) {
    this.#options = options;
    this.#noise = new Noise(options.seed, options.operatorCv ?? 0, options.transferCv ?? 0);
    this.time = options.time ?? new SimulatedTime({ autoAdvance: true });
    this.clock = this.time;
  }

  open(context: ExecutorContext): void {
    if (this.#isClosed) throw new ExecutorError("CLOSED", "the virtual executor is closed; make a new one");
    if (this.#opened !== null) throw new ExecutorError("ALREADY_OPEN", "the virtual executor serves a master already");
    const cluster = compileCluster(context.cluster);
    this.#opened = { context, cluster, core: new ExecutorCore(cluster) };
  }

  execute(instructions: readonly ExecutorInstruction[]): void {
    if (this.#isClosed) throw new ExecutorError("CLOSED", "the virtual executor is closed and takes no instructions");
    const opened = this.#needOpen();
    this.#cause(opened, () => opened.core.execute(instructions, this.time.nowNs()));
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) this.time.cancel(timer);
    this.#timers.clear();
  }

  stats(): ExecutorStats {
    return this.#needOpen().core.stats(this.time.nowNs());
  }

  leftovers(): Leftovers {
    return this.#needOpen().core.leftovers();
  }

  validate(): void {
    this.#needOpen().core.validate();
  }

  /**
   * Something happens, and then all it brings about at this instant. A master's answers arrive while an event is being
   * delivered: they are applied and left to the loop that delivers. What throws on the way does not stop the rest; it comes
   * out at the end.
   */
  #cause(opened: Opened, happen: () => void): void {
    if (this.#isDraining) {
      happen();
      return;
    }
    this.#isDraining = true;
    const errors: unknown[] = [];
    collect(happen, errors);
    try {
      while (!this.#isClosed) {
        const action = opened.core.next(this.time.nowNs());
        if (action === undefined) break;
        if (action.type === "deliver") collect(() => opened.context.deliver(action.event), errors);
        else if (action.type === "startOperator")
          collect(() => this.#startOperator(opened, action.instruction, action.attempt), errors);
        else collect(() => this.#startTransfer(opened, action.transfer), errors);
      }
    } finally {
      this.#isDraining = false;
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, `${errors.length} errors at ${this.time.nowNs()} ns`);
  }

  #startOperator(opened: Opened, instruction: IssueInstruction, attempt: number): void {
    const { core, cluster } = opened;
    const { issueNumber, instance, operator } = instruction;
    const template = core.template(instruction.template);
    const accelerator = acceleratorAt(cluster, instruction.accelerator);
    const work = virtualOperator(instruction, template, accelerator, this.#bindings);
    try {
      const trueNs = (this.#options.operatorNs ?? rooflineOperatorNs)(work);
      const factor = this.#noise.operatorFactor({ instance, operator, attempt });
      const durationNs = noisyNs(trueNs, factor, () => `operator ${work.template}/${work.operatorName}`);
      this.#after(durationNs, EVENT_KIND.operator, issueNumber, opened, () =>
        core.operatorEnded(issueNumber, this.time.nowNs()),
      );
    } catch (error) {
      // Without a duration it can never end; the accelerator goes on without it.
      core.operatorFailed(issueNumber, this.time.nowNs(), messageOf(error));
      throw error;
    }
  }

  #startTransfer(opened: Opened, started: StartedTransfer): void {
    const { core, cluster } = opened;
    const { transfer, tensor, bytes } = started;
    const source = acceleratorAt(cluster, started.source);
    const destination = acceleratorAt(cluster, started.destination);
    const work: VirtualTransfer = { transfer, tensor, source, destination, bytes };
    try {
      const trueNs = this.#options.transferNs?.(work) ?? linkTransferNs(cluster, work);
      const durationNs = noisyNs(trueNs, this.#noise.transferFactor(transfer), () => `transfer ${transfer}`);
      this.#after(durationNs, EVENT_KIND.transfer, transfer, opened, () =>
        core.transferEnded(transfer, this.time.nowNs()),
      );
    } catch (error) {
      core.transferFailed(transfer, this.time.nowNs(), messageOf(error));
      throw error;
    }
  }

  #after(durationNs: number, kind: number, number: number, opened: Opened, end: () => void): void {
    const timer = this.time.at(this.time.nowNs() + durationNs, { kind, number }, () => {
      this.#timers.delete(timer);
      if (this.#isDraining) {
        // Whoever drives the clock from within a delivery is told so; the end itself must not be lost.
        this.#after(0, kind, number, opened, end);
        throw new ExecutorError("REENTRANT", "time was advanced from within an event; return from it first");
      }
      this.#cause(opened, end);
    });
    this.#timers.add(timer);
  }

  #needOpen(): Opened {
    if (this.#opened === null) throw new ExecutorError("NOT_OPEN", "the virtual executor is not open; call open first");
    return this.#opened;
  }
}

function collect(action: () => void, errors: unknown[]): void {
  try {
    action();
  } catch (error) {
    errors.push(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function acceleratorAt(cluster: Cluster, index: number): CompiledAccelerator {
  const accelerator = cluster.accelerators[index];
  if (accelerator === undefined)
    throw new ExecutorError(
      "UNKNOWN_ACCELERATOR",
      `there is no accelerator ${index} among ${cluster.accelerators.length}`,
    );
  return accelerator;
}
