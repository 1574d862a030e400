import {
  type Executor,
  ExecutorCore,
  type ExecutorEvent,
  type ExecutorInstruction,
  type IssueInstruction,
} from "@slicescheduler/executor";
import { type Cluster, compileCluster } from "@slicescheduler/gmg";
import { DeviceBooks } from "../device-books.ts";
import type { Violation } from "../violation.ts";
import { isLost } from "./model-plants.ts";
import { PatientQueue } from "./patient-queue.ts";
import type { SmallWorld } from "./small-world.ts";

export interface DeviceInfo {
  /** Issue numbers. */
  readonly running: readonly number[];
  readonly sending: readonly number[];
  readonly lost: readonly number[];
  /** Why it is not at rest; null when nothing is left but weights. */
  readonly left: string | null;
}

/** An event, and the accelerator that it comes from. */
export interface Report {
  readonly from: number;
  readonly event: ExecutorEvent;
}

/**
 * The real executor core with devices that end what they began only when they are told to, in any order. Its time counts what happened, so
 * that operators become ready one after the other.
 */
export class Device {
  readonly core: ExecutorCore;
  readonly cluster: Cluster;
  readonly #world: SmallWorld;
  readonly #books: DeviceBooks;
  readonly #near: Executor;
  readonly #running = new Set<number>();
  readonly #sending = new Set<number>();
  readonly #lost = new Set<number>();
  readonly #heard: ExecutorEvent[] = [];
  /** Operators that are ready, by when they became so. */
  readonly #ready: number[] = [];
  /** Of the planted fault that lets what does not fit wait. */
  readonly #queue: PatientQueue | null;
  /** Operators that ran to their end. */
  readonly #ended = new Set<number>();
  readonly #issues = new Map<number, IssueInstruction>();
  readonly #waysOf = new Map<number, { readonly source: number; readonly destination: number }>();
  /** Why the last allocation was refused. */
  #refused = "";
  #newestIssue = -1;
  #newestTransfer = -1;
  #nowNs = 0;

  constructor(world: SmallWorld) {
    this.#world = world;
    this.cluster = compileCluster(world.cluster);
    this.core = new ExecutorCore(this.cluster);
    this.#queue = world.plant === "noReservationWaits" ? new PatientQueue(this.core) : null;
    this.#books = new DeviceBooks(world.cluster, world.templates);
    this.#near = this.#books.overhear(this.#far());
    this.#near.open({ cluster: world.cluster, deliver: (event) => this.#heard.push(event) });
    for (const template of world.templates) this.#near.execute([{ type: "registerTemplate", template }]);
    for (const { partitions } of world.templates.map(({ name }) => this.core.template(name)))
      for (const { weights } of partitions)
        for (const weight of weights) this.#near.execute([{ type: "loadWeights", ...weight }]);
  }

  /** Something happens: what follows from it happens at the same time. */
  tick(): void {
    this.#nowNs += 1;
  }

  execute(instructions: readonly ExecutorInstruction[]): void {
    for (const it of instructions) {
      if (it.type === "issue") this.#noteIssue(it);
      const issue = it.type === "rerank" ? this.#issues.get(it.issueNumber) : undefined;
      if (it.type === "rerank" && issue !== undefined) this.#issues.set(it.issueNumber, { ...issue, rank: it.rank });
    }
    this.#near.execute(instructions);
  }

  endOperator(issueNumber: number): void {
    this.#running.delete(issueNumber);
    this.#ended.add(issueNumber);
    this.core.operatorEnded(issueNumber, this.#nowNs, 1);
  }

  failOperator(issueNumber: number): void {
    this.#running.delete(issueNumber);
    this.core.operatorFailed(issueNumber, this.#nowNs, "a fault");
  }

  endTransfer(transfer: number): void {
    this.#sending.delete(transfer);
    this.core.transferEnded(transfer, this.#nowNs, 1);
  }

  failTransfer(transfer: number): void {
    this.#sending.delete(transfer);
    this.core.transferFailed(transfer, this.#nowNs, "a fault");
  }

  loseAccelerator(accelerator: number): void {
    const { operators, transfers } = this.core.loseAccelerator(accelerator, this.#nowNs, "a fault");
    for (const issueNumber of operators) this.#running.delete(issueNumber);
    for (const transfer of transfers) this.#sending.delete(transfer);
    this.#lost.add(accelerator);
  }

  returnAccelerator(accelerator: number): void {
    this.core.returnAccelerator(accelerator);
    this.#lost.delete(accelerator);
  }

  /** The next event for the master; what begins on the way begins. Undefined when nothing more happens by itself. */
  next(): ExecutorEvent | undefined {
    for (;;) {
      const action = this.core.next(this.#nowNs);
      if (action === undefined) {
        const fitting = this.#queue?.next() ?? null;
        if (fitting !== null) {
          this.core.execute([fitting], this.#nowNs);
          continue;
        }
        this.#noteReady();
        return undefined;
      }
      if (action.type === "startOperator") this.#running.add(action.instruction.issueNumber);
      else if (action.type === "startTransfer") this.#startTransfer(action.transfer);
      else {
        const event = this.#tell(action.event);
        if (event !== undefined) return event;
      }
    }
  }

  /** Everything that its behaviour depends on from now on. Nothing is in line. */
  encode(): string {
    const { operators: queued, transfers } = this.core.leftovers();
    const operators = queued.map((operator) => [operator, this.#issues.get(operator.issueNumber)]);
    const copies = this.cluster.accelerators.map(({ index }) => this.core.ledger.copies(index));
    const sets = [this.#running, this.#sending, this.#lost, this.#ended].map((set) => [...set].sort(ascending));
    const numbers = [this.#newestIssue, this.#newestTransfer];
    const rest = [this.#ready, this.#queue?.waiting ?? [], this.#books.reruns()];
    return JSON.stringify([operators, copies, transfers, sets, numbers, ...rest]);
  }

  /** As the master issued it, with the rank that it has now. */
  issue(issueNumber: number): IssueInstruction | undefined {
    return this.#issues.get(issueNumber);
  }

  /** The accelerator that reports it; of intents there are as many events as sources. */
  reportsOf(event: ExecutorEvent): readonly Report[] {
    switch (event.type) {
      case "intentsRaised":
        return [...new Set(event.transfers.map((it) => this.#waysOf.get(it)?.source ?? 0))].map((from) => ({
          from,
          event: { ...event, transfers: event.transfers.filter((it) => this.#waysOf.get(it)?.source === from) },
        }));
      case "acceleratorLost":
      case "acceleratorReturned":
      case "probed":
        return [{ from: event.accelerator, event }];
      case "operatorStarted":
      case "operatorDone":
      case "operatorFailed":
      case "withdrawn":
        return [{ from: this.#issues.get(event.issueNumber)?.accelerator ?? 0, event }];
      default:
        return [{ from: this.#waysOf.get(event.transfer)?.destination ?? 0, event }];
    }
  }

  info(): DeviceInfo {
    const [running = [], sending = [], lost = []] = [this.#running, this.#sending, this.#lost].map((set) =>
      [...set].sort(ascending),
    );
    return { running, sending, lost, left: this.#left() };
  }

  check(): Violation | null {
    const { overCapacityRefused } = this.core.stats(this.#nowNs);
    if (overCapacityRefused > 0) {
      const words = `an allocation did not fit and was refused: ${this.#refused}`;
      return { kind: "overCapacity", words, amount: overCapacityRefused };
    }
    this.core.validate();
    const [violation = null] = [...this.#books.violations, ...this.#books.overCapacity()];
    return violation ?? this.#checkBytes() ?? this.#checkPorts();
  }

  /** The books know nothing of the executor's sizes and reasons, and come to the same bytes. */
  #checkBytes(): Violation | null {
    for (const { index, name } of this.cluster.accelerators) {
      const [usedBytes, bookedBytes] = [this.core.ledger.usedBytes(index), this.#books.usedBytes(index)];
      if (usedBytes === bookedBytes) continue;
      const words = `${name} has ${usedBytes} bytes in use by the executor's account and ${bookedBytes} by the books`;
      return { kind: "broken", words, amount: Math.abs(usedBytes - bookedBytes) };
    }
    return null;
  }

  /** Transfers between their receive buffer and their end, per port and link. What is overdue does not count, which is unknown here. */
  #checkPorts(): Violation | null {
    if (this.#world.fault === "timePasses") return null;
    const { accelerators, linkCapacity } = this.cluster;
    const leaving = accelerators.map(() => 0);
    const arriving = accelerators.map(() => 0);
    const onLink = linkCapacity.map(() => 0);
    const add = (counts: number[], index: number) => {
      counts[index] = (counts[index] ?? 0) + 1;
    };
    for (const { source, destination, state } of this.core.leftovers().transfers) {
      if (state !== "receiving" && state !== "sending") continue;
      add(leaving, source);
      add(arriving, destination);
      for (const link of this.cluster.route(source, destination) ?? []) add(onLink, link);
    }
    for (const { index, name, copyEngines } of accelerators) {
      const most = Math.max(leaving[index] ?? 0, arriving[index] ?? 0);
      if (most > copyEngines) return broken(`${name} has ${most} transfers in flight on a port for ${copyEngines}`);
    }
    for (const [link, capacity] of linkCapacity.entries()) {
      const count = onLink[link] ?? 0;
      if (count > capacity) return broken(`link ${link} has ${count} transfers in flight, and is for ${capacity}`);
    }
    return null;
  }

  #left(): string | null {
    const { operators, tensors, transfers } = this.core.leftovers();
    if (operators.length + transfers.length > 0)
      return `${operators.length} operators and ${transfers.length} transfers are left in the executor`;
    for (const { index, name } of this.cluster.accelerators) {
      const bytes = this.core.ledger.usedBytes(index) - this.core.ledger.fixedBytes(index);
      if (bytes !== 0) return `${bytes} bytes are left on ${name}`;
    }
    return tensors.length > 0 ? `${tensors.length} tensors are left in the executor` : null;
  }

  #noteIssue(issue: IssueInstruction): void {
    const { issueNumber, accelerator, inputs } = issue;
    this.#issues.set(issueNumber, issue);
    this.#newestIssue = issueNumber;
    for (const { transfer, source } of inputs) {
      if (transfer === null || this.#waysOf.has(transfer)) continue;
      this.#waysOf.set(transfer, { source, destination: accelerator });
      this.#newestTransfer = Math.max(this.#newestTransfer, transfer);
    }
  }

  #tell(event: ExecutorEvent): ExecutorEvent | undefined {
    const isRefusal = event.type === "recvFailed" || (event.type === "operatorFailed" && event.cause === "outOfMemory");
    if (isRefusal) this.#refused = event.reason;
    this.#deliver(event);
    const heard = this.#heard.pop();
    return isLost(event, this.#world.plant) ? undefined : heard;
  }

  #startTransfer({ transfer, tensor, source }: { transfer: number; tensor: number; source: number }): void {
    this.#sending.add(transfer);
    if (this.#world.plant === "releaseTooEarly") this.core.ledger.endSend(tensor, source);
  }

  #noteReady(): void {
    const ready = new Set<number>();
    for (const { issueNumber, state } of this.core.leftovers().operators)
      if (state === "ready" || state === "activated") ready.add(issueNumber);
    const kept = this.#ready.filter((issueNumber) => ready.delete(issueNumber));
    this.#ready.splice(0, this.#ready.length, ...kept, ...[...ready].sort(ascending));
  }

  #deliver: (event: ExecutorEvent) => void = () => {
    throw new Error("the device was not opened");
  };

  #far(): Executor {
    return {
      manifest: { name: "model", simulatedTime: true },
      clock: { nowNs: () => this.#nowNs, callAt: () => () => {} },
      open: ({ deliver }) => {
        this.#deliver = deliver;
      },
      execute: (instructions) => {
        const now = this.#queue?.heldBack(instructions) ?? instructions;
        this.core.execute(now, this.#nowNs);
      },
      close: () => {},
    };
  }
}

function broken(words: string): Violation {
  return { kind: "broken", words, amount: 1 };
}

function ascending(a: number, b: number): number {
  return a - b;
}
