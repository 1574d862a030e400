import { type Cluster, type CompiledAccelerator, compileCluster } from "@slicescheduler/templates";
import type { ExecutorAction, StartedTransfer } from "./actions.ts";
import type { PresentWork } from "./adopt.ts";
import { ExecutorCore } from "./core.ts";
import type { LostWork } from "./core-options.ts";
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
import type { EventTime, SimulatedTimer } from "./event-time.ts";
import { checkFaults, DeviceFaults, type VirtualFaults } from "./faults.ts";
import { FaultyLine } from "./faults-messages.ts";
import type { FaultCounts } from "./faults-strike.ts";
import { Noise } from "./noise.ts";
import { changesOf, checkOutageTimes, indexOf, type Outage } from "./outages.ts";
import { EVENT_KIND, SimulatedTime } from "./simulated-time.ts";
import type { ExecutorStats, Leftovers } from "./stats.ts";
import type {
  Executor,
  ExecutorContext,
  ExecutorEvent,
  ExecutorInstruction,
  ExecutorManifest,
  IssueInstruction,
} from "./types.ts";

export interface VirtualExecutorOptions {
  /** Whole number from 0 to 2^53 − 1: same seed, same noise. */
  readonly seed: number;
  /** The clock it runs on. Default: one of its own that advances by itself while work is pending. */
  readonly time?: EventTime;
  /** True duration of an operator without noise, in nanoseconds. Default: the roofline of its declared FLOPs and bytes. */
  readonly operatorNs?: (work: VirtualOperator) => number;
  /** True duration of a transfer without noise, in nanoseconds. Default: latency and rate of the cluster's links. */
  readonly transferNs?: (work: VirtualTransfer) => number;
  /** Coefficient of variation of operators' noise, from 0 to 10. Default 0. */
  readonly operatorCv?: number;
  /** Coefficient of variation of transfers' noise, from 0 to 10. Default 0. */
  readonly transferCv?: number;
  /**
   * When accelerators are lost and return, after all ends of operators and transfers of that instant. Those of one accelerator
   * do not overlap. `open` throws INVALID_OPTION, UNKNOWN_ACCELERATOR for what does not suit the cluster. Default none.
   */
  readonly outages?: readonly Outage[];
  /** What else goes wrong, and where. `open` throws UNKNOWN_ACCELERATOR for what does not suit the cluster. Default: nothing. */
  readonly faults?: VirtualFaults;
  /**
   * Goes on, as it is opened, with what another executor had; what ran there ends after the durations given here, counted from its start,
   * or at once where that is past. Default: nothing is there.
   */
  readonly present?: PresentWork;
}

export interface VirtualExecutor extends Executor {
  readonly time: EventTime;
  /**
   * Loses an accelerator now, by name or index; one that is absent already is ignored and counted.
   * Throws UNKNOWN_ACCELERATOR, NOT_OPEN, CLOSED.
   */
  loseAccelerator(accelerator: string | number, reason?: string): void;
  /** Brings it back now, empty; one that is there already is ignored and counted. Throws as `loseAccelerator` does. */
  returnAccelerator(accelerator: string | number): void;
  /** Makes an operator that is not issued yet fail when it runs, with the cause `fault`, or a transfer that is not planned yet. */
  failOperator(issueNumber: number): void;
  failTransfer(transfer: number): void;
  /** How often each kind of declared fault struck since `open`. Throws NOT_OPEN. */
  faultCounts(): FaultCounts;
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
  readonly faults: DeviceFaults;
  /** Null where messages arrive as they are sent. */
  readonly line: FaultyLine | null;
}

class VirtualBackend implements VirtualExecutor {
  readonly manifest: ExecutorManifest;
  readonly time: EventTime;
  readonly clock: EventTime;
  readonly #options: VirtualExecutorOptions;
  readonly #noise: Noise;
  readonly #bindings = new Bindings();
  /** By kind of event, then by number: ends of operators and transfers that were started, and outages to come. */
  readonly #timers: ReadonlyMap<number, Map<number, SimulatedTimer>> = new Map(
    [EVENT_KIND.operator, EVENT_KIND.transfer, EVENT_KIND.outage, READY_KIND].map((kind) => [kind, new Map()]),
  );
  /** What the backend itself has to tell, behind what the core has to. */
  readonly #own: ExecutorEvent[] = [];
  readonly #failing = { operators: new Set<number>(), transfers: new Set<number>() };
  /** Accelerators that an outage, or a call, has taken. */
  readonly #out = new Set<number>();
  #opened: Opened | null = null;
  #isClosed: boolean = false;
  #isDraining: boolean = false;

  constructor(options: VirtualExecutorOptions) {
    this.#options = options;
    this.#noise = new Noise(options.seed, options.operatorCv ?? 0, options.transferCv ?? 0);
    checkOutageTimes(options.outages ?? []);
    checkFaults(options.faults ?? {});
    this.time = options.time ?? new SimulatedTime({ autoAdvance: true });
    this.clock = this.time;
    this.manifest = {
      name: "virtual",
      simulatedTime: this.time.simulated,
      failsOperators: true,
      failsTransfers: true,
      losesAccelerators: true,
      probes: true,
      keepsAccounts: true,
    };
  }

  open(context: ExecutorContext): void {
    if (this.#isClosed) throw new ExecutorError("CLOSED", "the virtual executor is closed; make a new one");
    if (this.#opened !== null) throw new ExecutorError("ALREADY_OPEN", "the virtual executor serves a master already");
    const cluster = compileCluster(context.cluster);
    const changes = changesOf(this.#options.outages ?? [], cluster, this.time.nowNs());
    const { present: work, faults = {}, seed } = this.#options;
    const present = work === undefined ? {} : { present: { work, nowNs: this.time.nowNs() } };
    const core = new ExecutorCore(cluster, {
      ...present,
      onAsked: (asked, lost) => {
        if (asked.type === "probe") this.#probe(opened, asked.accelerator, asked.probe);
        if (lost !== null) this.#makeReady(opened, asked.accelerator, lost);
      },
    });
    const line =
      faults.messages === undefined
        ? null
        : new FaultyLine(faults.messages, faults.seed ?? seed, this.time, (event) => this.#arrive(opened, event));
    const opened: Opened = { context, cluster, core, faults: new DeviceFaults(faults, seed, cluster), line };
    this.#opened = opened;
    if (work !== undefined) this.#continue(opened, work);
    for (const [number, { atNs, accelerator, isLoss }] of changes.entries()) {
      this.#at(atNs, EVENT_KIND.outage, number, opened, () => {
        if (isLoss) this.#lose(opened, accelerator, OUTAGE);
        else this.#return(opened, accelerator);
      });
    }
  }

  execute(instructions: readonly ExecutorInstruction[]): void {
    const opened = this.#needRunning();
    opened.line?.instructed(instructions);
    this.#cause(opened, () => this.#execute(opened, instructions));
  }

  failOperator(issueNumber: number): void {
    this.#failing.operators.add(issueNumber);
  }

  failTransfer(transfer: number): void {
    this.#failing.transfers.add(transfer);
  }

  faultCounts(): FaultCounts {
    const { faults, line } = this.#needOpen();
    return { ...faults.tally.counts, ...line?.tally.counts };
  }

  close(): void {
    this.#isClosed = true;
    this.#opened?.line?.close();
    for (const timers of this.#timers.values()) {
      for (const timer of timers.values()) this.time.cancel(timer);
      timers.clear();
    }
  }

  loseAccelerator(accelerator: string | number, reason = "it was lost by request"): void {
    const opened = this.#needRunning();
    const index = indexOf(opened.cluster, accelerator);
    this.#cause(opened, () => this.#lose(opened, index, reason));
  }

  returnAccelerator(accelerator: string | number): void {
    const opened = this.#needRunning();
    const index = indexOf(opened.cluster, accelerator);
    this.#cause(opened, () => this.#return(opened, index));
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
        const action = opened.core.next(this.time.nowNs()) ?? this.#nextOwn();
        if (action === undefined) break;
        if (action.type === "deliver") collect(() => this.#deliver(opened, action.event), errors);
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

  /** What was under way there never ends, so time does not wait for it. */
  #lose({ core }: Opened, accelerator: number, reason: string): void {
    this.#out.add(accelerator);
    this.#stop(core.loseAccelerator(accelerator, this.time.nowNs(), reason));
  }

  #return({ core }: Opened, accelerator: number): void {
    this.#out.delete(accelerator);
    core.returnAccelerator(accelerator);
  }

  /** One that was given up returns as soon as it is sound; where an outage lasts, with that. */
  #makeReady(opened: Opened, accelerator: number, lost: LostWork): void {
    this.#stop(lost);
    const atNs = opened.faults.soundNs(accelerator, this.time.nowNs());
    if (atNs === Number.POSITIVE_INFINITY) return;
    this.#at(atNs, READY_KIND, accelerator, opened, () => {
      if (!this.#out.has(accelerator)) opened.core.returnAccelerator(accelerator);
    });
  }

  #probe({ faults }: Opened, accelerator: number, probe: number): void {
    const found = faults.probe(accelerator, this.time.nowNs());
    if (found !== null && !this.#out.has(accelerator))
      this.#own.push({ type: "probed", accelerator, probe, healthy: found === "healthy" });
  }

  /** A receive buffer that is made to be refused never gets to the core: the transfer stays an intent. */
  #execute({ core, faults }: Opened, instructions: readonly ExecutorInstruction[]): void {
    let done = 0;
    for (const [at, instruction] of instructions.entries()) {
      if (instruction.type !== "activateRecv" || !faults.recvFails(instruction.transfer)) continue;
      core.execute(instructions.slice(done, at), this.time.nowNs());
      done = at + 1;
      const reason = "a declared fault: the receive buffer was refused";
      this.#own.push({ type: "recvFailed", transfer: instruction.transfer, reason });
    }
    core.execute(done === 0 ? instructions : instructions.slice(done), this.time.nowNs());
  }

  #nextOwn(): ExecutorAction | undefined {
    const event = this.#own.shift();
    return event === undefined ? undefined : { type: "deliver", event };
  }

  #deliver({ context, line }: Opened, event: ExecutorEvent): void {
    if (line === null) context.deliver(event);
    else line.send(event);
  }

  /** A message arrives that was on its way: what the master answers is applied when it has returned, and what that causes follows. */
  #arrive(opened: Opened, event: ExecutorEvent): void {
    this.#cause(opened, () => opened.context.deliver(event));
  }

  #stop({ operators, transfers }: LostWork): void {
    for (const issueNumber of operators) this.#forget(EVENT_KIND.operator, issueNumber);
    for (const transfer of transfers) this.#forget(EVENT_KIND.transfer, transfer);
  }

  #continue(opened: Opened, { operators, transfers }: PresentWork): void {
    for (const { instruction, startedNs } of operators)
      if (startedNs >= 0) this.#startOperator(opened, instruction, 0, startedNs);
    for (const transfer of transfers)
      if (transfer.state === "sending") this.#startTransfer(opened, transfer, transfer.sendNs);
  }

  #startOperator(
    opened: Opened,
    instruction: IssueInstruction,
    attempt: number,
    sinceNs: number = this.time.nowNs(),
  ): void {
    const { core, cluster, faults } = opened;
    const { issueNumber, instance, operator } = instruction;
    const template = core.template(instruction.template);
    const accelerator = acceleratorAt(cluster, instruction.accelerator);
    const work = virtualOperator(instruction, template, accelerator, this.#bindings);
    const fault = this.#failing.operators.has(issueNumber)
      ? ASKED
      : faults.operatorFails(issueNumber, accelerator.index, this.time.nowNs());
    try {
      const trueNs = (this.#options.operatorNs ?? rooflineOperatorNs)(work);
      const factor = this.#noise.operatorFactor({ instance, operator, attempt }) * faults.operatorFactor(issueNumber);
      const durationNs = noisyNs(trueNs, factor, () => `operator ${work.template}/${work.operatorName}`);
      const lastsNs = fault === null ? durationNs : Math.round(durationNs * fault.afterShare);
      const endNs = Math.max(sinceNs + lastsNs, this.time.nowNs());
      if (faults.hangs(accelerator.index, sinceNs, endNs)) return;
      const end = () => {
        if (fault === null) core.operatorEnded(issueNumber, this.time.nowNs());
        else core.operatorFailed(issueNumber, this.time.nowNs(), fault.reason, fault.cause);
      };
      if (fault !== null && endNs === this.time.nowNs()) end();
      else this.#at(endNs, EVENT_KIND.operator, issueNumber, opened, end);
    } catch (error) {
      // Without a duration it can never end; the accelerator goes on without it.
      core.operatorFailed(issueNumber, this.time.nowNs(), messageOf(error));
      throw error;
    }
  }

  #startTransfer(opened: Opened, started: StartedTransfer, sinceNs: number = this.time.nowNs()): void {
    const { core, cluster, faults } = opened;
    const { transfer, tensor, bytes } = started;
    const source = acceleratorAt(cluster, started.source);
    const destination = acceleratorAt(cluster, started.destination);
    const work: VirtualTransfer = { transfer, tensor, source, destination, bytes };
    try {
      const trueNs = this.#options.transferNs?.(work) ?? linkTransferNs(cluster, work);
      const slower = faults.transferFactor(transfer, source.index, destination.index, sinceNs);
      const factor = this.#noise.transferFactor(transfer) * slower;
      const durationNs = noisyNs(trueNs, factor, () => `transfer ${transfer}`);
      const endNs = Math.max(sinceNs + durationNs, this.time.nowNs());
      if (faults.hangs(source.index, sinceNs, endNs) || faults.hangs(destination.index, sinceNs, endNs)) return;
      const fails = this.#failing.transfers.has(transfer) || faults.transferFails(transfer);
      this.#at(endNs, EVENT_KIND.transfer, transfer, opened, () => {
        if (fails) core.transferFailed(transfer, this.time.nowNs(), "a declared fault");
        else core.transferEnded(transfer, this.time.nowNs());
      });
    } catch (error) {
      core.transferFailed(transfer, this.time.nowNs(), messageOf(error));
      throw error;
    }
  }

  #at(atNs: number, kind: number, number: number, opened: Opened, happen: () => void): void {
    const timer = this.time.at(atNs, { kind, number }, () => {
      this.#timers.get(kind)?.delete(number);
      if (this.#isDraining) {
        // Whoever drives the clock from within a delivery is told so; what was to happen must not be lost.
        this.#at(this.time.nowNs(), kind, number, opened, happen);
        throw new ExecutorError("REENTRANT", "time was advanced from within an event; return from it first");
      }
      this.#cause(opened, happen);
    });
    this.#timers.get(kind)?.set(number, timer);
  }

  #forget(kind: number, number: number): void {
    const timer = this.#timers.get(kind)?.get(number);
    if (timer === undefined) return;
    this.time.cancel(timer);
    this.#timers.get(kind)?.delete(number);
  }

  #needRunning(): Opened {
    if (this.#isClosed) throw new ExecutorError("CLOSED", "the virtual executor is closed and does nothing more");
    return this.#needOpen();
  }

  #needOpen(): Opened {
    if (this.#opened === null) throw new ExecutorError("NOT_OPEN", "the virtual executor is not open; call open first");
    return this.#opened;
  }
}

const ASKED = { cause: "fault", afterShare: 0, reason: "it was made to fail" } as const;

/** Accelerators that were given up return after all ends and outages of an instant, and after the application. */
const READY_KIND = EVENT_KIND.application + 1;

/** Why an accelerator is lost that an outage takes. */
const OUTAGE = "a declared outage begins";

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
