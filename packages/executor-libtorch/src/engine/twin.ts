import {
  type ExecutorAction,
  ExecutorCore,
  ExecutorError,
  type ExecutorEvent,
  type ExecutorInstruction,
  type IssueInstruction,
  type LostWork,
} from "@slicescheduler/executor";
import type { Cluster } from "@slicescheduler/templates";
import { LOG_STRIDE, type NativeEngine } from "../native/addon.ts";
import { Batch, type IssueDetails } from "../native/batch.ts";

/** Kinds of entries in the engine's log; the same numbers stand in native/engine.h. */
const LOG = { started: 1, done: 2, failed: 3, moved: 4, moveFailed: 5, probed: 6, emptied: 7 } as const;

const LOG_ENTRIES = 512;

/** What was measured of an operator that is done. */
export interface Measured {
  readonly observedNs: number;
  readonly outputBytes: number;
  readonly peakBytes: number;
  readonly declaredBytes: number;
}

export interface TwinOptions {
  readonly cluster: Cluster;
  readonly engine: NativeEngine;
  readonly nowNs: () => number;
  readonly details: (issue: IssueInstruction) => IssueDetails;
  readonly weightsNumber: (name: string) => number;
  /** Added to the words of the fault that an operator failed with. */
  readonly hint: (issue: IssueInstruction, code: string) => string;
  /** An operator is done, and handed out so many tensors; its event comes later. `measured` reads what the log says of it, there and then. */
  readonly onDone: (issue: IssueInstruction, fetched: number, measured: () => Measured) => void;
}

/**
 * The executor's core and the native engine side by side. The core is the authority: it checks instructions, and gives events. The engine goes
 * on by itself, by the same rules; what it did is read from its log and told to the core, which has to come to the same starts. It throws
 * INVARIANT_BROKEN where they part.
 */
export class Twin {
  readonly core: ExecutorCore;
  readonly #options: TwinOptions;
  readonly #log = new Float64Array(LOG_ENTRIES * LOG_STRIDE);
  readonly #batch = new Batch();
  /** Events of the core that are to be delivered, in order. */
  #events: ExecutorEvent[] = [];
  #taken = 0;
  /** Starts of the core that the engine's log has to tell. */
  readonly #expected: number[] = [];
  /** Issues that have not ended. */
  readonly #issues = new Map<number, IssueInstruction>();
  /** Why an issue cannot run, for those that cannot; the engine fails them. */
  readonly #unfit = new Map<number, string>();
  readonly #isPresent: boolean[];
  /** Of absent accelerators: whether nothing is left there, and whether they are to return then. */
  readonly #isEmptied: boolean[];
  readonly #returns = new Set<number>();
  #nowNs = 0;
  #isLocked: boolean = false;

  constructor(options: TwinOptions) {
    this.#options = options;
    const { cluster } = options;
    this.core = new ExecutorCore(cluster, {
      onAsked: (asked, lost) => {
        if (asked.type === "giveUp") this.#givenUp(asked.accelerator, lost);
      },
      onTaken: (instruction) => this.#mirror(instruction),
    });
    this.#isPresent = cluster.accelerators.map(({ absent }) => !absent);
    this.#isEmptied = cluster.accelerators.map(({ absent }) => absent);
  }

  isPresent(accelerator: number): boolean {
    return this.#isPresent[accelerator] ?? false;
  }

  /** Whether weights are to be loaded there that are not yet. */
  needsWeights({ accelerator, name }: Extract<ExecutorInstruction, { type: "loadWeights" }>): boolean {
    return this.isPresent(accelerator) && !this.core.ledger.hasWeights(accelerator, name);
  }

  /** Carries out instructions; those before one that is refused stay carried out. */
  execute(instructions: readonly ExecutorInstruction[]): void {
    this.#during((nowNs) => this.core.execute(instructions, nowNs));
  }

  loseAccelerator(accelerator: number, reason: string): void {
    this.#during((nowNs) => {
      this.#returns.delete(accelerator);
      this.core.loseAccelerator(accelerator, nowNs, reason);
      if (this.isPresent(accelerator)) this.#leaves(accelerator);
    });
  }

  /** As soon as nothing of what was under way is left there, and everything before has been delivered. */
  returnAccelerator(accelerator: number): void {
    if (this.isPresent(accelerator)) this.core.returnAccelerator(accelerator);
    else this.#returns.add(accelerator);
  }

  /** Reads what the engine did. */
  sync(): void {
    this.#during(() => {});
  }

  /** The next event to deliver; undefined when there is none now. */
  next(): ExecutorEvent | undefined {
    if (this.#taken === this.#events.length) this.#returnOne();
    const event = this.#events[this.#taken];
    if (event === undefined) return undefined;
    this.#taken++;
    if (this.#taken === this.#events.length) {
      this.#events = [];
      this.#taken = 0;
    }
    return event;
  }

  /** Recounts the core, and compares the engine's account with it. Throws INVARIANT_BROKEN. */
  validate(): void {
    this.#during(() => {
      this.core.validate();
      const { cluster, engine } = this.#options;
      const used = new Float64Array(cluster.accelerators.length);
      engine.usedBytes(used);
      for (const [accelerator, bytes] of used.entries()) {
        const expected = this.core.ledger.usedBytes(accelerator);
        if (bytes !== expected)
          broken(`the engine counts ${bytes} bytes on accelerator ${accelerator}, and the core ${expected}`);
      }
    });
  }

  /** Reads the log, then does something that the engine is told of, with nothing between: its accelerators wait for it that long. */
  #during(action: (nowNs: number) => void): void {
    const { engine } = this.#options;
    if (this.#isLocked) {
      action(this.#nowNs);
      return;
    }
    // Most of the log is read before, while the accelerators go on.
    this.#read();
    const logged = engine.lock();
    this.#isLocked = true;
    let started = 0;
    try {
      if (logged > 0) this.#read();
      this.#nowNs = Math.max(this.#nowNs, this.#options.nowNs());
      this.#batch.clear();
      try {
        action(this.#nowNs);
      } finally {
        this.#pull(this.#nowNs);
        started = engine.commit(this.#batch.numbers, this.#batch.length, this.#nowNs);
      }
    } finally {
      this.#isLocked = false;
      engine.unlock();
    }
    if (started > 0) this.#read();
    if (this.#expected.length > 0) broken(`the core starts ${this.#expected.join()}, and the engine does not`);
  }

  #read(): void {
    const { engine } = this.#options;
    for (;;) {
      const entries = engine.drain(this.#log);
      for (let at = 0; at < entries * LOG_STRIDE; at += LOG_STRIDE) this.#hear(at);
      if (entries < LOG_ENTRIES) return;
    }
  }

  /** One entry of the log. */
  #hear(at: number): void {
    const kind = this.#log[at];
    const number = this.#log[at + 1] ?? 0;
    const atNs = this.#log[at + 2] ?? 0;
    const first = this.#log[at + 3] ?? 0;
    const second = this.#log[at + 4] ?? 0;
    this.#nowNs = Math.max(this.#nowNs, atNs);
    if (kind === LOG.started) this.#hearStart(number);
    else if (kind === LOG.done) {
      this.#options.onDone(this.#ended(number), this.#log[at + 7] ?? 0, () => this.#measured(at));
      this.core.operatorEnded(number, atNs, first);
    } else if (kind === LOG.failed) {
      const issue = this.#ended(number);
      const [code, message] = this.#options.engine.takeFault(second);
      const reason = this.#unfit.get(number) ?? `${code}: ${message}${this.#options.hint(issue, code)}`;
      this.#unfit.delete(number);
      this.core.operatorFailed(number, atNs, reason, code === "OUT_OF_MEMORY" ? "outOfMemory" : "fault");
    } else if (kind === LOG.moved) this.core.transferEnded(number, atNs, first);
    else if (kind === LOG.moveFailed) {
      const [code, message] = this.#options.engine.takeFault(second);
      this.core.transferFailed(number, atNs, `${code}: ${message}`);
    } else if (kind === LOG.probed)
      this.#events.push({ type: "probed", accelerator: number, probe: first, healthy: second === 1 });
    else if (kind === LOG.emptied) this.#isEmptied[number] = true;
    this.#pull(this.#nowNs);
  }

  #measured(at: number): Measured {
    const [observedNs = 1, outputBytes = 0, peakBytes = 0, declaredBytes = 0] = this.#log.subarray(at + 3, at + 7);
    return { observedNs, outputBytes, peakBytes, declaredBytes };
  }

  #hearStart(issueNumber: number): void {
    const expected = this.#expected.shift();
    if (expected !== issueNumber)
      broken(`the engine started ${issueNumber}, and the core ${expected === undefined ? "nothing" : expected}`);
  }

  #ended(issueNumber: number): IssueInstruction {
    const issue = this.#issues.get(issueNumber);
    if (issue === undefined) broken(`the engine ended ${issueNumber}, which the core does not have`);
    this.#issues.delete(issueNumber);
    return issue;
  }

  /** Takes all that the core has to say; the engine has done the same, or does so with this commit. */
  #pull(nowNs: number): void {
    for (let action = this.core.next(nowNs); action !== undefined; action = this.core.next(nowNs)) this.#take(action);
  }

  #take(action: ExecutorAction): void {
    if (action.type === "startOperator") this.#expected.push(action.instruction.issueNumber);
    if (action.type !== "deliver") return;
    const { event } = action;
    if (event.type === "operatorFailed" || event.type === "withdrawn") this.#issues.delete(event.issueNumber);
    this.#events.push(event);
  }

  /** An instruction that the core has taken: the engine carries it out, or ignores it, as the core did. */
  #mirror(instruction: ExecutorInstruction): void {
    switch (instruction.type) {
      case "registerTemplate":
      case "giveUp":
        break;
      case "loadWeights": {
        const { accelerator, name, bytes } = instruction;
        this.#batch.weights(accelerator, this.#options.weightsNumber(name), bytes);
        break;
      }
      case "issue":
        if (this.isPresent(instruction.accelerator)) this.#issues.set(instruction.issueNumber, instruction);
        this.#batch.issue(instruction, this.#detailsOf(instruction));
        break;
      default:
        this.#batch.plain(instruction);
    }
  }

  #detailsOf(issue: IssueInstruction): IssueDetails {
    try {
      return this.#options.details(issue);
    } catch (error) {
      this.#unfit.set(issue.issueNumber, error instanceof Error ? error.message : String(error));
      return { kernel: -1, declared: [], symbols: [] };
    }
  }

  #givenUp(accelerator: number, lost: LostWork | null): void {
    if (lost === null || !this.isPresent(accelerator)) return;
    this.#leaves(accelerator);
    this.#returns.add(accelerator);
  }

  #leaves(accelerator: number): void {
    this.#isPresent[accelerator] = false;
    this.#isEmptied[accelerator] = false;
    for (const [issueNumber, issue] of this.#issues) {
      if (issue.accelerator !== accelerator) continue;
      this.#issues.delete(issueNumber);
    }
    this.#batch.lose(accelerator);
  }

  /** The master has heard of everything before, so what it says from now on is meant for the accelerator that returns. */
  #returnOne(): void {
    for (const accelerator of this.#returns) {
      if (this.#isEmptied[accelerator] !== true) continue;
      this.#during(() => {
        if (this.#taken < this.#events.length) return;
        this.#returns.delete(accelerator);
        this.core.returnAccelerator(accelerator);
        this.#isPresent[accelerator] = true;
        this.#batch.giveBack(accelerator);
      });
      return;
    }
  }
}

function broken(found: string): never {
  throw new ExecutorError("INVARIANT_BROKEN", `${found}; a bug of @slicescheduler/executor-libtorch`);
}
