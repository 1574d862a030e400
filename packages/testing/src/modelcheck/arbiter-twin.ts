/** An arbiter beside the one that the master keeps to itself, told the same: both must select the same transfers at every step. */
import type { ExecutorInstruction } from "@slicescheduler/executor";
import type { Cluster, GlobalMappingGraph } from "@slicescheduler/gmg";
import type { Violation } from "../violation.ts";
import type { SmallWorld } from "./small-world.ts";

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
  rerank(transfer: number, rank: number): void;
  recvReady(transfer: number, nowNs: number): void;
  failed(transfer: number, nowNs: number): void;
  expire(nowNs: number): void;
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
  options: { readonly agingNs: number; readonly reserveNs: number; readonly deadlineMinNs: number },
) => ArbiterLike;

/** No intent ever waits so long: order is by rank and number alone. */
export const AGING_NS = 1e15;
/** Longer than any transfer is expected to take; what lasts so long is overdue. */
const DEADLINE_NS = 1e5;
/** At which time ends are overdue, where they may become so: before anything else grows old. */
export const LATER_NS = 1e6;

/** Of the master's arbiter, and of its twin. Transfers have a deadline only where time may pass. */
export function arbitrationIn({ fault }: SmallWorld) {
  const deadlineMinNs = fault === "timePasses" ? DEADLINE_NS : Number.MAX_SAFE_INTEGER;
  return { agingNs: AGING_NS, reserveNs: AGING_NS, deadlineMinNs };
}

export class ArbiterTwin {
  readonly #arbiter: ArbiterLike;
  /** What it was told of and has not ended, and whether its receive buffer was there. */
  readonly #live = new Map<number, { isSending: boolean }>();

  constructor(newArbiter: NewArbiter, cluster: Cluster, world: SmallWorld) {
    const { accelerators, linkCapacity } = cluster;
    const portCapacity = accelerators.map(({ copyEngines }) => copyEngines);
    const route = (source: number, destination: number) => cluster.route(source, destination);
    this.#arbiter = newArbiter(
      { accelerators: accelerators.length, portCapacity, linkCapacity, route },
      arbitrationIn(world),
    );
  }

  /** Null when the master activated what is selected here. To be told after each event that the master has handled. */
  after(instructions: readonly ExecutorInstruction[], graph: GlobalMappingGraph, nowNs: number): Violation | null {
    this.#follow(graph, nowNs);
    this.#rerank(instructions, graph);
    const selected = this.#arbiter.select(nowNs).map(({ transfer }) => transfer);
    const activated = instructions.flatMap((it) => (it.type === "activateRecv" ? [it.transfer] : []));
    this.#arbiter.validate();
    if (selected.join() === activated.join()) return null;
    const words = `the master activates transfers [${activated.join(", ")}], an arbiter told the same selects [${selected.join(", ")}]`;
    return { kind: "broken", words, amount: 1 };
  }

  /** What became of the transfers: the master may have taken several reports at once, or let one wait. */
  #follow(graph: GlobalMappingGraph, nowNs: number): void {
    for (const number of this.#live.keys()) {
      if (graph.transfer(number) !== undefined) continue;
      this.#arbiter.failed(number, nowNs);
      this.#live.delete(number);
    }
    for (const { number, source, destination, rank, tensor, state } of graph.transfers()) {
      const known = this.#live.get(number);
      if (known === undefined && state !== "planned" && state !== "cancelling") {
        this.#arbiter.intent({ transfer: number, source, destination, bytes: tensor.bytes, rank }, nowNs);
        this.#live.set(number, { isSending: false });
      } else if (known !== undefined && !known.isSending && state === "sending") {
        this.#arbiter.recvReady(number, nowNs);
        known.isSending = true;
      }
    }
    this.#arbiter.expire(nowNs);
  }

  /** Each as urgent as the most urgent operator that waited for it when the master selected: what it issued, it issued afterwards. */
  #rerank(instructions: readonly ExecutorInstruction[], graph: GlobalMappingGraph): void {
    const issued = new Set(instructions.flatMap((it) => (it.type === "issue" ? [it.issueNumber] : [])));
    for (const transfer of this.#live.keys()) {
      const waiting = graph.transfer(transfer)?.waiting.filter(({ issueNumber }) => !issued.has(issueNumber)) ?? [];
      if (waiting.length > 0) this.#arbiter.rerank(transfer, Math.min(...waiting.map(({ rank }) => rank)));
    }
  }
}
