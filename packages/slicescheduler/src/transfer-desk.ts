import {
  Arbiter,
  type ArbitrationOptions,
  type Quarantined,
  type Topology,
  type TransferState,
} from "@slicescheduler/arbitration";
import type { ExecutorEvent } from "@slicescheduler/executor";
import {
  type Cluster,
  type GlobalMappingGraph,
  type InstanceNode,
  InvariantBrokenError,
  instancesBehind,
  type TransferNode,
} from "@slicescheduler/gmg";
import type { Predictor } from "@slicescheduler/scheduler";
import { type SliceSchedulerError, TransferOverdueError } from "./errors.ts";
import type { Notices } from "./events.ts";
import type { Outbox } from "./outbox.ts";

export type TransferEvent = Extract<ExecutorEvent, { transfer: number }>;

/** Takes note of why an instance is about to fail. */
export type NoteFailure = (instance: InstanceNode, reason: string | SliceSchedulerError) => void;

/**
 * The life of transfers: intents go to the arbiter, what it selects goes to the executor, what that reports to the graph.
 *
 * One whose end is overdue is quarantined: others have its ports, and who cannot go on without it fails. Its buffers at both ends stay until
 * its end is heard, whatever it is, or an accelerator of it is lost.
 */
export class TransferDesk {
  readonly #graph: GlobalMappingGraph;
  readonly #predictor: Predictor;
  readonly #outbox: Outbox;
  #arbiter: Arbiter;
  /** Those whose receive buffer did not fit. */
  readonly #starved = new Set<TransferNode>();
  /** By number. */
  readonly #quarantined = new Map<number, Quarantined>();

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
    for (const [number, quarantined] of other.#quarantined) this.#quarantined.set(number, quarantined);
  }

  /** Whether some receive buffer waits for memory. */
  get hasStarved(): boolean {
    return this.#starved.size > 0;
  }

  /** When `expire` will have something to do, unless an end is heard before; Infinity while nothing moves. */
  get nextDeadlineNs(): number {
    return this.#arbiter.nextDeadlineNs;
  }

  intent(transfer: TransferNode, nowNs: number): void {
    const { number, source, destination, rank, tensor } = transfer;
    const { bytes } = tensor;
    const expectedNs = this.#expectedNs(transfer);
    this.#arbiter.intent({ transfer: number, source, destination, bytes, rank, expectedNs }, nowNs);
    this.#graph.transferIntended(transfer, nowNs);
  }

  /** Its priority class has changed while it was an intent; one that has been selected since goes on as it was. */
  rerank(transfer: number, rank: number): void {
    if (this.#arbiter.state(transfer) === "intent") this.#arbiter.rerank(transfer, rank);
  }

  /** @param note Called before what waits for the data fails. */
  report(event: TransferEvent, transfer: TransferNode, nowNs: number, note: NoteFailure): void {
    const { number } = transfer;
    switch (event.type) {
      case "recvReady":
        this.#recvReady(transfer, nowNs);
        return;
      case "transferDone":
        this.#done(transfer, event.observedNs, nowNs);
        return;
      case "transferFailed":
        this.#arbiter.failed(number, nowNs);
        for (const { instance } of transfer.waiting) note(instance, `transfer ${number}: ${event.reason}`);
        this.#graph.transferFailed(transfer, nowNs);
        this.#released(transfer, "failed", nowNs);
        return;
      case "transferCancelled":
        if (this.#arbiter.state(number) !== "gone") this.#arbiter.failed(number, nowNs);
        this.#graph.transferCancelled(transfer, nowNs);
        this.#released(transfer, "cancelled", nowNs);
        return;
      case "recvFailed":
        this.#recvFailed(transfer, event.reason, nowNs);
    }
  }

  /** They went with an accelerator; a request that is to be laid elsewhere and cannot, because of a quarantined transfer, fails. */
  lost(transfers: readonly number[], nowNs: number, note: NoteFailure): void {
    for (const number of transfers) {
      if (this.#arbiter.state(number) !== "gone") this.#arbiter.failed(number, nowNs);
      const quarantined = this.#quarantined.get(number);
      if (quarantined !== undefined) this.#tellReleased(quarantined, "lost", nowNs);
    }
    this.failBehind(nowNs, note);
  }

  /** What is overdue is quarantined. */
  expire(nowNs: number, note: NoteFailure): void {
    for (const quarantined of this.#arbiter.expire(nowNs)) {
      const transfer = this.#graph.transfer(quarantined.transfer);
      if (transfer === undefined) {
        this.#arbiter.failed(quarantined.transfer, nowNs);
        continue;
      }
      transfer.state = "quarantined";
      this.#quarantined.set(transfer.number, quarantined);
      // Before its data move it can be given up; whatever of that is done is heard.
      if (quarantined.from === "receiving") this.#giveUp(transfer);
      const { from, deadlineNs } = quarantined;
      this.#outbox.tell("transferQuarantined", { ...this.#facts(transfer), from, deadlineNs, atNs: nowNs });
    }
    this.failBehind(nowNs, note);
  }

  /** Whoever cannot go on without a quarantined transfer fails: an instance that came later as well. O(1) while there is none. */
  failBehind(nowNs: number, note: NoteFailure): void {
    for (const [number, quarantined] of this.#quarantined) {
      const transfer = this.#graph.transfer(number);
      if (transfer === undefined) continue;
      const { accelerators } = this.#graph.cluster;
      const overdue = {
        ...quarantined,
        sourceName: accelerators[quarantined.source]?.name ?? "",
        destinationName: accelerators[quarantined.destination]?.name ?? "",
        sinceNs: transfer.sendingNs < 0 ? transfer.intendedNs : transfer.sendingNs,
        atNs: nowNs,
      };
      for (const instance of instancesBehind(transfer)) {
        note(instance, new TransferOverdueError(instance.id, overdue));
        this.#graph.fail(instance.id, nowNs);
      }
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
        this.#giveUp(transfer);
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
      transfer.state = "selected";
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

  /** What the arbiter has of each transfer against what the graph has. Throws INVARIANT_BROKEN. For tests; linear in the transfers. */
  validate(): void {
    this.#arbiter.validate();
    const told = new Map(this.#arbiter.transfers().map((view) => [view.transfer, view]));
    for (const { number, state, rank } of this.#graph.transfers()) {
      const view = told.get(number);
      told.delete(number);
      const isSame =
        (view?.state ?? "gone") === ARBITER_STATES[state] && (view?.state !== "intent" || view.rank === rank);
      if (isSame && this.#quarantined.has(number) === (state === "quarantined")) continue;
      const found = `transfer ${number} of class ${rank} is ${state}, and by the arbiter ${view?.state ?? "gone"} in class ${view?.rank}`;
      throw new InvariantBrokenError(found, { transfer: number });
    }
    const [gone = -1] = [
      ...told.keys(),
      ...[...this.#quarantined.keys()].filter((number) => !this.#graph.transfer(number)),
    ];
    if (gone >= 0) throw new InvariantBrokenError(`transfer ${gone} has ended and is kept`, { transfer: gone });
  }

  #recvReady(transfer: TransferNode, nowNs: number): void {
    const { number, tensor, destination } = transfer;
    if (this.#arbiter.recvReady(number, nowNs, this.#expectedNs(transfer)) === "sending") {
      this.#graph.transferReceiving(transfer);
      this.#outbox.instruct({ type: "activateSend", transfer: number });
      transfer.state = "sending";
      transfer.sendingNs = nowNs;
      return;
    }
    // Its ports belong to others. The executor has the buffer, until it has given the transfer up.
    if (this.#graph.ledger.bufferOf(tensor.id, destination) !== null) return;
    this.#graph.transferReceiving(transfer);
    transfer.state = "quarantined";
    this.#giveUp(transfer);
  }

  #recvFailed(transfer: TransferNode, reason: string, nowNs: number): void {
    const { number } = transfer;
    if (this.#graph.claims.memorySafety === "guaranteed") {
      throw new InvariantBrokenError(
        `transfer ${number} had its bytes reserved and its receive buffer was refused: ${reason}`,
        { transfer: number },
      );
    }
    if (this.#quarantined.has(number)) {
      this.#giveUp(transfer);
      return;
    }
    this.#arbiter.failed(number, nowNs);
    transfer.state = "starved";
    this.#starved.add(transfer);
  }

  #done(transfer: TransferNode, observedNs: number, nowNs: number): void {
    const { number, source, destination, tensor } = transfer;
    this.#arbiter.done(number, nowNs);
    this.#graph.transferDone(transfer, nowNs);
    // So late an end tells nothing of the next one.
    if (this.#quarantined.has(number)) {
      this.#released(transfer, "done", nowNs);
      return;
    }
    this.#predictor.transferObserved(source, destination, tensor.bytes, observedNs);
    this.#outbox.tell("transferDone", { ...this.#facts(transfer), observedNs, atNs: nowNs });
  }

  /** It has ended; if it was quarantined, its buffers are free now. */
  #released({ number }: TransferNode, outcome: Notices["transferReleased"]["outcome"], nowNs: number): void {
    const quarantined = this.#quarantined.get(number);
    if (quarantined !== undefined) this.#tellReleased(quarantined, outcome, nowNs);
  }

  #tellReleased(quarantined: Quarantined, outcome: Notices["transferReleased"]["outcome"], atNs: number): void {
    const { transfer, source, destination, bytes } = quarantined;
    this.#quarantined.delete(transfer);
    this.#outbox.tell("transferReleased", { transfer, source, destination, bytes, outcome, atNs });
  }

  #giveUp({ number }: TransferNode): void {
    this.#outbox.instruct({ type: "cancelTransfer", transfer: number });
  }

  #expectedNs({ source, destination, tensor }: TransferNode): number {
    return Math.min(this.#predictor.transferNs(source, destination, tensor.bytes), Number.MAX_SAFE_INTEGER);
  }

  #facts({ number, source, destination, tensor }: TransferNode) {
    return { transfer: number, tensor: tensor.id, source, destination, bytes: tensor.bytes };
  }
}

/** What the arbiter has of a transfer, by the graph's state of it. */
const ARBITER_STATES: Readonly<Record<TransferNode["state"], TransferState>> = {
  planned: "gone",
  intended: "intent",
  starved: "gone",
  cancelling: "gone",
  selected: "receiving",
  receiving: "receiving",
  sending: "sending",
  quarantined: "quarantined",
};

function topologyOf(cluster: Cluster): Topology {
  return {
    accelerators: cluster.accelerators.length,
    portCapacity: cluster.accelerators.map((accelerator) => accelerator.copyEngines),
    linkCapacity: cluster.linkCapacity,
    route: (source, destination) => cluster.route(source, destination),
  };
}
