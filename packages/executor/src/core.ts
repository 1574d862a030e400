import { MemoryExceededError, ResidencyLedger } from "@slicescheduler/memory";
import type { Cluster, Template } from "@slicescheduler/templates";
import { ActionLine, type ExecutorAction } from "./actions.ts";
import { checkAdmissible, type Surroundings, whyUnavailable } from "./admission.ts";
import type { PresentWork } from "./adopt.ts";
import { Attempts } from "./attempts.ts";
import type { ExecutorCoreOptions, LostWork } from "./core-options.ts";
import { ExecutorError } from "./errors.ts";
import { checkAccelerator, checkIssue, checkRecv, checkWhole, unknownInstruction } from "./instructions.ts";
import { Presence } from "./presence.ts";
import { AcceleratorQueue } from "./queue.ts";
import { type ExecutorStats, type Leftovers, leftoversOf, Tally } from "./stats.ts";
import { Templates } from "./templates.ts";
import { type PendingTransfer, TransferTable } from "./transfers.ts";
import type { ExecutorInstruction, IssueInstruction, OperatorFailure } from "./types.ts";

type Instruction<Type extends ExecutorInstruction["type"]> = Extract<ExecutorInstruction, { type: Type }>;

/**
 * What every executor backend does between its master and its devices: the queues of all accelerators, the transfers and the
 * memory, by the rules of docs/execution-model.md. A pure state machine: instructions and completions go in at a time that
 * must not step back, and come out of `next` as things to do, in order, until there is nothing to do at that time. A backend
 * adds the doing alone.
 *
 * Events come out in the order of their causes. Accelerators start operators, in index order, when no event is left to
 * deliver: so whatever a master answers while an event is delivered counts before anything starts.
 */
export class ExecutorCore {
  readonly cluster: Cluster;
  readonly ledger: ResidencyLedger;
  readonly #queues: readonly AcceleratorQueue[];
  readonly #transfers: TransferTable;
  readonly #surroundings: Surroundings;
  readonly #templates: Templates;
  readonly #presence: Presence;
  /** Accelerator of every operator in a queue, by issue number. */
  readonly #acceleratorOf = new Map<number, number>();
  /** Bytes of every transfer that has its receive buffer. */
  readonly #bytesOf = new Map<number, number>();
  readonly #attempts = new Attempts();
  readonly #tally: Tally;
  /** Accelerators on which something may be able to start. */
  readonly #touched = new Set<number>();
  readonly #line = new ActionLine();
  readonly #onAsked: ExecutorCoreOptions["onAsked"];
  readonly #onTaken: ExecutorCoreOptions["onTaken"];
  #newestIssue = -1;

  constructor(cluster: Cluster, options: ExecutorCoreOptions = {}) {
    this.cluster = cluster;
    const { present } = options;
    this.#onAsked = options.onAsked;
    this.#onTaken = options.onTaken;
    this.ledger =
      present === undefined
        ? new ResidencyLedger(cluster.accelerators, options)
        : ResidencyLedger.load(present.work.ledger, options);
    this.#queues = cluster.accelerators.map(({ index }) => new AcceleratorQueue(index, this.ledger));
    this.#transfers = new TransferTable(cluster.accelerators.length, this.ledger);
    this.#surroundings = { cluster, ledger: this.ledger, transfers: this.#transfers };
    this.#templates = new Templates(cluster, present?.work.templates);
    this.#presence = new Presence(cluster, present?.work.absent);
    this.#tally = new Tally(cluster.accelerators.length);
    if (present !== undefined) this.#adopt(present.work, present.nowNs);
  }

  /** Applies the instructions in order; when one throws, those before it stay applied and it changed nothing. */
  execute(instructions: readonly ExecutorInstruction[], nowNs: number): void {
    const raised: number[] = [];
    try {
      for (const instruction of instructions) {
        this.#apply(instruction, nowNs, raised);
        this.#onTaken?.(instruction);
      }
    } finally {
      this.#raise(raised);
    }
  }

  /**
   * A started operator has ended. One that does not run is late or a duplicate: ignored and counted.
   * @param observedNs how long it took; default: since it started.
   */
  operatorEnded(issueNumber: number, nowNs: number, observedNs?: number): void {
    const queue = this.#queueRunning(issueNumber);
    if (queue === undefined) return;
    const { instruction, startedNs } = queue.end(issueNumber, nowNs);
    this.#forget(issueNumber, queue.accelerator);
    this.#attempts.done(instruction.instance, instruction.operator);
    this.#tally.ranOperator(queue.accelerator, nowNs - startedNs);
    const raised: number[] = [];
    for (const { tensor } of instruction.outputs) this.#transfers.raise(tensor, queue.accelerator, nowNs, raised);
    this.#raise(raised);
    this.#line.deliver({ type: "operatorDone", issueNumber, observedNs: observedNs ?? nowNs - startedNs });
  }

  /** A started operator has ended without outputs. */
  operatorFailed(issueNumber: number, nowNs: number, reason: string, cause: OperatorFailure = "fault"): void {
    const queue = this.#queueRunning(issueNumber);
    if (queue === undefined) return;
    const { instruction, startedNs } = queue.fail(issueNumber, nowNs);
    this.#forget(issueNumber, queue.accelerator);
    this.#tally.ranOperator(queue.accelerator, nowNs - startedNs);
    this.#failed(instruction, nowNs, cause, reason);
  }

  /** A started transfer has ended. One that is not sending is late or a duplicate: ignored and counted. */
  transferEnded(transfer: number, nowNs: number, observedNs?: number): void {
    if (!this.#isSending(transfer)) return;
    const { tensor, source, destination, sendNs } = this.#transfers.end(transfer, "done", nowNs);
    this.#bytesOf.delete(transfer);
    this.#tally.moved(source, destination);
    this.#queueAt(destination).arrived(tensor, nowNs);
    this.#touched.add(destination);
    this.#line.deliver({ type: "transferDone", transfer, observedNs: observedNs ?? nowNs - sendNs });
    const raised: number[] = [];
    this.#transfers.raise(tensor, destination, nowNs, raised);
    this.#raise(raised);
  }

  /** A started transfer has ended without a copy at its destination. */
  transferFailed(transfer: number, nowNs: number, reason: string): void {
    if (!this.#isSending(transfer)) return;
    const { tensor, destination } = this.#transfers.end(transfer, "failed", nowNs);
    this.#bytesOf.delete(transfer);
    this.#lose(tensor, destination, nowNs);
    this.#line.deliver({ type: "transferFailed", transfer, reason });
  }

  /**
   * An accelerator is gone with everything on it: its queue, its memory, and transfers from and to it at whatever step.
   * Of all that nothing is reported but `acceleratorLost`, after the events already in line. Returns what was under way;
   * its completions are late. One that is absent already: ignored and counted. Throws UNKNOWN_ACCELERATOR.
   * Costs O(its operators and copies + pending transfers).
   */
  loseAccelerator(accelerator: number, nowNs: number, reason: string): LostWork {
    const queue = this.#queueAt(accelerator);
    if (!this.#presence.change(accelerator, true)) {
      this.#tally.ignored++;
      return { operators: [], transfers: [] };
    }
    const { running } = queue;
    const transfers = this.#transfers.loseAccelerator(accelerator, nowNs);
    for (const { transfer } of transfers) this.#bytesOf.delete(transfer);
    for (const { instruction } of queue.loseEverything(nowNs)) {
      this.#acceleratorOf.delete(instruction.issueNumber);
      this.#attempts.inVain(instruction.instance, instruction.operator);
    }
    this.#tally.lost(accelerator, running === null ? 0 : nowNs - running.startedNs);
    const operators = running === null ? [] : [running.instruction.issueNumber];
    const sending = transfers.filter(({ sendNs }) => sendNs >= 0).map(({ transfer }) => transfer);
    this.#line.dropStarts(new Set(operators), new Set(sending));
    this.#line.deliver({ type: "acceleratorLost", accelerator, reason });
    for (const { tensor, source, destination } of transfers)
      if (source === accelerator) this.#lose(tensor, destination, nowNs);
    return { operators, transfers: sending };
  }

  /**
   * An absent accelerator is there, empty: without weights. Instructions that concern it are carried out from the moment at
   * which `next` gives its `acceleratorReturned`. One that is there already: ignored and counted. Throws UNKNOWN_ACCELERATOR.
   */
  returnAccelerator(accelerator: number): void {
    this.#queueAt(accelerator);
    if (this.#presence.change(accelerator, false)) this.#line.deliver({ type: "acceleratorReturned", accelerator });
    else this.#tally.ignored++;
  }

  /** The next thing to do; undefined when everything possible at this time is done. */
  next(nowNs: number): ExecutorAction | undefined {
    if (this.#line.isEmpty && this.#touched.size > 0) this.#startIdle(nowNs);
    const action = this.#line.take();
    if (action?.type === "deliver") {
      const { event } = action;
      if (event.type === "acceleratorLost" || event.type === "acceleratorReturned")
        this.#presence.told(event.accelerator);
    }
    return action;
  }

  /** Throws UNKNOWN_TEMPLATE. */
  template(name: string): Template {
    return this.#templates.get(name);
  }

  stats(nowNs: number): ExecutorStats {
    return this.#tally.stats(this.cluster, this.ledger, this.#queues, this.#presence, nowNs);
  }

  /** What is there besides weights; all of it empty after a run that released everything. */
  leftovers(): Leftovers {
    return leftoversOf(this.ledger, this.#queues, this.#transfers);
  }

  /** Recounts the whole state from scratch. Throws INVARIANT_BROKEN. */
  validate(): void {
    this.ledger.validate();
    this.#transfers.validate();
    for (const queue of this.#queues) queue.validate();
  }

  #adopt({ operators, transfers, newestIssue, newestTransfer }: PresentWork, nowNs: number): void {
    this.#newestIssue = newestIssue;
    for (const operator of operators) {
      const { issueNumber, accelerator } = operator.instruction;
      this.#queueAt(accelerator).adopt(operator, nowNs);
      this.#acceleratorOf.set(issueNumber, accelerator);
      this.#touched.add(accelerator);
    }
    this.#raise(this.#transfers.adopt(transfers, newestTransfer, nowNs));
  }

  #apply(instruction: ExecutorInstruction, nowNs: number, raised: number[]): void {
    switch (instruction.type) {
      case "registerTemplate":
        this.#templates.register(instruction.template);
        break;
      case "loadWeights":
        this.#loadWeights(instruction);
        break;
      case "issue":
        this.#issue(instruction, nowNs, raised);
        break;
      case "activate":
        this.#activate(instruction, nowNs);
        break;
      case "rerank":
        this.#rerank(instruction);
        break;
      case "withdraw":
        this.#withdraw(instruction, nowNs);
        break;
      case "activateRecv":
        this.#receive(instruction, nowNs);
        break;
      case "cancelTransfer":
        this.#cancelTransfer(instruction, nowNs);
        break;
      case "probe":
      case "giveUp":
        this.#ask(instruction, nowNs);
        break;
      case "activateSend":
        this.#send(instruction, nowNs);
        break;
      case "hold":
      case "release":
        this.#keep(instruction);
        break;
      default:
        unknownInstruction(instruction);
    }
  }

  #ask(asked: Instruction<"probe" | "giveUp">, nowNs: number): void {
    const { type, accelerator } = asked;
    const lost = type === "giveUp" ? this.loseAccelerator(accelerator, nowNs, asked.reason) : null;
    this.#onAsked?.(asked, lost);
  }

  #loadWeights(instruction: Instruction<"loadWeights">): void {
    const { accelerator, name, bytes } = instruction;
    checkAccelerator(instruction, "accelerator", accelerator, this.#queues.length);
    checkWhole(instruction, "bytes", bytes);
    if (!this.#presence.serves(accelerator)) {
      this.#tally.ignored++;
      return;
    }
    try {
      this.ledger.loadWeights(accelerator, name, bytes);
    } catch (cause) {
      if (!(cause instanceof MemoryExceededError)) throw cause;
      this.#tally.overCapacityRefused++;
      throw new ExecutorError("OVER_CAPACITY", `weights do not fit: ${cause.message}`, { cause });
    }
  }

  #issue(instruction: IssueInstruction, nowNs: number, raised: number[]): void {
    const { issueNumber, accelerator, inputs } = instruction;
    checkIssue(instruction, this.#queues.length);
    if (issueNumber <= this.#newestIssue) {
      const found = `issue ${issueNumber} came after issue ${this.#newestIssue}`;
      throw new ExecutorError("ISSUE_ORDER", `${found}; issue numbers rise and are never used again`);
    }
    checkAdmissible(instruction, this.template(instruction.template), this.#surroundings);
    this.#newestIssue = issueNumber;
    if (!this.#presence.serves(accelerator)) {
      this.#tally.ignored++;
      return;
    }
    for (const input of inputs) {
      const reason = whyUnavailable(input, accelerator, this.#surroundings);
      if (reason !== null) {
        this.#failed(instruction, nowNs, "inputLost", reason);
        return;
      }
    }
    for (const { tensor, transfer, source } of inputs) {
      if (transfer === null || this.ledger.has(tensor, accelerator)) continue;
      this.#transfers.plan(transfer, tensor, source, accelerator, nowNs);
      if (this.ledger.isPresent(tensor, source)) this.#transfers.raise(tensor, source, nowNs, raised);
    }
    this.#queueAt(accelerator).issue(instruction, nowNs);
    this.#acceleratorOf.set(issueNumber, accelerator);
    this.#touched.add(accelerator);
  }

  #activate({ issueNumber }: Instruction<"activate">, nowNs: number): void {
    const accelerator = this.#acceleratorOf.get(issueNumber);
    if (accelerator === undefined) this.#late(issueNumber);
    else if (this.#queueAt(accelerator).activate(issueNumber, nowNs)) this.#touched.add(accelerator);
    else this.#tally.ignored++;
  }

  #rerank(instruction: Instruction<"rerank">): void {
    const { issueNumber, rank } = instruction;
    checkWhole(instruction, "rank", rank);
    const accelerator = this.#acceleratorOf.get(issueNumber);
    if (accelerator === undefined) this.#late(issueNumber);
    else if (!this.#queueAt(accelerator).rerank(issueNumber, rank)) this.#tally.ignored++;
  }

  #withdraw({ issueNumber }: Instruction<"withdraw">, nowNs: number): void {
    const accelerator = this.#acceleratorOf.get(issueNumber);
    if (accelerator === undefined) {
      this.#late(issueNumber);
      return;
    }
    const queue = this.#queueAt(accelerator);
    if (queue.running?.instruction.issueNumber === issueNumber) return;
    const { instruction } = queue.withdraw(issueNumber, nowNs);
    this.#acceleratorOf.delete(issueNumber);
    for (const { tensor } of instruction.inputs) {
      const incoming = this.#transfers.incoming(tensor, accelerator);
      if (incoming?.state !== "planned" || queue.isAwaited(tensor)) continue;
      this.#transfers.cancel(incoming.transfer, nowNs);
      this.#cancelled(incoming, nowNs);
    }
    this.#attempts.inVain(instruction.instance, instruction.operator);
    this.#cancelOnward(instruction, nowNs);
    this.#line.deliver({ type: "withdrawn", issueNumber });
  }

  #receive(instruction: Instruction<"activateRecv">, nowNs: number): void {
    const { transfer, bytes } = instruction;
    const pending = this.#transfers.get(transfer);
    if (pending === undefined) {
      this.#lateTransfer(transfer);
      return;
    }
    checkRecv(instruction, pending, this.ledger);
    const refused = this.#transfers.receive(transfer, bytes, nowNs);
    if (refused === null) {
      this.#bytesOf.set(transfer, bytes);
      this.#line.deliver({ type: "recvReady", transfer });
    } else {
      this.#tally.overCapacityRefused++;
      this.#line.deliver({ type: "recvFailed", transfer, reason: refused });
    }
  }

  #cancelTransfer({ transfer }: Instruction<"cancelTransfer">, nowNs: number): void {
    const pending = this.#transfers.get(transfer);
    if (pending === undefined) this.#lateTransfer(transfer);
    else if (pending.state === "sending") this.#tally.ignored++;
    else {
      this.#transfers.cancel(transfer, nowNs);
      this.#bytesOf.delete(transfer);
      this.#cancelled(pending, nowNs);
    }
  }

  #send({ transfer }: Instruction<"activateSend">, nowNs: number): void {
    if (this.#transfers.get(transfer) === undefined) {
      this.#lateTransfer(transfer);
      return;
    }
    const { tensor, source, destination } = this.#transfers.send(transfer, nowNs);
    const bytes = this.#bytesOf.get(transfer) ?? 0;
    this.#line.push({ type: "startTransfer", transfer: { transfer, tensor, source, destination, bytes } });
  }

  /** A copy that has gone is neither held nor released any more. */
  #keep(instruction: Instruction<"hold" | "release">): void {
    const { type, tensor, accelerator } = instruction;
    checkAccelerator(instruction, "accelerator", accelerator, this.#queues.length);
    checkWhole(instruction, "tensor", tensor);
    if (type === "hold" && this.ledger.has(tensor, accelerator)) this.ledger.hold(tensor, accelerator);
    else if (type === "release" && this.ledger.isHeld(tensor, accelerator)) this.ledger.release(tensor, accelerator);
    else this.#tally.ignored++;
  }

  /** In index order; one that does not fit fails, and the next of its queue has its turn. */
  #startIdle(nowNs: number): void {
    const touched = [...this.#touched].sort((a, b) => a - b);
    this.#touched.clear();
    for (const accelerator of touched) {
      const queue = this.#queueAt(accelerator);
      for (let start = queue.start(nowNs); start !== undefined; start = queue.start(nowNs)) {
        const { instruction } = start.operator;
        const { issueNumber } = instruction;
        if (start.refused === null) {
          const attempt = this.#attempts.of(instruction.instance, instruction.operator);
          this.#line.push({ type: "startOperator", instruction, attempt });
          this.#line.deliver({ type: "operatorStarted", issueNumber });
          break;
        }
        this.#tally.overCapacityRefused++;
        this.#acceleratorOf.delete(issueNumber);
        this.#failed(instruction, nowNs, "outOfMemory", start.refused);
      }
    }
  }

  #failed(instruction: IssueInstruction, nowNs: number, cause: OperatorFailure, reason: string): void {
    this.#tally.failed++;
    this.#attempts.inVain(instruction.instance, instruction.operator);
    this.#cancelOnward(instruction, nowNs);
    this.#line.deliver({ type: "operatorFailed", issueNumber: instruction.issueNumber, cause, reason });
  }

  /** The operator's outputs will not come: neither will their transfers. */
  #cancelOnward({ accelerator, outputs }: IssueInstruction, nowNs: number): void {
    for (const { tensor } of outputs)
      for (const pending of this.#transfers.cancelFrom(tensor, accelerator, nowNs)) this.#cancelled(pending, nowNs);
  }

  #cancelled({ transfer, tensor, destination }: PendingTransfer, nowNs: number): void {
    this.#lose(tensor, destination, nowNs);
    this.#line.deliver({ type: "transferCancelled", transfer });
  }

  /** An expected copy will not come: neither will the copies that were to be made of it. */
  #lose(tensor: number, accelerator: number, nowNs: number): void {
    const lost: { readonly tensor: number; readonly destination: number }[] = [{ tensor, destination: accelerator }];
    for (let copy = lost.pop(); copy !== undefined; copy = lost.pop()) {
      for (const onward of this.#transfers.cancelFrom(copy.tensor, copy.destination, nowNs)) {
        lost.push(onward);
        this.#line.deliver({ type: "transferCancelled", transfer: onward.transfer });
      }
      this.#queueAt(copy.destination).lose(copy.tensor);
    }
  }

  #queueRunning(issueNumber: number): AcceleratorQueue | undefined {
    const accelerator = this.#acceleratorOf.get(issueNumber);
    const queue = accelerator === undefined ? undefined : this.#queueAt(accelerator);
    if (queue?.running?.instruction.issueNumber === issueNumber) return queue;
    this.#tally.ignored++;
    return undefined;
  }

  #isSending(transfer: number): boolean {
    if (this.#transfers.get(transfer)?.state === "sending") return true;
    this.#tally.ignored++;
    return false;
  }

  #forget(issueNumber: number, accelerator: number): void {
    this.#acceleratorOf.delete(issueNumber);
    this.#touched.add(accelerator);
  }

  #late(issueNumber: number): void {
    if (issueNumber > this.#newestIssue)
      throw new ExecutorError(
        "UNKNOWN_ISSUE",
        `issue ${issueNumber} was never given; the newest is ${this.#newestIssue}`,
      );
    this.#tally.ignored++;
  }

  #lateTransfer(transfer: number): void {
    if (!this.#transfers.isPast(transfer))
      throw new ExecutorError("UNKNOWN_TRANSFER", `transfer ${transfer} was never planned by an issue`);
    this.#tally.ignored++;
  }

  #raise(raised: number[]): void {
    if (raised.length === 0) return;
    this.#line.deliver({ type: "intentsRaised", transfers: raised.sort((a, b) => a - b) });
  }

  #queueAt(accelerator: number): AcceleratorQueue {
    const queue = this.#queues[accelerator];
    if (queue === undefined)
      throw new ExecutorError(
        "UNKNOWN_ACCELERATOR",
        `there is no accelerator ${accelerator} among ${this.#queues.length}`,
      );
    return queue;
  }
}
