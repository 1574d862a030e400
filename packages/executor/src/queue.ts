import { MemoryExceededError, type ResidencyLedger } from "@slicescheduler/memory";
import type { PresentOperator } from "./adopt.ts";
import { ExecutorError } from "./errors.ts";
import { checkCounts } from "./recount.ts";
import { type Life, move, QUEUE_MOVES, type QueueState } from "./states.ts";
import type { IssueInstruction } from "./types.ts";

/** An operator in a queue. */
export interface QueuedOperator {
  readonly instruction: IssueInstruction;
  /** Its priority class: that of its issue, until it is given another one. */
  readonly rank: number;
  readonly state: QueueState;
  readonly history: readonly { readonly state: QueueState; readonly atNs: number }[];
  /** Inputs that are not present on the accelerator. */
  readonly missing: number;
  /** Since when no input is missing; −1 before. */
  readonly readyNs: number;
  /** −1 before it runs. */
  readonly startedNs: number;
}

interface Entry extends Life<QueueState> {
  readonly instruction: IssueInstruction;
  rank: number;
  missing: number;
  readyNs: number;
  startedNs: number;
  activated: boolean;
  /** Inputs whose pending use the ledger counts for it; a lost copy took its uses with it. */
  readonly uses: Set<number>;
}

/** What `start` did: the operator runs, or it was refused for want of memory and has failed. */
export interface QueueStart {
  readonly operator: QueuedOperator;
  readonly refused: string | null;
}

/**
 * The queue of one accelerator: which of its issued operators is blocked, ready, activated or running, and what that means
 * for the accelerator's memory. A pure state machine; `nowNs` only ever comes in as an argument and must not step back.
 *
 * An operator lives like this: `issue` → blocked until `arrived` for each missing input → ready → activated, unless it is
 * held back until `activate` → `start` → `end` or `fail`. Before it runs, `rerank` gives it another priority class and `withdraw`
 * takes it back, at any time; `loseEverything` ends whatever is there.
 * Errors: ILLEGAL_MOVE with the operator's history, and those of the ledger. Cost: O(inputs + outputs) per call, plus moving
 * the activated operators behind one that is inserted or removed.
 */
export class AcceleratorQueue {
  readonly accelerator: number;
  readonly #ledger: ResidencyLedger;
  readonly #entries = new Map<number, Entry>();
  /** Activated operators, the next to run last, so that taking it moves nothing. */
  readonly #activated: Entry[] = [];
  /** By tensor, in the order of their issue numbers: who misses it. */
  readonly #waiting = new Map<number, Entry[]>();
  #running: Entry | null = null;

  constructor(accelerator: number, ledger: ResidencyLedger) {
    this.accelerator = accelerator;
    this.#ledger = ledger;
  }

  /**
   * Takes an operator in: its outputs are expected and its inputs used from now on. Every input has a copy here in the
   * ledger, at least an expected one. Issue numbers rise.
   */
  issue(instruction: IssueInstruction, nowNs: number): void {
    if (this.#entries.has(instruction.issueNumber))
      throw new ExecutorError("DUPLICATE_ISSUE", `issue ${instruction.issueNumber} is in the queue already`);
    const entry = newEntry(instruction, nowNs);
    for (const { tensor } of instruction.outputs) this.#ledger.expect(tensor, this.accelerator);
    for (const { tensor } of instruction.inputs) {
      this.#ledger.addUse(tensor, this.accelerator);
      entry.uses.add(tensor);
      if (!this.#ledger.isPresent(tensor, this.accelerator)) this.#await(tensor, entry);
    }
    this.#entries.set(instruction.issueNumber, entry);
    if (entry.missing > 0) this.#move(entry, "blocked", nowNs);
    else this.#becomeReady(entry, nowNs);
  }

  /**
   * Takes over an operator from a queue that it was in; the ledger has its uses and outputs already. Called by rising issue
   * number, on a queue that nothing was issued to.
   */
  adopt({ instruction, uses, readyNs, startedNs }: PresentOperator, nowNs: number): void {
    const entry = newEntry(instruction, nowNs);
    for (const tensor of uses) entry.uses.add(tensor);
    for (const { tensor } of instruction.inputs) {
      if (!entry.uses.has(tensor)) entry.missing += 1;
      else if (!this.#ledger.isPresent(tensor, this.accelerator)) this.#await(tensor, entry);
    }
    this.#entries.set(instruction.issueNumber, entry);
    if (startedNs >= 0) {
      for (const state of ["ready", "activated", "running"] as const) this.#move(entry, state, nowNs);
      entry.readyNs = readyNs;
      entry.startedNs = startedNs;
      this.#running = entry;
    } else if (entry.missing > 0) this.#move(entry, "blocked", nowNs);
    else this.#becomeReady(entry, readyNs < 0 ? nowNs : readyNs);
  }

  /** A tensor is present here: its consumers, in the order of their issue numbers, miss one input less. */
  arrived(tensor: number, nowNs: number): void {
    const waiting = this.#waiting.get(tensor);
    if (waiting === undefined) return;
    this.#waiting.delete(tensor);
    for (const entry of waiting) {
      entry.missing -= 1;
      if (entry.missing === 0) this.#becomeReady(entry, nowNs);
    }
  }

  /** Forgets a copy that will never be written. Its consumers stay blocked until they are withdrawn. */
  lose(tensor: number): void {
    this.#ledger.abandon(tensor, this.accelerator);
    for (const entry of this.#waiting.get(tensor) ?? []) entry.uses.delete(tensor);
    this.#waiting.delete(tensor);
  }

  /** Allows an operator to run. Returns false when it was allowed to already, or is not here. */
  activate(issueNumber: number, nowNs: number): boolean {
    const entry = this.#entries.get(issueNumber);
    if (entry === undefined || entry.activated) return false;
    entry.activated = true;
    if (entry.state === "ready") this.#becomeActivated(entry, nowNs);
    return true;
  }

  /** Another priority class for an operator. Returns false when it has that class already, runs, or is not here. */
  rerank(issueNumber: number, rank: number): boolean {
    const entry = this.#entries.get(issueNumber);
    if (entry === undefined || entry === this.#running || entry.rank === rank) return false;
    if (entry.state === "activated") this.#activated.splice(this.#activated.indexOf(entry), 1);
    entry.rank = rank;
    if (entry.state === "activated") this.#insertActivated(entry);
    return true;
  }

  /** The operator that starts next: the first activated one by rank, ready time, issue number; none while one runs. */
  next(): QueuedOperator | undefined {
    return this.#running === null ? this.#activated.at(-1) : undefined;
  }

  /**
   * Starts the next operator, if there is one: allocates its outputs in declared order, then its workspace. When they do not
   * fit, it fails instead, and its uses end and its outputs are lost; a buffer that an output already grew stays so.
   */
  start(nowNs: number): QueueStart | undefined {
    if (this.#running !== null) return undefined;
    const entry = this.#activated.pop();
    if (entry === undefined) return undefined;
    for (const { tensor } of entry.instruction.inputs)
      if (!this.#ledger.isPresent(tensor, this.accelerator)) inputGone(entry, tensor);
    const refused = this.#allocate(entry.instruction);
    if (refused === null) {
      this.#move(entry, "running", nowNs);
      entry.startedNs = nowNs;
      this.#running = entry;
    } else {
      this.#move(entry, "failed", nowNs);
      this.#remove(entry);
      this.#loseOutputs(entry);
    }
    return { operator: entry, refused };
  }

  /**
   * The running operator has ended: its workspace is free, its uses end, its outputs are present, what nobody needs is freed,
   * and consumers here that miss nothing any more are ready.
   */
  end(issueNumber: number, nowNs: number): QueuedOperator {
    const entry = this.#leaveRunning(issueNumber, "done", nowNs);
    const { outputs } = entry.instruction;
    for (const { tensor } of outputs) this.#ledger.markPresent(tensor, this.accelerator);
    for (const { tensor } of outputs) this.arrived(tensor, nowNs);
    return entry;
  }

  /** The running operator has ended without outputs. */
  fail(issueNumber: number, nowNs: number): QueuedOperator {
    const entry = this.#leaveRunning(issueNumber, "failed", nowNs);
    this.#loseOutputs(entry);
    return entry;
  }

  /** Takes back an operator that does not run: its uses end, its outputs are lost. Throws ILLEGAL_MOVE for a running one. */
  withdraw(issueNumber: number, nowNs: number): QueuedOperator {
    const entry = this.#at(issueNumber);
    const wasActivated = entry.state === "activated";
    this.#move(entry, "withdrawn", nowNs);
    if (wasActivated) this.#activated.splice(this.#activated.indexOf(entry), 1);
    this.#stopWaiting(entry);
    this.#remove(entry);
    this.#loseOutputs(entry);
    return entry;
  }

  /**
   * The accelerator is lost with every operator here, the running one too, and all of its memory. Returns the operators in
   * the order of issue. Transfers out of here have to end before: their sends go with the memory.
   */
  loseEverything(nowNs: number): readonly QueuedOperator[] {
    const lost = [...this.#entries.values()];
    for (const entry of lost) this.#move(entry, "lost", nowNs);
    this.#entries.clear();
    this.#activated.length = 0;
    this.#waiting.clear();
    this.#running = null;
    this.#ledger.loseEverything(this.accelerator);
    return lost;
  }

  /** Whether an operator here waits for this tensor. */
  isAwaited(tensor: number): boolean {
    return this.#waiting.has(tensor);
  }

  get(issueNumber: number): QueuedOperator | undefined {
    return this.#entries.get(issueNumber);
  }

  get running(): QueuedOperator | null {
    return this.#running;
  }

  /** Every operator here, in the order of issue. */
  operators(): IterableIterator<QueuedOperator> {
    return this.#entries.values();
  }

  /** Checks its state against a recount from scratch. Throws INVARIANT_BROKEN. */
  validate(): void {
    for (const entry of this.#entries.values()) {
      const missing = entry.instruction.inputs.filter(
        ({ tensor }) => !entry.uses.has(tensor) || !this.#ledger.isPresent(tensor, this.accelerator),
      ).length;
      const expected: QueueState =
        entry === this.#running ? "running" : missing > 0 ? "blocked" : entry.activated ? "activated" : "ready";
      if (missing !== entry.missing || entry.state !== expected) {
        const found = `is ${entry.state} and misses ${entry.missing} inputs, by recount ${expected} and ${missing}`;
        throw new ExecutorError("INVARIANT_BROKEN", `${nameOf(entry)} ${found}`);
      }
    }
    const sorted = [...this.#entries.values()].filter(({ state }) => state === "activated").sort(lastFirst);
    if (sorted.length !== this.#activated.length || sorted.some((entry, at) => entry !== this.#activated[at]))
      throw new ExecutorError("INVARIANT_BROKEN", `accelerator ${this.accelerator} has its activated out of order`);
    const uses = new Map<number, number>();
    for (const entry of this.#entries.values())
      for (const tensor of entry.uses) uses.set(tensor, (uses.get(tensor) ?? 0) + 1);
    checkCounts(this.#ledger, this.accelerator, "uses", uses);
  }

  #await(tensor: number, entry: Entry): void {
    entry.missing += 1;
    const waiting = this.#waiting.get(tensor);
    if (waiting === undefined) this.#waiting.set(tensor, [entry]);
    else waiting.push(entry);
  }

  #stopWaiting(entry: Entry): void {
    for (const { tensor } of entry.instruction.inputs) {
      const others = this.#waiting.get(tensor)?.filter((other) => other !== entry);
      if (others === undefined) continue;
      if (others.length === 0) this.#waiting.delete(tensor);
      else this.#waiting.set(tensor, others);
    }
  }

  #becomeReady(entry: Entry, nowNs: number): void {
    this.#move(entry, "ready", nowNs);
    entry.readyNs = nowNs;
    if (entry.activated) this.#becomeActivated(entry, nowNs);
  }

  #becomeActivated(entry: Entry, nowNs: number): void {
    this.#move(entry, "activated", nowNs);
    this.#insertActivated(entry);
  }

  #insertActivated(entry: Entry): void {
    let low = 0;
    let high = this.#activated.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#activated[middle];
      if (other !== undefined && lastFirst(other, entry) < 0) low = middle + 1;
      else high = middle;
    }
    this.#activated.splice(low, 0, entry);
  }

  /** Why it does not fit, or null. */
  #allocate({ outputs, workspaceBytes }: IssueInstruction): string | null {
    try {
      for (const { tensor, bytes, aliases } of outputs)
        this.#ledger.allocate(tensor, this.accelerator, bytes, aliases ?? -1);
      this.#ledger.beginWorkspace(this.accelerator, workspaceBytes);
      return null;
    } catch (error) {
      if (error instanceof MemoryExceededError) return error.message;
      throw error;
    }
  }

  #leaveRunning(issueNumber: number, to: "done" | "failed", nowNs: number): Entry {
    const entry = this.#at(issueNumber);
    // The table also knows a failure on starting; only what runs can end.
    if (entry !== this.#running)
      throw new ExecutorError("ILLEGAL_MOVE", `${nameOf(entry)} cannot be ${to} at ${nowNs} ns, it is ${entry.state}`);
    this.#move(entry, to, nowNs);
    this.#running = null;
    this.#ledger.endWorkspace(this.accelerator, entry.instruction.workspaceBytes);
    this.#remove(entry);
    return entry;
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.instruction.issueNumber);
    for (const tensor of entry.uses) this.#ledger.endUse(tensor, this.accelerator);
  }

  #loseOutputs(entry: Entry): void {
    for (const { tensor } of entry.instruction.outputs) this.lose(tensor);
  }

  #at(issueNumber: number): Entry {
    const entry = this.#entries.get(issueNumber);
    if (entry === undefined)
      throw new ExecutorError("UNKNOWN_ISSUE", `issue ${issueNumber} is not on accelerator ${this.accelerator}`);
    return entry;
  }

  #move(entry: Entry, to: QueueState, nowNs: number): void {
    move(QUEUE_MOVES, entry, to, nowNs, nameOf);
  }
}

function newEntry(instruction: IssueInstruction, nowNs: number): Entry {
  return {
    instruction,
    rank: instruction.rank,
    state: "issued",
    history: [{ state: "issued", atNs: nowNs }],
    missing: 0,
    readyNs: -1,
    startedNs: -1,
    activated: instruction.activated,
    uses: new Set(),
  };
}

function nameOf({ instruction }: Entry): string {
  const { issueNumber, template, operator, instance, accelerator } = instruction;
  return `issue ${issueNumber} (operator ${operator} of ${JSON.stringify(template)}, instance ${instance}) on accelerator ${accelerator}`;
}

function inputGone(entry: Entry, tensor: number): never {
  throw new ExecutorError(
    "INVARIANT_BROKEN",
    `${nameOf(entry)} is to start, but its input tensor ${tensor} is not present`,
  );
}

/** The order among activated operators, backwards: negative when `a` runs after `b`. */
function lastFirst(a: Entry, b: Entry): number {
  return b.rank - a.rank || b.readyNs - a.readyNs || b.instruction.issueNumber - a.instruction.issueNumber;
}
