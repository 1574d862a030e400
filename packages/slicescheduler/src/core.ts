import { Arbiter, type ArbitrationOptions } from "@slicescheduler/arbitration";
import type { ExecutorEvent } from "@slicescheduler/executor";
import {
  type ClusterSpec,
  compileCluster,
  GlobalMappingGraph,
  type InstanceNode,
  InvariantBrokenError,
  type MemorySafety,
  type OperatorNode,
  type Outcome,
  type TransferNode,
  UnknownAcceleratorError,
} from "@slicescheduler/gmg";
import { type Placement, Scheduler, type SchedulerOptions } from "@slicescheduler/scheduler";
import { Drains } from "./drains.ts";
import { InstanceFailedError } from "./errors.ts";
import type { AcceleratorNoticeName, ApplicationEvent, MasterEvent, Notice, Reaction } from "./events.ts";
import { findStandstill, isMoving } from "./standstill.ts";

export interface CoreOptions {
  readonly cluster: ClusterSpec;
  readonly scheduling?: SchedulerOptions;
  readonly arbitration?: ArbitrationOptions;
  /** See `MemorySafety`. Default `"guaranteed"`. */
  readonly memorySafety?: MemorySafety;
}

export interface CoreCounts {
  /** Reports about operators or transfers that had ended: ignored. */
  readonly lateEvents: number;
  readonly operatorsDone: number;
}

/**
 * The master as a state machine: `handle(event, nowNs)` changes it and returns instructions and notices, as plain data. No
 * clock, timer, promise, randomness or I/O inside; the same events give the same instructions, to the byte.
 * An event that is refused throws a typed error and changes nothing.
 */
export class MasterCore {
  readonly graph: GlobalMappingGraph;
  readonly scheduler: Scheduler;
  readonly #arbiter: Arbiter;
  /**
   * Outputs of live instances that nobody asked to retain: they can be referred to until the instance ends, so that its
   * readers can be submitted right behind it. Its claim covers them all that time.
   */
  readonly #releasedAtEnd = new Map<number, readonly string[]>();
  /** Why instances failed, until their failure is told. */
  readonly #reasons = new Map<number, string>();
  #reaction: Reaction = { instructions: [], notices: [] };
  readonly #drains = new Drains();
  /** Transfers whose receive buffer did not fit. */
  readonly #starved = new Set<TransferNode>();
  /** Chances since somebody last looked for a standstill while others moved. */
  #looksLeftOut = 0;
  /** The claims' epoch at which everything was tried in vain while nothing moved. */
  #triedEpoch = -1;
  /** A standstill was told, and nothing has moved since. */
  #standsStill: boolean = false;
  #lateEvents = 0;
  #operatorsDone = 0;

  constructor(options: CoreOptions) {
    const cluster = compileCluster(options.cluster);
    this.graph = new GlobalMappingGraph(cluster, options.memorySafety);
    this.scheduler = new Scheduler(this.graph, options.scheduling);
    this.#arbiter = new Arbiter(
      {
        accelerators: cluster.accelerators.length,
        portCapacity: cluster.accelerators.map((accelerator) => accelerator.copyEngines),
        linkCapacity: cluster.linkCapacity,
        route: (source, destination) => cluster.route(source, destination),
      },
      options.arbitration,
    );
  }

  get counts(): CoreCounts {
    return { lateEvents: this.#lateEvents, operatorsDone: this.#operatorsDone };
  }

  handle(event: MasterEvent, nowNs: number): Reaction {
    const reaction: Reaction = { instructions: [], notices: [] };
    this.#reaction = reaction;
    const frontierMayHaveMoved = isExecutorEvent(event)
      ? this.#executorReports(event, nowNs)
      : this.#applicationAsks(event, nowNs);
    this.#carryOutEffects(nowNs);
    if (this.#starved.size > 0) this.#retryStarved(nowNs);
    this.#selectTransfers(nowNs);
    if (frontierMayHaveMoved) {
      do this.#issueWhatMayBe(nowNs);
      while (this.#mayStandStill() && this.#resolveStandstill(nowNs));
    }
    this.#tellDrained(nowNs);
    return reaction;
  }

  #applicationAsks(event: ApplicationEvent, nowNs: number): boolean {
    const { instructions } = this.#reaction;
    switch (event.type) {
      case "templateRegistered": {
        const template = this.graph.registerTemplate(event.template);
        instructions.push({ type: "registerTemplate", template: template.spec });
        for (const partition of template.partitions) {
          for (const weight of partition.weights) {
            if (this.graph.availability(weight.accelerator) !== "down")
              instructions.push({ type: "loadWeights", ...weight });
          }
        }
        return false;
      }
      case "requestOpened":
        this.graph.openRequest(
          {
            id: event.request,
            label: event.label,
            rank: event.rank,
            deadlineNs: event.deadlineNs ?? Number.POSITIVE_INFINITY,
            limits: event.limits,
            concurrentInstances: event.concurrentInstances,
            chains: event.chains,
            mayPause: event.mayPause,
            allowedPartitions: event.partitions,
            endsWithInstances: event.endsWithInstances,
          },
          nowNs,
        );
        return false;
      case "requestClosed":
        this.graph.closeRequest(event.request);
        return true;
      case "instanceSubmitted": {
        const { instance: id, partitions: allowedPartitions, template, symbols, inputs, retain, label } = event;
        const outputs = this.graph.template(template).outputs.map((output) => output.name);
        for (const name of retain) if (!outputs.includes(name)) outputs.push(name);
        const submission = { id, template, symbols, inputs, retain: outputs, allowedPartitions, label };
        this.graph.insert(submission, event.request, nowNs);
        this.#releasedAtEnd.set(
          id,
          outputs.filter((name) => !retain.includes(name)),
        );
        return true;
      }
      case "outputReleased":
        this.graph.releaseOutput(event.instance, event.output);
        return true;
      case "instanceCancelled":
        this.graph.cancel(event.instance, nowNs);
        return true;
      case "acceleratorDrained":
        this.#checkAccelerator(event.accelerator);
        if (!this.#drains.begin(event.accelerator)) return false;
        this.graph.drainAccelerator(event.accelerator, nowNs);
        this.#tellAccelerator("acceleratorDraining", event.accelerator, nowNs);
        return true;
      case "acceleratorResumed":
        this.#checkAccelerator(event.accelerator);
        if (!this.#drains.end(event.accelerator)) return false;
        // One that is lost or absent is there again when its executor says so.
        if (this.graph.availability(event.accelerator) === "down") return false;
        this.graph.returnAccelerator(event.accelerator);
        this.#tellAccelerator("acceleratorReturned", event.accelerator, nowNs);
        return true;
    }
  }

  /** Tells whether more may be issued now. */
  #executorReports(event: ExecutorEvent, nowNs: number): boolean {
    if (event.type === "intentsRaised") {
      for (const number of event.transfers) {
        const transfer = this.graph.transfer(number);
        if (transfer === undefined) this.#lateEvents += 1;
        else this.#intent(transfer, nowNs);
      }
      return true;
    }
    if (event.type === "acceleratorLost") {
      this.#acceleratorLost(event, nowNs);
      return true;
    }
    if (event.type === "acceleratorReturned") {
      this.#acceleratorReturned(event.accelerator, nowNs);
      return true;
    }
    switch (event.type) {
      case "operatorStarted":
      case "operatorDone":
      case "operatorFailed":
      case "withdrawn": {
        const operator = this.graph.issued(event.issueNumber);
        if (operator === undefined) this.#lateEvents += 1;
        else this.#operatorReport(event, operator, nowNs);
        return event.type !== "operatorStarted";
      }
      default: {
        const transfer = this.graph.transfer(event.transfer);
        if (transfer === undefined) this.#lateEvents += 1;
        else this.#transferReport(event, transfer, nowNs);
        // Its end may have freed memory, or told that a copy will not come, and nothing else need happen any more.
        return event.type !== "recvReady";
      }
    }
  }

  #operatorReport(event: Extract<ExecutorEvent, { issueNumber: number }>, operator: OperatorNode, nowNs: number): void {
    switch (event.type) {
      case "operatorStarted":
        this.graph.operatorStarted(operator, nowNs);
        this.#reaction.notices.push({ name: "operatorStarted", value: this.#operatorNotice(operator, nowNs) });
        return;
      case "operatorDone": {
        const value = { ...this.#operatorNotice(operator, nowNs), observedNs: event.observedNs };
        this.graph.operatorDone(operator, nowNs);
        this.scheduler.operatorObserved(operator, event.observedNs);
        this.#operatorsDone += 1;
        this.#reaction.notices.push({ name: "operatorDone", value });
        return;
      }
      case "operatorFailed": {
        // It was asked back before the executor got it.
        if (event.cause === "inputLost" && operator.recalled) {
          this.graph.operatorWithdrawn(operator, nowNs, true);
          return;
        }
        const value = { ...this.#operatorNotice(operator, nowNs), reason: event.reason };
        this.#noteReason(operator.instance, `operator ${value.operatorName}: ${event.reason}`);
        this.graph.operatorFailed(operator, nowNs);
        this.#reaction.notices.push({ name: "operatorFailed", value });
        return;
      }
      case "withdrawn":
        this.graph.operatorWithdrawn(operator, nowNs);
    }
  }

  /** Only what is still to be settled will ask for its reason. */
  #noteReason({ id, state }: InstanceNode, reason: string): void {
    if (state === "live") this.#reasons.set(id, reason);
  }

  #intent(transfer: TransferNode, nowNs: number): void {
    const { number, source, destination, rank, tensor } = transfer;
    this.#arbiter.intent({ transfer: number, source, destination, bytes: tensor.bytes, rank }, nowNs);
    transfer.state = "intended";
  }

  #transferReport(event: Extract<ExecutorEvent, { transfer: number }>, transfer: TransferNode, nowNs: number): void {
    switch (event.type) {
      case "recvReady":
        this.graph.transferReceiving(transfer);
        this.#arbiter.recvReady(transfer.number, nowNs);
        this.#reaction.instructions.push({ type: "activateSend", transfer: transfer.number });
        transfer.state = "sending";
        transfer.sendingNs = nowNs;
        return;
      case "transferDone": {
        const { number, source, destination, tensor } = transfer;
        const { observedNs } = event;
        this.#arbiter.done(number, nowNs);
        this.graph.transferDone(transfer, nowNs);
        this.scheduler.predictor.transferObserved(source, destination, tensor.bytes, observedNs);
        const value = {
          transfer: number,
          tensor: tensor.id,
          source,
          destination,
          bytes: tensor.bytes,
          observedNs,
          atNs: nowNs,
        };
        this.#reaction.notices.push({ name: "transferDone", value });
        return;
      }
      case "transferFailed":
        this.#arbiter.failed(transfer.number, nowNs);
        for (const { instance } of transfer.waiting) {
          this.#noteReason(instance, `transfer ${transfer.number}: ${event.reason}`);
        }
        this.graph.transferFailed(transfer, nowNs);
        return;
      case "transferCancelled":
        this.graph.transferCancelled(transfer, nowNs);
        return;
      case "recvFailed":
        if (this.graph.claims.memorySafety === "guaranteed") {
          throw new InvariantBrokenError(
            `transfer ${transfer.number} had its bytes reserved and its receive buffer was refused: ${event.reason}`,
            { transfer: transfer.number },
          );
        }
        this.#arbiter.failed(transfer.number, nowNs);
        transfer.state = "starved";
        this.#starved.add(transfer);
        return;
    }
  }

  #acceleratorLost({ accelerator, reason }: Extract<ExecutorEvent, { type: "acceleratorLost" }>, nowNs: number): void {
    for (const transfer of this.graph.loseAccelerator(accelerator, nowNs)) {
      if (this.#arbiter.state(transfer) !== "gone") this.#arbiter.failed(transfer, nowNs);
    }
    this.#tellAccelerator("acceleratorLost", accelerator, nowNs, reason);
  }

  /** It is there with its weights; what is drained stays so until it is resumed. */
  #acceleratorReturned(accelerator: number, nowNs: number): void {
    for (const weight of this.graph.returnAccelerator(accelerator)) {
      this.#reaction.instructions.push({ type: "loadWeights", ...weight });
    }
    const isDraining = this.#drains.has(accelerator);
    if (isDraining) this.graph.drainAccelerator(accelerator, nowNs);
    this.#tellAccelerator(
      "acceleratorReturned",
      accelerator,
      nowNs,
      isDraining ? "it is drained until it is resumed" : "",
    );
  }

  /** Memory may have been released: transfers whose receive buffer fits now are intents again; those nobody waits for are given up. */
  #retryStarved(nowNs: number): void {
    for (const transfer of this.#starved) {
      const { number, destination, tensor, state, waiting } = transfer;
      const isGone = this.graph.transfer(number) !== transfer || state !== "starved";
      if (!isGone && waiting.every((operator) => operator.state !== "issued")) {
        this.#starved.delete(transfer);
        transfer.state = "cancelling";
        this.#reaction.instructions.push({ type: "cancelTransfer", transfer: number });
        continue;
      }
      const bytes = this.graph.cluster.roundBytes(destination, tensor.bytes);
      if (!isGone && !this.graph.ledger.fits(destination, bytes)) continue;
      this.#starved.delete(transfer);
      if (!isGone) this.#intent(transfer, nowNs);
    }
  }

  /** Nothing was issued and nothing moves: if work waits for memory that will not come, the least urgent gives way. */
  #resolveStandstill(nowNs: number): boolean {
    const moving = isMoving(this.graph);
    // While others move it is looked for now and then: it is linear in what waits.
    if (moving) {
      this.#looksLeftOut += 1;
      if (this.#looksLeftOut < LOOKS_LEFT_OUT) return false;
    }
    this.#looksLeftOut = 0;
    // What was predicted while others still ran may be wrong now: everything is tried once more before anybody has to give way.
    if (!moving && this.graph.claims.memorySafety === "predicted" && this.#triedEpoch !== this.graph.claims.epoch) {
      this.graph.claims.changed();
      this.#triedEpoch = this.graph.claims.epoch;
      return true;
    }
    const standstill = findStandstill(this.graph, this.scheduler, nowNs);
    if (standstill === null) {
      this.#standsStill = false;
      return false;
    }
    const { waiters, victim, reason } = standstill;
    if (victim !== null || !this.#standsStill) {
      const failed = victim?.id ?? null;
      this.#reaction.notices.push({ name: "standstill", value: { waiters, failed, reason, atNs: nowNs } });
    }
    this.#standsStill = true;
    if (victim === null) return false;
    this.#noteReason(victim, `it gave way, since nothing moved any more: ${reason}`);
    this.graph.fail(victim.id, nowNs);
    this.#carryOutEffects(nowNs);
    this.#retryStarved(nowNs);
    this.#selectTransfers(nowNs);
    return true;
  }

  #carryOutEffects(nowNs: number): void {
    const { releases, holds, withdrawals, settled } = this.graph.takeEffects();
    const { instructions } = this.#reaction;
    if (settled.length > 0) {
      for (const { instance } of settled) {
        for (const output of this.#releasedAtEnd.get(instance.id) ?? []) this.graph.releaseOutput(instance.id, output);
        this.#releasedAtEnd.delete(instance.id);
      }
      releases.push(...this.graph.takeEffects().releases);
    }
    for (const { tensor, accelerator } of releases) instructions.push({ type: "release", tensor, accelerator });
    for (const { tensor, accelerator } of holds) instructions.push({ type: "hold", tensor, accelerator });
    for (const issueNumber of withdrawals) instructions.push({ type: "withdraw", issueNumber });
    for (const { instance, outcome } of settled) this.#settle(instance, outcome, nowNs);
  }

  #settle(instance: InstanceNode, outcome: Outcome, atNs: number): void {
    const { notices } = this.#reaction;
    const value = { instance: instance.id, request: instance.request.id, label: instance.label, atNs };
    if (outcome === "done") notices.push({ name: "instanceDone", value });
    else if (outcome === "cancelled") notices.push({ name: "instanceCancelled", value });
    else {
      const reason =
        this.#reasons.get(instance.id) ?? instance.failure ?? "an instance whose results it needs ended without them";
      this.#reasons.delete(instance.id);
      notices.push({
        name: "instanceFailed",
        value: { ...value, error: new InstanceFailedError(instance.id, reason) },
      });
    }
  }

  #selectTransfers(nowNs: number): void {
    for (const { transfer: number } of this.#arbiter.select(nowNs)) {
      const transfer = this.graph.transfer(number);
      if (transfer === undefined) continue;
      transfer.state = "receiving";
      const { tensor, source, destination } = transfer;
      this.#reaction.instructions.push({
        type: "activateRecv",
        transfer: number,
        tensor: tensor.id,
        source,
        destination,
        bytes: tensor.bytes,
      });
    }
  }

  #mayStandStill(): boolean {
    return this.graph.unscheduledFrontier.size > 0 || this.#starved.size > 0;
  }

  #issueWhatMayBe(nowNs: number): void {
    for (let placement = this.scheduler.decide(nowNs); placement !== null; placement = this.scheduler.decide(nowNs)) {
      this.#carryOut(placement, nowNs);
    }
  }

  #carryOut({ decision, batch, partition }: Placement, nowNs: number): void {
    const { instructions, notices } = this.#reaction;
    notices.push({ name: "decision", value: decision });
    for (const operator of batch) {
      const issued = this.graph.issue(operator, partition, nowNs);
      instructions.push({ type: "issue", activated: true, ...issued });
      notices.push({ name: "operatorIssued", value: this.#operatorNotice(operator, nowNs) });
      this.#carryOutEffects(nowNs);
    }
  }

  #checkAccelerator(accelerator: number): void {
    if (accelerator in this.graph.cluster.accelerators) return;
    throw new UnknownAcceleratorError(accelerator, this.graph.cluster.accelerators.length);
  }

  #tellAccelerator<N extends AcceleratorNoticeName>(name: N, accelerator: number, atNs: number, reason = ""): void {
    const acceleratorName = this.graph.cluster.accelerators[accelerator]?.name ?? "";
    this.#reaction.notices.push({ name, value: { accelerator, acceleratorName, reason, atNs } } as Notice);
  }

  /** Accelerators that nothing lies on any more. */
  #tellDrained(nowNs: number): void {
    for (const accelerator of this.#drains.becameIdle(this.graph)) {
      this.#tellAccelerator("acceleratorDrained", accelerator, nowNs);
      // Requests that hold nothing any more leave it as well, and what they had reserved elsewhere others may have.
      this.graph.drainAccelerator(accelerator, nowNs);
      this.#issueWhatMayBe(nowNs);
    }
  }

  #operatorNotice(operator: OperatorNode, atNs: number) {
    const { instance, index, accelerator, issueNumber } = operator;
    return {
      instance: instance.id,
      operator: index,
      operatorName: instance.template.operators[index]?.name ?? "",
      template: instance.template.name,
      request: instance.request.id,
      label: instance.label,
      accelerator,
      acceleratorName: this.graph.cluster.accelerators[accelerator]?.name ?? "",
      issueNumber,
      atNs,
    };
  }
}

/** While others move, of so many chances to look for a standstill one is taken. */
const LOOKS_LEFT_OUT = 64;

const APPLICATION_EVENTS: ReadonlySet<string> = new Set([
  "templateRegistered",
  "requestOpened",
  "requestClosed",
  "instanceSubmitted",
  "outputReleased",
  "instanceCancelled",
  "acceleratorDrained",
  "acceleratorResumed",
]);

function isExecutorEvent(event: MasterEvent): event is ExecutorEvent {
  return !APPLICATION_EVENTS.has(event.type);
}
