/**
 * An executor backend of one's own: each accelerator of the cluster is a lane that runs operators as JavaScript functions, on `Float64Array`s in
 * a memory of its own, in real time. docs/write-your-own-executor.md builds it step by step.
 */
import {
  type Executor,
  type ExecutorAction,
  type ExecutorContext,
  ExecutorCore,
  ExecutorError,
  type ExecutorInstruction,
  type ExecutorManifest,
  type ExecutorStats,
  RealTime,
} from "@slicescheduler/executor";
import { compileCluster } from "@slicescheduler/gmg";
import { LaneMemory } from "./lane-memory.ts";

type StartedOperator = Extract<ExecutorAction, { readonly type: "startOperator" }>["instruction"];
type StartedTransfer = Extract<ExecutorAction, { readonly type: "startTransfer" }>["transfer"];

/** What a kernel is given; it fills the outputs. */
interface KernelWork {
  readonly issueNumber: number;
  readonly instance: number;
  readonly symbols: Readonly<Record<string, number>>;
  readonly inputs: readonly Float64Array[];
  readonly outputs: readonly Float64Array[];
}

/** The function behind an operator. One that throws, or whose promise is rejected, has failed. */
export type Kernel = (work: KernelWork) => void | Promise<void>;

export const LANE_MANIFEST: ExecutorManifest = {
  name: "lanes",
  simulatedTime: false,
  failsOperators: true,
  keepsAccounts: true,
  holdsData: true,
};

interface Opened {
  readonly context: ExecutorContext;
  readonly core: ExecutorCore;
  readonly memories: readonly LaneMemory[];
}

export class LaneExecutor implements Executor {
  readonly manifest = LANE_MANIFEST;
  readonly clock = new RealTime();
  readonly #kernels: Readonly<Record<string, Kernel>>;
  #opened: Opened | null = null;
  #isClosed: boolean = false;
  #isPumping: boolean = false;

  /** @param kernels By the names of operators. */
  constructor(kernels: Readonly<Record<string, Kernel>>) {
    this.#kernels = kernels;
  }

  open(context: ExecutorContext): void {
    if (this.#opened !== null) throw new ExecutorError("ALREADY_OPEN", "these lanes serve a master already");
    const cluster = compileCluster(context.cluster);
    const memories = cluster.accelerators.map(() => new LaneMemory());
    const core = new ExecutorCore(cluster, { onFreed: (tensor, lane) => memories[lane]?.free(tensor) });
    this.#opened = { context, core, memories };
  }

  execute(instructions: readonly ExecutorInstruction[]): void {
    if (this.#isClosed) throw new ExecutorError("CLOSED", "these lanes are closed");
    const opened = this.#need();
    try {
      opened.core.execute(instructions, this.clock.nowNs());
    } finally {
      this.#pump(opened);
    }
  }

  stats(): ExecutorStats {
    return this.#need().core.stats(this.clock.nowNs());
  }

  /** A copy of a tensor's contents. */
  read(tensor: number, lane: number): Float64Array {
    return memoryAt(this.#need(), lane).get(tensor).slice();
  }

  /** Tensors in the memories of all lanes. */
  get tensors(): number {
    return this.#need().memories.reduce((sum, { size }) => sum + size, 0);
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Does what there is to do now. Called again from within an event, it leaves that to the call that delivers. */
  #pump(opened: Opened): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (!this.#isClosed) {
        const action = opened.core.next(this.clock.nowNs());
        if (action === undefined) return;
        if (action.type === "deliver") opened.context.deliver(action.event);
        else if (action.type === "startOperator") void this.#run(opened, action.instruction);
        else void this.#move(opened, action.transfer);
      }
    } finally {
      this.#isPumping = false;
    }
  }

  async #run(opened: Opened, issue: StartedOperator): Promise<void> {
    const { core } = opened;
    let failure: string | null = null;
    try {
      await this.#compute(opened, issue);
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    if (this.#isClosed) return;
    if (failure === null) core.operatorEnded(issue.issueNumber, this.clock.nowNs());
    else core.operatorFailed(issue.issueNumber, this.clock.nowNs(), failure);
    this.#pump(opened);
  }

  async #compute(opened: Opened, issue: StartedOperator): Promise<void> {
    const { issueNumber, instance, symbols } = issue;
    const memory = memoryAt(opened, issue.accelerator);
    const outputs = issue.outputs.map(({ tensor, bytes, aliases }) =>
      aliases === null ? memory.allocate(tensor, bytes) : memory.grow(tensor, aliases, bytes),
    );
    const inputs = issue.inputs.map(({ tensor }) => memory.get(tensor));
    const { name } = opened.core.template(issue.template).operators[issue.operator] ?? { name: "" };
    const kernel = this.#kernels[name];
    if (kernel === undefined) throw new RangeError(`there is no kernel for operators named ${JSON.stringify(name)}`);
    // A kernel begins in a turn of its own, so that it never runs inside `execute`.
    await new Promise((resolve) => setImmediate(resolve));
    await kernel({ issueNumber, instance, symbols, inputs, outputs });
  }

  /** Copies a tensor to another lane, at the time that the cluster declares for it. */
  async #move(opened: Opened, { transfer, tensor, source, destination, bytes }: StartedTransfer): Promise<void> {
    const { core } = opened;
    const to = memoryAt(opened, destination).allocate(tensor, bytes);
    const endNs = this.clock.nowNs() + core.cluster.transferNs(source, destination, bytes);
    await new Promise<void>((resolve) => this.clock.callAt(endNs, resolve));
    if (this.#isClosed) return;
    to.set(memoryAt(opened, source).get(tensor));
    core.transferEnded(transfer, this.clock.nowNs());
    this.#pump(opened);
  }

  #need(): Opened {
    if (this.#opened === null) throw new ExecutorError("NOT_OPEN", "these lanes are not open; call open first");
    return this.#opened;
  }
}

function memoryAt({ memories }: Opened, lane: number): LaneMemory {
  const memory = memories[lane];
  if (memory === undefined) throw new RangeError(`there is no lane ${lane}`);
  return memory;
}
