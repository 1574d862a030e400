import {
  type Clock,
  type Executor,
  type ExecutorContext,
  ExecutorError,
  type ExecutorEvent,
  type ExecutorInstruction,
  type ExecutorManifest,
  type ExecutorStats,
  type IssueInstruction,
  type Leftovers,
  RealTime,
} from "@slicescheduler/executor";
import { type Cluster, compileCluster, roundUpBytes, type TemplateSpec } from "@slicescheduler/templates";
import { Kernels } from "./engine/kernels.ts";
import { Reports } from "./engine/reports.ts";
import { Twin } from "./engine/twin.ts";
import { WeightsBook } from "./engine/weights-book.ts";
import { loadAddon, type NativeAddon, type NativeEngine } from "./native/addon.ts";
import { closeAtExit } from "./native/at-exit.ts";
import { checkLibtorchOptions, type DeviceName, type LibtorchExecutorOptions } from "./options.ts";
import { LibtorchError, withFaults } from "./programs/errors.ts";
import { fromNative, type HostTensor, toNative } from "./programs/host-tensor.ts";
import type { Program } from "./programs/types.ts";
import type { WeightsSource } from "./weights/types.ts";

/** Events delivered in one turn of the event loop at most; timers and I/O have their turn between. */
const EVENTS_PER_TURN = 256;

/** Memory of an accelerator as its device counts it, in bytes as they were asked for. */
export interface DeviceMemory {
  readonly usedBytes: number;
  /** The most that was ever in use. */
  readonly peakBytes: number;
  /** What its tensors may take: HBM − margin − baseline. */
  readonly capBytes: number;
}

/**
 * A backend that executes operators on LibTorch, one queue and one thread per accelerator, in real time. Accelerators go on by themselves: what
 * was issued starts as soon as its inputs are there, whether or not JavaScript has a turn. See docs of the package.
 */
export interface LibtorchExecutor extends Executor {
  /**
   * What the operators of a template compute, by their names. Call it before the template is registered, which then checks them:
   * PROGRAM_MISSING, PROGRAM_INVALID, UNKNOWN_OPERATOR, WRONG_ARGUMENT, WEIGHTS_MISSING, WEIGHTS_INVALID. A later definition of an operator counts when the template is
   * registered after it; a SliceScheduler registers a template once. Throws PROGRAM_INVALID for what is no program at all.
   */
  define(template: string, programs: Readonly<Record<string, Program>>): void;
  /**
   * Where weights come from that templates name; before a template with them is registered. Once they are loaded, only the same source is taken again, and
   * nothing done. Throws WEIGHTS_INVALID, WEIGHTS_IN_USE, FILE_UNREADABLE, FILE_INVALID, SCRIPT_DENIED.
   */
  defineWeights(name: string, source: WeightsSource): void;
  /**
   * Host data of an instance, which its programs read by `feed`; before the operator runs that does. `SubmitOptions.prepare` tells the number of the
   * instance in time. They are kept until `unfeed`: the executor does not hear of the ends of instances. Throws FEED_MISMATCH, also for a number that is
   * no instance's, and DTYPE_UNSUPPORTED.
   */
  feed(instance: number, name: string, tensor: HostTensor): void;
  /** Drops the host data of an instance, of which no operator may come that feeds them; nothing to do after `close`. Throws FEED_MISMATCH. */
  unfeed(instance: number): void;
  /**
   * The contents of a copy that is there; undefined where there is none. Waits for no operator, which may write to it meanwhile, but for a buffer that
   * grows. Throws UNKNOWN_ACCELERATOR.
   */
  read(tensor: number, accelerator: number): HostTensor | undefined;
  /** Tensor copies with contents, on all accelerators; 0 after `close`. */
  liveTensors(): number;
  /** Per accelerator. */
  memory(): readonly DeviceMemory[];
  stats(): ExecutorStats;
  leftovers(): Leftovers;
  /** Recounts everything, and compares the native account with it. Throws INVARIANT_BROKEN. For tests. */
  validate(): void;
  /** Takes an accelerator away with everything on it. What runs there runs to its end, for nobody. By name or index. */
  loseAccelerator(accelerator: string | number, reason?: string): void;
  /** Brings it back, empty, as soon as nothing of what was under way is left there. */
  returnAccelerator(accelerator: string | number): void;
  /** For tests: lets an operator or a transfer, that has not begun, fail, or an operator wait until it is let go. */
  rehearse(what: "fail" | "hold" | "letGo" | "failTransfer", number: number): void;
}

/** Throws LIBTORCH_MISSING where the addon is not built, INVALID_OPTION, and what `defineWeights` throws. */
export function libtorchExecutor(options: LibtorchExecutorOptions = {}): LibtorchExecutor {
  checkLibtorchOptions(options);
  return new NativeExecutor(loadAddon(), options);
}

interface Opened {
  readonly context: ExecutorContext;
  readonly cluster: Cluster;
  readonly engine: NativeEngine;
  readonly twin: Twin;
}

class NativeExecutor implements LibtorchExecutor {
  readonly manifest: ExecutorManifest;
  readonly clock: Clock;
  readonly #addon: NativeAddon;
  readonly #options: LibtorchExecutorOptions;
  readonly #weights: WeightsBook;
  readonly #kernels: Kernels;
  readonly #epochNs: number;
  readonly #reports: Reports;
  /** Names of the host data of each instance, for messages. */
  readonly #fed = new Map<number, Set<string>>();
  #opened: Opened | null = null;
  #forgetAtExit: () => void = () => {};
  #isClosed: boolean = false;
  #isDelivering: boolean = false;
  #isContinuing: boolean = false;

  constructor(addon: NativeAddon, options: LibtorchExecutorOptions) {
    this.#addon = addon;
    this.#options = options;
    this.#weights = new WeightsBook(addon, options.allowTorchScript ?? false);
    this.#kernels = new Kernels(addon, this.#weights);
    this.#reports = new Reports(options, (template, operator) => this.#kernels.nameOf(template, operator), throwLater);
    for (const [name, source] of Object.entries(options.weights ?? {})) this.#weights.define(name, source);
    this.manifest = {
      name: "libtorch",
      simulatedTime: false,
      failsOperators: true,
      failsTransfers: true,
      losesAccelerators: true,
      probes: true,
      keepsAccounts: true,
      holdsData: true,
      runsAhead: true,
    };
    const epochNs = addon.nowNs();
    this.#epochNs = epochNs;
    const time = new RealTime({ nowMs: sinceFirst(() => addon.nowNs(), epochNs) });
    this.clock = {
      nowNs: () => time.nowNs(),
      // A master whose executor was closed under it would be woken to find that out, and throw into the event loop.
      callAt: (atNs, callback) =>
        time.callAt(atNs, () => {
          if (!this.#isClosed) callback();
        }),
    };
  }

  define(template: string, programs: Readonly<Record<string, Program>>): void {
    this.#kernels.define(template, programs);
  }

  defineWeights(name: string, source: WeightsSource): void {
    this.#weights.define(name, source);
  }

  open(context: ExecutorContext): void {
    if (this.#isClosed) throw new ExecutorError("CLOSED", "this libtorch executor is closed; make a new one");
    if (this.#opened !== null)
      throw new ExecutorError("ALREADY_OPEN", "this libtorch executor serves a master already");
    const cluster = compileCluster(context.cluster);
    const { lookahead = 4, reportNs = 1_000_000, devices = {} } = this.#options;
    checkDevicesNamed(devices, cluster);
    const accelerators = cluster.accelerators.map((accelerator) => ({
      name: accelerator.name,
      device: devices[accelerator.name] ?? "cpu",
      capacityBytes: accelerator.capacityBytes,
      baselineBytes: roundUpBytes(accelerator.baselineBytes, accelerator.granularityBytes),
      granularityBytes: accelerator.granularityBytes,
      present: !accelerator.absent,
    }));
    const engineOptions = { accelerators, lookahead, reportNs, epochNs: this.#epochNs };
    const engine = withFaults("opening the devices", () => new this.#addon.Engine(engineOptions, () => this.#rung()));
    const twin = new Twin({
      cluster,
      engine,
      nowNs: () => this.clock.nowNs(),
      details: (issue) => this.#kernels.details(issue),
      weightsNumber: (name) => this.#weights.numberOf(name),
      hint: (issue, code) => this.#hint(issue, code),
      onDone: (issue, fetched, measured) => this.#reports.add(issue, fetched, measured),
    });
    this.#opened = { context, cluster, engine, twin };
    this.#forgetAtExit = closeAtExit(this);
  }

  checkTemplate(template: TemplateSpec): void {
    this.#compile(this.#running(), template);
  }

  execute(instructions: readonly ExecutorInstruction[]): void {
    const opened = this.#running();
    try {
      this.#prepared(opened, instructions, () => opened.twin.execute(instructions));
    } finally {
      this.#deliver(opened);
    }
  }

  feed(instance: number, name: string, tensor: HostTensor): void {
    const { engine } = this.#running();
    checkInstance(instance);
    const native = toNative(tensor, `${JSON.stringify(name)} of instance ${instance}`);
    withFaults(`host data of instance ${instance}`, () => engine.feed(instance, { [name]: native }));
    const names = this.#fed.get(instance);
    if (names === undefined) this.#fed.set(instance, new Set([name]));
    else names.add(name);
  }

  unfeed(instance: number): void {
    checkInstance(instance);
    this.#fed.delete(instance);
    if (!this.#isClosed) this.#need().engine.unfeed(instance);
  }

  read(tensor: number, accelerator: number): HostTensor | undefined {
    const { engine, cluster } = this.#running();
    checkAccelerator(cluster, accelerator);
    const found = withFaults(`tensor ${tensor}`, () => engine.read(tensor, accelerator));
    return found === undefined ? undefined : fromNative(found);
  }

  liveTensors(): number {
    return this.#isClosed ? 0 : this.#need().engine.liveTensors();
  }

  memory(): readonly DeviceMemory[] {
    const { cluster, engine } = this.#running();
    return cluster.accelerators.map(({ index }) => {
      const { usedBytes, peakBytes, capBytes } = engine.memory(index);
      return { usedBytes, peakBytes, capBytes };
    });
  }

  stats(): ExecutorStats {
    return this.#need().twin.core.stats(this.clock.nowNs());
  }

  leftovers(): Leftovers {
    return this.#need().twin.core.leftovers();
  }

  validate(): void {
    this.#running().twin.validate();
  }

  loseAccelerator(accelerator: string | number, reason = "it was lost by request"): void {
    const opened = this.#running();
    opened.twin.loseAccelerator(indexOf(opened.cluster, accelerator), reason);
    this.#deliver(opened);
  }

  returnAccelerator(accelerator: string | number): void {
    const opened = this.#running();
    opened.twin.returnAccelerator(indexOf(opened.cluster, accelerator));
    this.#deliver(opened);
  }

  rehearse(what: "fail" | "hold" | "letGo" | "failTransfer", number: number): void {
    this.#running().engine.rehearse(what, number);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#forgetAtExit();
    this.#opened?.engine.close();
    this.#reports.clear();
    this.#fed.clear();
  }

  /** Which host data an instance has, where an operator lacked some. */
  #hint({ instance }: IssueInstruction, code: string): string {
    if (code !== "FEED_MISSING") return "";
    const names = [...(this.#fed.get(instance) ?? [])].map((name) => JSON.stringify(name));
    return `; instance ${instance} has ${names.length === 0 ? "none" : `only ${names.join(", ")}`}: call executor.feed in prepare`;
  }

  /** Compiles programs and loads weights ahead, so that what is issued in the same batch finds them; what fails there, fails at its instruction. */
  #prepared(opened: Opened, instructions: readonly ExecutorInstruction[], execute: () => void): void {
    const { twin, engine } = opened;
    for (const [at, instruction] of instructions.entries()) {
      try {
        if (instruction.type === "registerTemplate") this.#compile(opened, instruction.template);
        else if (instruction.type === "loadWeights" && twin.needsWeights(instruction))
          this.#weights.load(engine, instruction.accelerator, instruction.name, instruction.bytes);
      } catch (error) {
        twin.execute(instructions.slice(0, at));
        throw error;
      }
    }
    execute();
  }

  #compile({ cluster, engine }: Opened, template: TemplateSpec): void {
    this.#kernels.register(template, cluster, (program, weights) => engine.addKernel(program, weights));
  }

  /** The engine has something to report. */
  #rung(): void {
    if (this.#isClosed) return;
    const opened = this.#need();
    try {
      opened.twin.sync();
      this.#deliver(opened);
    } catch (error) {
      // Thrown through the native caller, it would be lost.
      throwLater(error);
    }
  }

  /** Delivers what there is, one by one. Called again from within an event, it leaves that to the call that delivers. */
  #deliver(opened: Opened): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      for (let count = 0; !this.#isClosed; count++) {
        if (count === EVENTS_PER_TURN) {
          this.#continueLater(opened);
          return;
        }
        const event = opened.twin.next();
        if (event === undefined) return;
        this.#tell(opened, event);
      }
    } catch (error) {
      // What the master throws is the caller's; the events behind it still come.
      this.#continueLater(opened);
      throw error;
    } finally {
      this.#isDelivering = false;
    }
  }

  #tell({ context, engine }: Opened, event: ExecutorEvent): void {
    if (event.type === "operatorDone") this.#reports.tell(event.issueNumber, engine);
    // A listener may have closed the executor.
    if (!this.#isClosed) context.deliver(event);
  }

  #continueLater(opened: Opened): void {
    if (this.#isContinuing) return;
    this.#isContinuing = true;
    setImmediate(() => {
      this.#isContinuing = false;
      if (!this.#isClosed) this.#deliver(opened);
    });
  }

  #running(): Opened {
    if (this.#isClosed) throw new ExecutorError("CLOSED", "this libtorch executor is closed");
    return this.#need();
  }

  #need(): Opened {
    if (this.#opened === null)
      throw new ExecutorError("NOT_OPEN", "this libtorch executor is not open; call open first");
    return this.#opened;
  }
}

/** A misspelt accelerator would run on its default device. Throws INVALID_OPTION. */
function checkDevicesNamed(devices: Readonly<Record<string, DeviceName>>, { accelerators }: Cluster): void {
  const unknown = Object.keys(devices).filter((name) => !accelerators.some((accelerator) => accelerator.name === name));
  if (unknown.length === 0) return;
  const names = accelerators.map(({ name }) => name).join(", ");
  throw new LibtorchError("INVALID_OPTION", `devices names ${unknown.join(", ")}; the cluster has ${names}`);
}

/** Milliseconds since its first call, which tells where the time of the engine begins. */
function sinceFirst(nowNs: () => number, epochNs: number): () => number {
  let isFirst = true;
  return () => {
    if (!isFirst) return (nowNs() - epochNs) / 1e6;
    isFirst = false;
    return 0;
  };
}

/** Throws UNKNOWN_ACCELERATOR. */
function indexOf(cluster: Cluster, accelerator: string | number): number {
  if (typeof accelerator === "string") return cluster.indexOf(accelerator);
  checkAccelerator(cluster, accelerator);
  return accelerator;
}

function checkAccelerator({ accelerators }: Cluster, accelerator: number): void {
  if (accelerators[accelerator] === undefined)
    throw new ExecutorError(
      "UNKNOWN_ACCELERATOR",
      `there is no accelerator ${accelerator}; the cluster has ${accelerators.length}, numbered from 0`,
    );
}

/** As the master numbers them. Throws FEED_MISMATCH. */
function checkInstance(instance: number): void {
  if (Number.isSafeInteger(instance) && instance >= 0) return;
  throw new LibtorchError(
    "FEED_MISMATCH",
    `host data are for instance ${instance}; it has to be a whole number from 0`,
  );
}

/** On its own: a call that comes by when somebody else's listener fails did what it was to do. */
function throwLater(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
