import { type Binding, type Cluster, type CompiledAccelerator, compileCluster } from "@slicescheduler/gmg";
import { ExecutorCore, type StartedTransfer } from "./core.ts";
import { ExecutorError } from "./errors.ts";
import { noiseFactor, OPERATOR_STREAM, TRANSFER_STREAM } from "./random.ts";
import type { ExecutorLeftovers, ExecutorStats } from "./report.ts";
import { SimulatedTime } from "./simulated-time.ts";
import type { Executor, ExecutorContext, ExecutorInstruction, ExecutorManifest, IssueInstruction } from "./types.ts";

/** An operator about to run, for the function that knows how long it truly takes. */
export interface VirtualOperator {
  readonly template: string;
  /** Name of the operator in its template. */
  readonly operator: string;
  readonly operatorIndex: number;
  readonly symbols: Readonly<Record<string, number>>;
  /** Index of the accelerator. */
  readonly accelerator: number;
  readonly kind: string;
  /** Declared floating-point operations; computed when read. */
  readonly flops: number;
  /** Declared bytes moved to and from HBM; computed when read. */
  readonly movedBytes: number;
}

export interface VirtualTransfer {
  /** Index of the accelerator. */
  readonly source: number;
  readonly destination: number;
  readonly bytes: number;
}

export interface VirtualExecutorOptions {
  /** Of the noise: a whole number from 0 to 2^53 − 1. */
  readonly seed: number;
  /** Default: a clock of its own, which advances by itself. */
  readonly time?: SimulatedTime;
  /** True nanoseconds before noise, finite and at least 0. Default: roofline of declared work at the accelerator's rates. */
  readonly operatorNs?: (work: VirtualOperator) => number;
  /** True nanoseconds before noise, finite and at least 0. Default: what the cluster declares for the route. */
  readonly transferNs?: (work: VirtualTransfer) => number;
  /** Coefficient of variation of the noise on operators, a ratio from 0. Default 0: none. */
  readonly operatorCv?: number;
  /** The same on transfers. Default 0. */
  readonly transferCv?: number;
}

/** What an accelerator that declares no rates is taken to do: 10^14 operations and 10^12 bytes per second. */
const DEFAULT_FLOPS_PER_SECOND = 1e14;
const DEFAULT_HBM_BYTES_PER_SECOND = 1e12;

/** Kinds of `SimulatedTime` callbacks; operators end before transfers of the same instant. */
const OPERATOR_DONE = 0;
const TRANSFER_DONE = 1;

/**
 * Simulated accelerators with true durations of their own; it never sees what the master's estimators believe. Memory is
 * accounted to the byte and capacity enforced. The same seed gives an operator the same noise in whatever order things run.
 * Throws INVALID_OPTION.
 */
export function virtualExecutor(options: VirtualExecutorOptions): VirtualExecutor {
  return new VirtualExecutor(options);
}

export class VirtualExecutor implements Executor {
  readonly manifest: ExecutorManifest = { name: "virtual", simulatedTime: true };
  readonly clock: SimulatedTime;
  readonly #options: VirtualExecutorOptions;
  #core: ExecutorCore | undefined;
  /** By the symbols object of an instance, which its operators share: their bindings, per template. */
  readonly #bindings = new WeakMap<object, Binding>();

  constructor(options: VirtualExecutorOptions) {
    const { seed, operatorCv = 0, transferCv = 0 } = options;
    if (!Number.isSafeInteger(seed) || seed < 0)
      throw new ExecutorError("INVALID_OPTION", `seed ${seed} is not a whole number from 0 to 2^53 − 1`);
    for (const cv of [operatorCv, transferCv]) {
      if (!(cv >= 0 && cv < Number.POSITIVE_INFINITY))
        throw new ExecutorError("INVALID_OPTION", `a coefficient of variation of ${cv} is not a finite ratio from 0`);
    }
    this.#options = options;
    this.clock = options.time ?? new SimulatedTime();
  }

  open({ cluster, deliver }: ExecutorContext): void {
    if (this.#core !== undefined) throw new ExecutorError("ALREADY_OPEN", "the executor was opened before");
    const core: ExecutorCore = new ExecutorCore(compileCluster(cluster), {
      deliver,
      startOperator: (instruction, attempt) => this.#startOperator(core, instruction, attempt),
      startTransfer: (transfer) => this.#startTransfer(core, transfer),
    });
    this.#core = core;
  }

  execute(instructions: readonly ExecutorInstruction[]): void {
    this.#opened().execute(instructions, this.clock.nowNs());
  }

  close(): void {
    this.#core?.close();
  }

  /** Throws NOT_OPEN; works after `close`. */
  stats(): ExecutorStats {
    return this.#opened().stats();
  }

  /** Throws NOT_OPEN; works after `close`. */
  leftovers(): ExecutorLeftovers {
    return this.#opened().leftovers();
  }

  /** Recounts memory and queues from scratch. Throws INVARIANT_BROKEN. */
  validate(): void {
    this.#opened().validate();
  }

  #startOperator(core: ExecutorCore, instruction: IssueInstruction, attempt: number): void {
    const { seed, operatorNs = rooflineOn(core.cluster), operatorCv = 0 } = this.#options;
    const { issueNumber, instance, operator } = instruction;
    const key = { seed, stream: OPERATOR_STREAM, number: instance, part: operator, attempt };
    const work = this.#work(core, instruction);
    const durationNs = noisyNs(
      operatorNs(work),
      noiseFactor(operatorCv, key),
      `operator ${work.template}/${work.operator}`,
    );
    const endNs = this.clock.nowNs() + durationNs;
    this.clock.at(endNs, { kind: OPERATOR_DONE, number: issueNumber }, () => core.operatorEnded(issueNumber, endNs));
  }

  #startTransfer(core: ExecutorCore, { transfer, source, destination, bytes }: StartedTransfer): void {
    const { seed, transferNs = declaredOn(core.cluster), transferCv = 0 } = this.#options;
    const key = { seed, stream: TRANSFER_STREAM, number: transfer, part: 0, attempt: 0 };
    const trueNs = transferNs({ source, destination, bytes });
    const durationNs = noisyNs(trueNs, noiseFactor(transferCv, key), `transfer ${transfer}`);
    const endNs = this.clock.nowNs() + durationNs;
    this.clock.at(endNs, { kind: TRANSFER_DONE, number: transfer }, () => core.transferEnded(transfer, endNs));
  }

  #work(core: ExecutorCore, { template: name, operator, symbols, accelerator }: IssueInstruction): VirtualOperator {
    const template = core.template(name);
    const bind = () => {
      const known = this.#bindings.get(symbols);
      if (known !== undefined && known.template === template) return known;
      const binding = template.bind(symbols);
      this.#bindings.set(symbols, binding);
      return binding;
    };
    return {
      template: name,
      operator: template.operators[operator]?.name ?? "",
      operatorIndex: operator,
      symbols,
      accelerator,
      kind: core.cluster.accelerators[accelerator]?.kind ?? "",
      get flops() {
        return bind().flops(operator);
      },
      get movedBytes() {
        return bind().movedBytes(operator);
      },
    };
  }

  #opened(): ExecutorCore {
    if (this.#core === undefined) throw new ExecutorError("NOT_OPEN", "open the executor first");
    return this.#core;
  }
}

function rooflineOn(cluster: Cluster): (work: VirtualOperator) => number {
  return ({ accelerator, flops, movedBytes }) => {
    const rates: Partial<CompiledAccelerator> = cluster.accelerators[accelerator] ?? {};
    const computeS = flops / (rates.flopsPerSecond ?? DEFAULT_FLOPS_PER_SECOND);
    const memoryS = movedBytes / (rates.hbmBytesPerSecond ?? DEFAULT_HBM_BYTES_PER_SECOND);
    return Math.max(computeS, memoryS) * 1e9;
  };
}

function declaredOn(cluster: Cluster): (work: VirtualTransfer) => number {
  return ({ source, destination, bytes }) => cluster.transferNs(source, destination, bytes);
}

/** Whole nanoseconds, at least 1. */
function noisyNs(trueNs: number, factor: number, what: string): number {
  if (!(trueNs >= 0 && trueNs < Number.POSITIVE_INFINITY))
    throw new ExecutorError("INVALID_DURATION", `${what} was given ${trueNs} ns, not a finite number from 0`);
  return Math.max(1, Math.round(trueNs * factor));
}
