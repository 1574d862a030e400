import { Arbiter, type ArbitrationOptions, type Topology } from "@slicescheduler/arbitration";
import type { ExecutorEvent } from "@slicescheduler/executor";
import { type Cluster, type GlobalMappingGraph, InvariantBrokenError, type TransferNode } from "@slicescheduler/gmg";
import type { Predictor } from "@slicescheduler/scheduler";
import type { Outbox } from "./outbox.ts";

export type TransferEvent = Extract<ExecutorEvent, { transfer: number }>;

/** The life of transfers: intents go to the arbiter, what it selects goes to the executor, what that reports to the graph. */
export class TransferDesk {
  readonly #graph: GlobalMappingGraph;
  readonly #predictor: Predictor;
  readonly #outbox: Outbox;
  #arbiter: Arbiter;
  /** Those whose receive buffer did not fit. */
  readonly #starved = new Set<TransferNode>();

  constructor(
    graph: GlobalMappingGraph,
    predictor: Predictor,
    outbox: Outbox,
    options: ArbitrationOptions | undefined,
  ) {
    this.#graph = graph;
    this.#predictor = predictor;
    this.#outbox = outbox;
    this.#arbiter = new Arbiter(topologyOf(graph.cluster), options);
  }

  /** Goes on where another one is, over a copy of its graph. */
  continueFrom(other: TransferDesk): void {
    this.#arbiter = Arbiter.load(topologyOf(this.#graph.cluster), other.#arbiter.save());
    for (const { number } of other.#starved) {
      const transfer = this.#graph.transfer(number);
      if (transfer !== undefined) this.#starved.add(transfer);
    }
  }

  /** Whether some receive buffer waits for memory. */
  get hasStarved(): boolean {
    return this.#starved.size > 0;
  }

  intent(transfer: TransferNode, nowNs: number): void {
    const { number, source, destination, rank, tensor } = transfer;
    this.#arbiter.intent({ transfer: number, source, destination, bytes: tensor.bytes, rank }, nowNs);
    this.#graph.transferIntended(transfer, nowNs);
  }

  /** @param onFailure Called before what waits for the data fails, with the reason. */
  report(event: TransferEvent, transfer: TransferNode, nowNs: number, onFailure: (reason: string) => void): void {
    const { number } = transfer;
    switch (event.type) {
      case "recvReady":
        this.#graph.transferReceiving(transfer);
        this.#arbiter.recvReady(number, nowNs);
        this.#outbox.instruct({ type: "activateSend", transfer: number });
        transfer.state = "sending";
        transfer.sendingNs = nowNs;
        return;
      case "transferDone":
        this.#done(transfer, event.observedNs, nowNs);
        return;
      case "transferFailed":
        this.#arbiter.failed(number, nowNs);
        onFailure(`transfer ${number}: ${event.reason}`);
        this.#graph.transferFailed(transfer, nowNs);
        return;
      case "transferCancelled":
        this.#graph.transferCancelled(transfer, nowNs);
        return;
      case "recvFailed":
        if (this.#graph.claims.memorySafety === "guaranteed") {
          throw new InvariantBrokenError(
            `transfer ${number} had its bytes reserved and its receive buffer was refused: ${event.reason}`,
            { transfer: number },
          );
        }
        this.#arbiter.failed(number, nowNs);
        transfer.state = "starved";
        this.#starved.add(transfer);
        return;
    }
  }

  /** They went with an accelerator. */
  lost(transfers: readonly number[], nowNs: number): void {
    for (const transfer of transfers) {
      if (this.#arbiter.state(transfer) !== "gone") this.#arbiter.failed(transfer, nowNs);
    }
  }

  /** Memory may have been released: those whose receive buffer fits now are intents again; those nobody waits for are given up. */
  retryStarved(nowNs: number): void {
    for (const transfer of this.#starved) {
      const { number, destination, tensor, state, waiting } = transfer;
      const isGone = this.#graph.transfer(number) !== transfer || state !== "starved";
      if (!isGone && waiting.every((operator) => operator.state !== "issued")) {
        this.#starved.delete(transfer);
        transfer.state = "cancelling";
        this.#outbox.instruct({ type: "cancelTransfer", transfer: number });
        continue;
      }
      const bytes = this.#graph.cluster.roundBytes(destination, tensor.bytes);
      if (!isGone && !this.#graph.ledger.fits(destination, bytes)) continue;
      this.#starved.delete(transfer);
      if (!isGone) this.intent(transfer, nowNs);
    }
  }

  /** Activates what the arbiter admits. */
  select(nowNs: number): void {
    for (const { transfer: number } of this.#arbiter.select(nowNs)) {
      const transfer = this.#graph.transfer(number);
      if (transfer === undefined) continue;
      transfer.state = "receiving";
      const { tensor, source, destination } = transfer;
      this.#outbox.instruct({
        type: "activateRecv",
        transfer: number,
        tensor: tensor.id,
        source,
        destination,
        bytes: tensor.bytes,
      });
    }
  }

  #done(transfer: TransferNode, observedNs: number, nowNs: number): void {
    const { number, source, destination, tensor } = transfer;
    const { bytes } = tensor;
    this.#arbiter.done(number, nowNs);
    this.#graph.transferDone(transfer, nowNs);
    this.#predictor.transferObserved(source, destination, bytes, observedNs);
    const value = { transfer: number, tensor: tensor.id, source, destination, bytes, observedNs, atNs: nowNs };
    this.#outbox.tell("transferDone", value);
  }
}

function topologyOf(cluster: Cluster): Topology {
  return {
    accelerators: cluster.accelerators.length,
    portCapacity: cluster.accelerators.map((accelerator) => accelerator.copyEngines),
    linkCapacity: cluster.linkCapacity,
    route: (source, destination) => cluster.route(source, destination),
  };
}
