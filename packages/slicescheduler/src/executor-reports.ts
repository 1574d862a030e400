import type { ExecutorEvent } from "@slicescheduler/executor";
import type { GlobalMappingGraph, OperatorNode, TransferNode } from "@slicescheduler/gmg";
import type { Scheduler } from "@slicescheduler/scheduler";
import type { Drains } from "./drains.ts";
import type { Expiries } from "./expiries.ts";
import type { GiveUp, HealthDesk } from "./health-desk.ts";
import { ReportOrder } from "./health-order.ts";
import type { Outbox } from "./outbox.ts";
import type { Settlements } from "./settlements.ts";
import type { NoteFailure, TransferDesk, TransferEvent } from "./transfer-desk.ts";

type OperatorEvent = Extract<ExecutorEvent, { issueNumber: number }>;

/** Whom reports are taken to. */
export interface Hearers {
  readonly graph: GlobalMappingGraph;
  readonly scheduler: Scheduler;
  readonly outbox: Outbox;
  readonly transfers: TransferDesk;
  readonly settlements: Settlements;
  readonly expiries: Expiries;
  readonly drains: Drains;
  readonly health: HealthDesk;
}

/** What an executor reports, each as soon as what it follows from was heard. */
export class ExecutorReports {
  /** Reports that came twice, or about what had gone: ignored. */
  late = 0;
  /** Reports that came before what they follow from, and waited for that. */
  early = 0;
  operatorsDone = 0;
  readonly #to: Hearers;
  readonly #order: ReportOrder;
  readonly #note: NoteFailure = (instance, reason) => this.#to.settlements.note(instance, reason);

  constructor(to: Hearers) {
    this.#to = to;
    this.#order = new ReportOrder(to.graph);
  }

  /** Those that came before what they follow from, and wait for it. */
  get waiting(): readonly ExecutorEvent[] {
    return this.#order.waiting;
  }

  /** Tells whether more may be issued now. */
  hear(event: ExecutorEvent, nowNs: number): boolean {
    if (this.#order.verdict(event) === "early") {
      this.early += 1;
      this.#order.hold(event);
      return false;
    }
    return this.#take(event, nowNs);
  }

  /** Those that waited and do so no longer are taken. To be called after every event. Tells whether more may be issued now. */
  hearWaiting(nowNs: number): boolean {
    let mayIssue = false;
    while (this.#order.waiting.length > 0) {
      const next = this.#order.next();
      if (next === undefined) break;
      if (this.#take(next, nowNs)) mayIssue = true;
    }
    return mayIssue;
  }

  /** An accelerator that does not answer, or always fails, counts as lost from now on, whatever its executor still says of it. */
  readonly giveUp =
    (nowNs: number): GiveUp =>
    (accelerator, reason, fatal) => {
      this.#to.outbox.instruct({ type: "giveUp", accelerator, reason });
      if (fatal) this.#to.drains.begin(accelerator);
      this.#lost(accelerator, fatal ? `${reason}; it stays out until it is resumed` : reason, nowNs);
    };

  #take(event: ExecutorEvent, nowNs: number): boolean {
    if (this.#order.verdict(event) === "late") {
      this.late += 1;
      return false;
    }
    switch (event.type) {
      case "intentsRaised":
        for (const number of event.transfers) this.#intent(this.#to.graph.transfer(number), nowNs);
        return true;
      case "acceleratorLost":
        this.#lost(event.accelerator, event.reason, nowNs);
        return true;
      case "acceleratorReturned":
        this.#returned(event.accelerator, nowNs);
        return true;
      case "probed":
        this.#to.health.probed(event, nowNs, this.giveUp(nowNs));
        return true;
      case "operatorStarted":
      case "operatorDone":
      case "operatorFailed":
      case "withdrawn": {
        const operator = this.#to.graph.issued(event.issueNumber);
        if (operator !== undefined) this.#operatorReport(event, operator, nowNs);
        return event.type !== "operatorStarted";
      }
      default:
        this.#transferReport(event, nowNs);
        // Its end may have freed memory, or told that a copy will not come, and nothing else need happen any more.
        return event.type !== "recvReady";
    }
  }

  #intent(transfer: TransferNode | undefined, nowNs: number): void {
    if (transfer?.state !== "planned") {
      this.late += 1;
      return;
    }
    if (this.#order.ranInVain(transfer.tensor.producer)) {
      transfer.state = "cancelling";
      this.#to.outbox.instruct({ type: "cancelTransfer", transfer: transfer.number });
    } else this.#to.transfers.intent(transfer, nowNs);
  }

  #operatorReport(event: OperatorEvent, operator: OperatorNode, nowNs: number): void {
    if (event.type === "withdrawn") {
      this.#to.scheduler.operatorEnded(operator);
      this.#withdrawn(operator, nowNs, false);
      return;
    }
    if (this.#order.ranInVain(operator) && !(event.type === "operatorFailed" && event.cause !== "fault")) {
      this.#ranInVain(event, operator, nowNs);
      return;
    }
    // That it started may not have been heard.
    if (operator.startedNs < 0 && (event.type !== "operatorFailed" || event.cause === "fault"))
      this.#started(operator, nowNs);
    if (event.type === "operatorStarted") return;
    this.#to.scheduler.operatorEnded(operator);
    if (event.type === "operatorDone") this.#done(operator, event.observedNs, nowNs);
    else this.#failed(event, operator, nowNs);
  }

  #started(operator: OperatorNode, nowNs: number): void {
    const { graph, scheduler, expiries, outbox } = this.#to;
    graph.operatorStarted(operator, nowNs);
    this.#order.started(operator);
    scheduler.operatorStarted(operator);
    expiries.started(operator.instance.request);
    outbox.tell("operatorStarted", outbox.operatorNotice(operator, nowNs));
  }

  #done(operator: OperatorNode, observedNs: number, nowNs: number): void {
    const { graph, scheduler, outbox, health } = this.#to;
    const notice = outbox.operatorNotice(operator, nowNs);
    health.succeeded(operator.accelerator);
    graph.operatorDone(operator, nowNs);
    scheduler.operatorObserved(operator, observedNs);
    this.operatorsDone += 1;
    outbox.tell("operatorDone", { ...notice, observedNs });
  }

  #failed(event: Extract<OperatorEvent, { type: "operatorFailed" }>, operator: OperatorNode, nowNs: number): void {
    const { graph, outbox, health } = this.#to;
    const { cause, reason } = event;
    // It was asked back before the executor got it.
    if (cause === "inputLost" && operator.recalled) {
      this.#withdrawn(operator, nowNs, true);
      return;
    }
    const notice = outbox.operatorNotice(operator, nowNs);
    const again = cause === "fault" && health.faulted(operator, nowNs, this.giveUp(nowNs));
    // Its accelerator may have been given up for it.
    if (graph.issued(event.issueNumber) === operator) {
      if (!again) this.#note(operator.instance, `operator ${notice.operatorName}: ${reason}`);
      graph.operatorFailed(operator, nowNs, again);
      if (again) this.#to.transfers.failBehind(nowNs, this.#note);
    }
    outbox.tell("operatorFailed", { ...notice, reason, again });
  }

  /** It read a copy of which nobody told in time, from an accelerator that is lost: what it made is given up, and it is issued again. */
  #ranInVain(event: OperatorEvent, operator: OperatorNode, nowNs: number): void {
    this.late += 1;
    if (event.type === "operatorStarted") return;
    const { accelerator, outputs } = operator;
    this.#to.scheduler.operatorEnded(operator);
    this.#withdrawn(operator, nowNs, false);
    if (event.type !== "operatorDone") return;
    for (const { id } of outputs) this.#to.outbox.instruct({ type: "release", tensor: id, accelerator });
  }

  /** @param refused The executor never took it in. */
  #withdrawn(operator: OperatorNode, nowNs: number, refused: boolean): void {
    const notice = this.#to.outbox.operatorNotice(operator, nowNs);
    const isToBeIssuedAgain = operator.state === "issued" && operator.recalled;
    this.#to.graph.operatorWithdrawn(operator, nowNs, refused);
    if (isToBeIssuedAgain) this.#to.outbox.tell("operatorWithdrawn", notice);
  }

  #transferReport(event: TransferEvent, nowNs: number): void {
    const transfer = this.#to.graph.transfer(event.transfer);
    if (transfer === undefined) return;
    this.#to.transfers.report(event, transfer, nowNs, this.#note);
    if (event.type === "transferDone") this.#to.scheduler.copyArrived(transfer.destination);
  }

  #lost(accelerator: number, reason: string, nowNs: number): void {
    const { graph, scheduler, outbox, transfers, health } = this.#to;
    const onTheirWay = health.hasProbes ? copiesOnTheirWay(graph, accelerator) : [];
    transfers.lost(graph.loseAccelerator(accelerator, nowNs), nowNs, this.#note);
    health.lost(accelerator);
    scheduler.acceleratorLost(accelerator);
    for (const copy of onTheirWay) outbox.instruct({ type: "release", ...copy });
    outbox.tellAccelerator("acceleratorLost", accelerator, nowNs, reason);
  }

  /** It is there with its weights; what is drained stays so until it is resumed. */
  #returned(accelerator: number, nowNs: number): void {
    const { graph, scheduler, outbox, drains, health } = this.#to;
    for (const weight of graph.returnAccelerator(accelerator)) outbox.instruct({ type: "loadWeights", ...weight });
    health.returned(accelerator);
    scheduler.placesChanged();
    const isDraining = drains.has(accelerator);
    if (isDraining) graph.drainAccelerator(accelerator, nowNs);
    const reason = isDraining ? "it is drained until it is resumed" : "";
    outbox.tellAccelerator("acceleratorReturned", accelerator, nowNs, reason);
  }
}

/** Copies from an accelerator to others: they may have arrived without the master knowing, and then nobody wants them. */
function copiesOnTheirWay(graph: GlobalMappingGraph, from: number): { tensor: number; accelerator: number }[] {
  const copies: { tensor: number; accelerator: number }[] = [];
  for (const { source, destination, tensor, state } of graph.transfers()) {
    if (source === from && (state === "sending" || state === "quarantined"))
      copies.push({ tensor: tensor.id, accelerator: destination });
  }
  return copies;
}
