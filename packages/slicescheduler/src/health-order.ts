/** Reports that come twice, or before what they follow from. */
import type { ExecutorEvent } from "@slicescheduler/executor";
import type { GlobalMappingGraph, OperatorNode, TensorNode, TransferNode } from "@slicescheduler/gmg";

/** `"now"`: it can be taken; `"early"`: what it follows from is still to be heard; `"late"`: it was heard, or is about what has gone. */
export type Verdict = "now" | "early" | "late";

/**
 * Each accelerator reports in order, but what one reports may be heard before what another one did earlier: the end of a transfer before the
 * end of the operator that made its data. Such a report waits here until what it follows from has been heard, or will not be any more.
 * Costs O(inputs) per event while nothing waits.
 */
export class ReportOrder {
  readonly #graph: GlobalMappingGraph;
  #waiting: ExecutorEvent[] = [];
  /** By accelerator, what runs there by the books. */
  readonly #running = new Map<number, OperatorNode>();

  constructor(graph: GlobalMappingGraph) {
    this.#graph = graph;
  }

  /** Reports that wait, in the order in which they came. */
  get waiting(): readonly ExecutorEvent[] {
    return this.#waiting;
  }

  started(operator: OperatorNode): void {
    this.#running.set(operator.accelerator, operator);
  }

  hold(event: ExecutorEvent): void {
    this.#waiting.push(event);
  }

  /** Those that wait no longer, one at a time: taking one may let others through. */
  next(): ExecutorEvent | undefined {
    const at = this.#waiting.findIndex((event) => this.verdict(event) !== "early");
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  verdict(event: ExecutorEvent): Verdict {
    switch (event.type) {
      case "operatorStarted":
      case "operatorDone":
      case "operatorFailed": {
        const operator = this.#graph.issued(event.issueNumber);
        if (operator === undefined) return "late";
        if (event.type === "operatorFailed" && event.cause !== "fault") return "now";
        if (operator.startedNs >= 0) return event.type === "operatorStarted" ? "late" : "now";
        return this.#isBusy(operator) || this.#awaitsInput(operator) || !this.#hasRoomFor(operator) ? "early" : "now";
      }
      case "withdrawn":
        return this.#graph.issued(event.issueNumber) === undefined ? "late" : "now";
      case "intentsRaised":
        return this.#intentsVerdict(event.transfers);
      case "recvReady":
      case "recvFailed":
      case "transferDone":
      case "transferFailed":
      case "transferCancelled":
        return this.#transferVerdict(event.type, this.#graph.transfer(event.transfer));
      case "acceleratorLost":
        return this.#graph.availability(event.accelerator) === "down" ? "late" : "now";
      case "acceleratorReturned":
        return this.#graph.availability(event.accelerator) === "down" ? "now" : "late";
      case "probed":
        return "now";
    }
  }

  /**
   * Whether an operator that its executor ran has, by the books, lost an input for good: it read a copy of which nobody told in time. What
   * it made is not to be counted on.
   */
  ranInVain(operator: OperatorNode): boolean {
    return operator.startedNs < 0 && operator.missingInputs > 0 && !this.#awaitsInput(operator);
  }

  #isBusy({ accelerator, issueNumber }: OperatorNode): boolean {
    const running = this.#running.get(accelerator);
    if (running === undefined || running.issueNumber === issueNumber) return false;
    // It may have been lost, and run elsewhere now.
    const isThere = running.accelerator === accelerator && running.startedNs >= 0;
    return isThere && this.#graph.issued(running.issueNumber) === running;
  }

  /** What took its memory was freed before, and that may not have been heard. Where memory is guaranteed there is room in any case. */
  #hasRoomFor({ accelerator, outputs, instance, index }: OperatorNode): boolean {
    const { claims, cluster, ledger } = this.#graph;
    if (claims.memorySafety === "guaranteed") return true;
    let neededBytes = cluster.roundBytes(accelerator, instance.binding.workspaceBytes(index));
    for (const { bytes, aliases } of outputs) {
      const sharedBytes = aliases === null ? 0 : (ledger.bufferOf(aliases.id, accelerator)?.bytes ?? 0);
      neededBytes += Math.max(0, cluster.roundBytes(accelerator, bytes) - sharedBytes);
    }
    return ledger.fits(accelerator, neededBytes);
  }

  #fits(accelerator: number, bytes: number): boolean {
    const { claims, cluster, ledger } = this.#graph;
    return claims.memorySafety === "guaranteed" || ledger.fits(accelerator, cluster.roundBytes(accelerator, bytes));
  }

  #awaitsInput(operator: OperatorNode): boolean {
    if (operator.missingInputs === 0) return false;
    return operator.inputs.some((tensor) => this.#isOnItsWay(tensor, operator));
  }

  #isOnItsWay(tensor: TensorNode, { accelerator }: OperatorNode): boolean {
    const { ledger } = this.#graph;
    if (!ledger.has(tensor.id, accelerator) || ledger.isPresent(tensor.id, accelerator)) return false;
    const incoming = tensor.transfers.find(({ destination }) => destination === accelerator);
    // Nobody waits for one that is quarantined.
    if (incoming !== undefined) return incoming.state !== "quarantined";
    return tensor.producer.accelerator === accelerator && this.#isUnended(tensor.producer);
  }

  /** Early when a copy that they are to be made of is itself on its way to where they start. */
  #intentsVerdict(transfers: readonly number[]): Verdict {
    let isKnown = false;
    for (const number of transfers) {
      const transfer = this.#graph.transfer(number);
      if (transfer?.state !== "planned") continue;
      isKnown = true;
      const { tensor, source } = transfer;
      const { producer } = tensor;
      const isRunning = producer.startedNs < 0 && producer.accelerator === source && this.#isUnended(producer);
      if (isRunning && (this.#isBusy(producer) || this.#awaitsInput(producer))) return "early";
      if (tensor.transfers.some((other) => other.destination === source)) return "early";
    }
    return isKnown ? "now" : "late";
  }

  #transferVerdict(type: ExecutorEvent["type"], transfer: TransferNode | undefined): Verdict {
    if (transfer === undefined) return "late";
    const { state, tensor } = transfer;
    if (type === "transferCancelled") return "now";
    if (type === "recvReady" || type === "recvFailed") {
      if (state !== "selected" && state !== "quarantined") return "late";
      return type === "recvReady" && !this.#fits(transfer.destination, tensor.bytes) ? "early" : "now";
    }
    if (state !== "sending" && state !== "quarantined") return "late";
    return this.#isBeforeItsData(tensor, type) ? "early" : "now";
  }

  /** Its data have arrived, and the end of what made them has not been heard. */
  #isBeforeItsData({ producer }: TensorNode, type: ExecutorEvent["type"]): boolean {
    return type === "transferDone" && this.#isUnended(producer);
  }

  /** Its executor has it, by what was heard: one that was cancelled or has failed with its instance as well. */
  #isUnended(operator: OperatorNode): boolean {
    return this.#graph.issued(operator.issueNumber) === operator;
  }
}
