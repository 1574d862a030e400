import type {
  Executor,
  ExecutorContext,
  ExecutorEvent,
  ExecutorInstruction,
  IssuedInput,
  IssueInstruction,
  OperatorFailure,
} from "@slicescheduler/executor";
import { type Cluster, compileCluster, type TemplateSpec } from "@slicescheduler/gmg";
import { Agenda } from "./agenda.fixture.ts";
import { PlainMemory } from "./memory.fixture.ts";
import { checkNumbers, refuseIf } from "./refusals.fixture.ts";

interface Issue {
  readonly instruction: IssueInstruction;
  rank: number;
  activated: boolean;
  /** An input was lost. */
  stuck: boolean;
  readyNs: number | null;
  running: boolean;
}

interface Transfer {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: number;
  readonly destination: number;
  state: "planned" | "intent" | "receiving" | "sending";
}

type Instruction<Type extends ExecutorInstruction["type"]> = Extract<ExecutorInstruction, { readonly type: Type }>;

/**
 * A backend written from docs/execution-model.md and the interface alone, without anything of the executor package: lists that are searched, all
 * found out again after each change. It shows that the suite asks for the rules, not for one way to keep them.
 */
export class PlainBackend implements Executor {
  readonly manifest = { name: "plain", simulatedTime: true };
  readonly clock = new Agenda();
  #context: ExecutorContext | null = null;
  #cluster: Cluster | null = null;
  #memories: readonly PlainMemory[] = [];
  readonly #templates = new Map<string, TemplateSpec>();
  readonly #issues = new Map<number, Issue>();
  readonly #transfers = new Map<number, Transfer>();
  /** Bytes of every tensor that was issued. */
  readonly #sizes = new Map<number, number>();
  readonly #events: ExecutorEvent[] = [];
  #newestIssue = -1;
  #newestTransfer = -1;
  #isPumping: boolean = false;
  #isClosed: boolean = false;

  open(context: ExecutorContext): void {
    refuseIf(this.#context !== null, "ALREADY_OPEN", "it is open");
    this.#context = context;
    this.#cluster = compileCluster(context.cluster);
    this.#memories = this.#cluster.accelerators.map((accelerator) => new PlainMemory(accelerator));
  }

  execute(instructions: readonly ExecutorInstruction[]): void {
    refuseIf(this.#isClosed, "CLOSED", "it is closed");
    refuseIf(this.#context === null, "NOT_OPEN", "it is not open");
    try {
      for (const instruction of instructions) this.#apply(instruction);
    } finally {
      this.#raise();
      this.#pump();
    }
  }

  step(): boolean {
    return this.clock.step();
  }

  close(): void {
    this.#isClosed = true;
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (!this.#isClosed) {
      if (this.#events.length === 0) for (const on of this.#memories.keys()) this.#startNext(on);
      const event = this.#events.shift();
      if (event === undefined) break;
      this.#context?.deliver(event);
    }
    this.#isPumping = false;
  }

  #apply(instruction: ExecutorInstruction): void {
    checkNumbers(instruction, this.#memories.length);
    switch (instruction.type) {
      case "registerTemplate":
        this.#register(instruction.template);
        break;
      case "loadWeights":
        this.#loadWeights(instruction);
        break;
      case "issue":
        this.#issue(instruction);
        break;
      case "activate":
      case "rerank":
      case "withdraw":
        this.#change(instruction);
        break;
      case "activateRecv":
      case "activateSend":
      case "cancelTransfer":
        this.#move(instruction);
        break;
      case "hold":
      case "release": {
        const copy = this.#memories[instruction.accelerator]?.find(instruction.tensor);
        if (copy !== undefined) copy.held = instruction.type === "hold";
        break;
      }
      default:
        refuseIf(true, "INVALID_INSTRUCTION", "there is no such instruction");
    }
    this.#settle();
  }

  #register(template: TemplateSpec): void {
    const before = this.#templates.get(template.name) ?? template;
    refuseIf(JSON.stringify(before) !== JSON.stringify(template), "TEMPLATE_CONFLICT", "it is another one");
    this.#templates.set(template.name, template);
  }

  #loadWeights({ accelerator, name, bytes }: Instruction<"loadWeights">): void {
    const memory = this.#at(accelerator);
    const before = memory.weights.get(name);
    refuseIf(before !== undefined && before !== bytes, "WEIGHTS_MISMATCH", `there are ${before} bytes`);
    refuseIf(before === undefined && !memory.fits(bytes), "OVER_CAPACITY", `${bytes} bytes do not fit`);
    memory.weights.set(name, bytes);
  }

  #issue(instruction: IssueInstruction): void {
    const { issueNumber, accelerator, inputs, outputs, rank, activated } = instruction;
    refuseIf(issueNumber <= this.#newestIssue, "ISSUE_ORDER", `after ${this.#newestIssue}`);
    const template = this.#templates.get(instruction.template);
    refuseIf(template === undefined, "UNKNOWN_TEMPLATE", instruction.template);
    refuseIf(instruction.operator >= (template?.operators.length ?? 0), "INVALID_INSTRUCTION", "no such operator");
    const memory = this.#at(accelerator);
    for (const { tensor } of outputs) refuseIf(memory.find(tensor) !== undefined, "DUPLICATE_OUTPUT", `${tensor}`);
    const brought = inputs.filter(({ tensor, transfer }) => transfer !== null && memory.find(tensor) === undefined);
    for (const { transfer, source } of brought) {
      refuseIf(this.#cluster?.route(source, accelerator) === undefined, "INVALID_INSTRUCTION", "there is no link");
      refuseIf(this.#transfers.has(transfer ?? -1), "INVALID_INSTRUCTION", `transfer ${transfer} is another`);
    }
    this.#newestIssue = issueNumber;
    if (!inputs.every((input) => this.#isAvailable(input, accelerator))) {
      this.#fail(instruction, "inputLost");
      return;
    }
    for (const { tensor, transfer, source } of brought) {
      const number = transfer ?? -1;
      this.#newestTransfer = Math.max(this.#newestTransfer, number);
      this.#transfers.set(number, { transfer: number, tensor, source, destination: accelerator, state: "planned" });
      memory.expect(tensor);
    }
    for (const { tensor, bytes } of outputs) {
      memory.expect(tensor);
      this.#sizes.set(tensor, bytes);
    }
    this.#issues.set(issueNumber, { instruction, rank, activated, stuck: false, readyNs: null, running: false });
  }

  #isAvailable({ tensor, transfer, source }: IssuedInput, accelerator: number): boolean {
    if (this.#at(accelerator).find(tensor) !== undefined) return true;
    if (transfer === null || transfer <= this.#newestTransfer) return false;
    return this.#at(source).find(tensor) !== undefined;
  }

  #change(instruction: Instruction<"activate" | "rerank" | "withdraw">): void {
    const { issueNumber } = instruction;
    refuseIf(issueNumber > this.#newestIssue, "UNKNOWN_ISSUE", `${issueNumber} was never given`);
    const issue = this.#issues.get(issueNumber);
    if (issue === undefined || issue.running) return;
    if (instruction.type === "activate") issue.activated = true;
    else if (instruction.type === "rerank") issue.rank = instruction.rank;
    else {
      const { accelerator, inputs, outputs } = issue.instruction;
      this.#issues.delete(issueNumber);
      for (const { tensor } of inputs) {
        const isAwaited = [...this.#issues.values()].some((other) => reads(other, tensor, accelerator));
        for (const { transfer, state, ...moved } of this.#transfers.values()) {
          const isIt = moved.tensor === tensor && moved.destination === accelerator && state === "planned";
          if (isIt && !isAwaited) this.#cancel(transfer);
        }
      }
      for (const { tensor } of outputs) this.#lose(tensor, accelerator);
      this.#events.push({ type: "withdrawn", issueNumber });
    }
  }

  #move(instruction: Instruction<"activateRecv" | "activateSend" | "cancelTransfer">): void {
    const { transfer } = instruction;
    refuseIf(transfer > this.#newestTransfer, "UNKNOWN_TRANSFER", `${transfer} was never planned`);
    const pending = this.#transfers.get(transfer);
    if (pending === undefined) return;
    if (instruction.type === "cancelTransfer") {
      if (pending.state !== "sending") this.#cancel(transfer);
    } else if (instruction.type === "activateRecv") this.#receive(instruction, pending);
    else {
      refuseIf(pending.state !== "receiving", "ILLEGAL_MOVE", `it is ${pending.state}`);
      pending.state = "sending";
      const sentNs = this.clock.nowNs();
      this.clock.callAt(sentNs + 700, () => this.#arrive(pending, sentNs));
    }
  }

  #receive(instruction: Instruction<"activateRecv">, pending: Transfer): void {
    const { transfer, tensor, source, destination, bytes } = instruction;
    const isSame = tensor === pending.tensor && source === pending.source && destination === pending.destination;
    refuseIf(!isSame || bytes !== this.#sizes.get(tensor), "INVALID_INSTRUCTION", "it was issued otherwise");
    refuseIf(pending.state !== "intent", "ILLEGAL_MOVE", `it is ${pending.state}`);
    const fits = this.#at(destination).allocate(tensor, bytes, null);
    if (fits) pending.state = "receiving";
    this.#events.push(
      fits ? { type: "recvReady", transfer } : { type: "recvFailed", transfer, reason: "it does not fit" },
    );
  }

  #arrive({ transfer, tensor, destination }: Transfer, sentNs: number): void {
    if (this.#isClosed) return;
    this.#transfers.delete(transfer);
    this.#makePresent(tensor, destination);
    this.#settle();
    this.#events.push({ type: "transferDone", transfer, observedNs: this.clock.nowNs() - sentNs });
    this.#raise();
    this.#pump();
  }

  #startNext(on: number): void {
    const own = [...this.#issues.values()].filter(({ instruction }) => instruction.accelerator === on);
    if (own.some(({ running }) => running)) return;
    const [next] = own
      .filter(({ activated, readyNs }) => activated && readyNs !== null)
      .sort((a, b) => a.rank - b.rank || (a.readyNs ?? 0) - (b.readyNs ?? 0));
    if (next === undefined) return;
    const { issueNumber, outputs, workspaceBytes } = next.instruction;
    const memory = this.#at(on);
    const fits = outputs.every(({ tensor, bytes, aliases }) => memory.allocate(tensor, bytes, aliases));
    if (!fits || !memory.fits(workspaceBytes)) {
      this.#issues.delete(issueNumber);
      this.#fail(next.instruction, "outOfMemory");
      this.#settle();
      this.#startNext(on);
      return;
    }
    memory.workspaceBytes = workspaceBytes;
    next.running = true;
    this.#events.push({ type: "operatorStarted", issueNumber });
    const startedNs = this.clock.nowNs();
    this.clock.callAt(startedNs + 1_000, () => this.#end(next, startedNs));
  }

  #end({ instruction }: Issue, startedNs: number): void {
    if (this.#isClosed) return;
    const { issueNumber, accelerator, outputs } = instruction;
    this.#issues.delete(issueNumber);
    this.#at(accelerator).workspaceBytes = 0;
    for (const { tensor } of outputs) this.#makePresent(tensor, accelerator);
    this.#settle();
    this.#raise();
    this.#events.push({ type: "operatorDone", issueNumber, observedNs: this.clock.nowNs() - startedNs });
    this.#pump();
  }

  #fail({ issueNumber, accelerator, outputs }: IssueInstruction, cause: OperatorFailure): void {
    for (const { tensor } of outputs) this.#lose(tensor, accelerator);
    this.#events.push({ type: "operatorFailed", issueNumber, cause, reason: cause });
  }

  #cancel(transfer: number): void {
    const cancelled = this.#transfers.get(transfer);
    if (cancelled === undefined) return;
    this.#transfers.delete(transfer);
    this.#lose(cancelled.tensor, cancelled.destination);
    this.#events.push({ type: "transferCancelled", transfer });
  }

  /** A copy will not come: its consumers there wait in vain, and nothing is sent on. */
  #lose(tensor: number, on: number): void {
    this.#at(on).forget(tensor);
    for (const issue of this.#issues.values()) if (reads(issue, tensor, on)) issue.stuck = true;
    for (const { transfer, source, state, ...moved } of this.#transfers.values())
      if (source === on && moved.tensor === tensor && state === "planned") this.#cancel(transfer);
  }

  #makePresent(tensor: number, on: number): void {
    const copy = this.#at(on).find(tensor);
    if (copy !== undefined) copy.present = true;
  }

  /** Frees what nobody needs, and finds who is ready. */
  #settle(): void {
    for (const [on, memory] of this.#memories.entries()) {
      memory.copies = memory.copies.filter(({ tensor, present, held }) => {
        const isUsed = [...this.#issues.values()].some((issue) => reads(issue, tensor, on));
        const isSent = [...this.#transfers.values()].some((one) => one.tensor === tensor && one.source === on);
        return !present || held || isUsed || isSent;
      });
    }
    for (const issue of this.#issues.values()) {
      const { accelerator, inputs } = issue.instruction;
      const isReady = inputs.every(({ tensor }) => this.#at(accelerator).find(tensor)?.present === true);
      if (isReady && !issue.stuck) issue.readyNs ??= this.clock.nowNs();
    }
  }

  /** Planned transfers whose tensors are there become intents, all in one event. */
  #raise(): void {
    const raised = [...this.#transfers.values()]
      .filter(({ state, tensor, source }) => state === "planned" && this.#at(source).find(tensor)?.present === true)
      .sort((a, b) => a.transfer - b.transfer);
    for (const transfer of raised) transfer.state = "intent";
    if (raised.length > 0)
      this.#events.push({ type: "intentsRaised", transfers: raised.map(({ transfer }) => transfer) });
  }

  #at(accelerator: number): PlainMemory {
    const memory = this.#memories[accelerator];
    if (memory === undefined) throw new RangeError(`there is no accelerator ${accelerator}`);
    return memory;
  }
}

function reads({ instruction }: Issue, tensor: number, on: number): boolean {
  return instruction.accelerator === on && instruction.inputs.some((input) => input.tensor === tensor);
}
