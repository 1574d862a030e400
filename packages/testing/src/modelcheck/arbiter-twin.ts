/** An arbiter beside the one that the master keeps to itself, told the same: both must select the same transfers at every step. */
import type { ExecutorInstruction } from "@slicescheduler/executor";
import type { Cluster, GlobalMappingGraph } from "@slicescheduler/gmg";
import type { MasterEvent } from "slicescheduler";
import type { Violation } from "../violation.ts";

/** What of `Arbiter` of `@slicescheduler/arbitration` is used. */
export interface ArbiterLike {
  intent(
    intent: {
      readonly transfer: number;
      readonly source: number;
      readonly destination: number;
      readonly bytes: number;
      readonly rank: number;
    },
    nowNs: number,
  ): void;
  recvReady(transfer: number, nowNs: number): void;
  done(transfer: number, nowNs: number): void;
  failed(transfer: number, nowNs: number): void;
  select(nowNs: number): readonly { readonly transfer: number }[];
  validate(): void;
}

export type NewArbiter = (
  topology: {
    readonly accelerators: number;
    readonly portCapacity: readonly number[];
    readonly linkCapacity: readonly number[];
    readonly route: (source: number, destination: number) => readonly number[] | undefined;
  },
  options: { readonly agingNs: number; readonly reserveNs: number },
) => ArbiterLike;

/** No intent ever waits so long: order is by rank and number alone. */
export const NO_AGING = { agingNs: 1e15, reserveNs: 1e15 };

export class ArbiterTwin {
  readonly #arbiter: ArbiterLike;
  readonly #live = new Set<number>();

  constructor(newArbiter: NewArbiter, cluster: Cluster) {
    const { accelerators, linkCapacity } = cluster;
    const portCapacity = accelerators.map(({ copyEngines }) => copyEngines);
    const route = (source: number, destination: number) => cluster.route(source, destination);
    this.#arbiter = newArbiter({ accelerators: accelerators.length, portCapacity, linkCapacity, route }, NO_AGING);
  }

  /** What the event will tell the master's arbiter of a transfer that the graph still has. Before the master handles it. */
  before(event: MasterEvent, graph: GlobalMappingGraph): void {
    if (event.type === "intentsRaised") {
      for (const number of event.transfers) {
        const transfer = graph.transfer(number);
        if (transfer === undefined) continue;
        const { source, destination, rank, tensor } = transfer;
        this.#arbiter.intent({ transfer: number, source, destination, bytes: tensor.bytes, rank }, 0);
        this.#live.add(number);
      }
      return;
    }
    if (!("transfer" in event) || !this.#live.has(event.transfer)) return;
    const { type, transfer } = event;
    if (type === "recvReady") this.#arbiter.recvReady(transfer, 0);
    if (type === "transferDone") this.#arbiter.done(transfer, 0);
    if (type === "transferFailed") this.#arbiter.failed(transfer, 0);
    if (type === "transferDone" || type === "transferFailed") this.#live.delete(transfer);
  }

  /** Null when the master activated what is selected here. */
  after(instructions: readonly ExecutorInstruction[], graph: GlobalMappingGraph): Violation | null {
    for (const transfer of this.#live) {
      if (graph.transfer(transfer) !== undefined) continue;
      this.#arbiter.failed(transfer, 0);
      this.#live.delete(transfer);
    }
    const selected = this.#arbiter.select(0).map(({ transfer }) => transfer);
    const activated = instructions.flatMap((it) => (it.type === "activateRecv" ? [it.transfer] : []));
    this.#arbiter.validate();
    if (selected.join() === activated.join()) return null;
    const words = `the master activates transfers [${activated.join(", ")}], an arbiter told the same selects [${selected.join(", ")}]`;
    return { kind: "broken", words, amount: 1 };
  }
}
