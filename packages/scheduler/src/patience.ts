import type {
  AcceleratorIndex,
  CompiledPartition,
  GlobalMappingGraph,
  InstanceNode,
  OperatorNode,
  RequestNode,
} from "@slicescheduler/gmg";
import type { PredictedShortage } from "./reconstruction.ts";
import { lackOf } from "./shortages.ts";

/** That memory was lacking: the claims' epoch then, since when, and where the simulation saw it. */
interface Lack {
  readonly epoch: number;
  readonly sinceNs: number;
  readonly predicted: PredictedShortage | null;
  /** Accelerators that nothing is placed anew on for its sake; worked out when it has waited long. */
  blocks?: readonly AcceleratorIndex[];
}

/** Who lacks memory and since when, so that nobody is tried again before anything has changed, nor passed by for ever. */
export class MemoryPatience {
  readonly #graph: GlobalMappingGraph;
  readonly #patienceNs: number;
  readonly #lacking = new WeakMap<RequestNode | InstanceNode | OperatorNode, Lack>();

  constructor(graph: GlobalMappingGraph, patienceNs: number) {
    this.#graph = graph;
    this.#patienceNs = patienceNs;
  }

  /** Goes on where another one is, over a copy of its graph. */
  continueFrom(other: MemoryPatience): void {
    for (const operator of other.#graph.unscheduledFrontier) {
      const lack = other.#lacking.get(other.#whoWaits(operator));
      const twin = this.#graph.instance(operator.instance.id)?.operators[operator.index];
      if (lack !== undefined && twin !== undefined) this.#lacking.set(this.#whoWaits(twin), { ...lack });
    }
  }

  /** Whether it was tried in vain, and no claim has changed since. */
  isHopeless(operator: OperatorNode): boolean {
    return this.#lacking.get(this.#whoWaits(operator))?.epoch === this.#graph.claims.epoch;
  }

  /** @param predicted Where a simulation ran out of memory; null where it cannot even be claimed. */
  lacks(operator: OperatorNode, nowNs: number, predicted: PredictedShortage | null): void {
    const waiter = this.#whoWaits(operator);
    const sinceNs = this.#lacking.get(waiter)?.sinceNs ?? nowNs;
    this.#lacking.set(waiter, { epoch: this.#graph.claims.epoch, sinceNs, predicted });
  }

  placed(operator: OperatorNode): void {
    this.#lacking.delete(this.#whoWaits(operator));
  }

  predictedShortage(operator: OperatorNode): PredictedShortage | null {
    return this.#lacking.get(this.#whoWaits(operator))?.predicted ?? null;
  }

  /**
   * Accelerators of the partition that somebody who has waited long lacks the least on, unless what is lacking is held by requests that
   * may pause: to wait for those would stop others for nothing.
   */
  blockedBy(operator: OperatorNode, nowNs: number): readonly AcceleratorIndex[] {
    const lack = this.#lacking.get(this.#whoWaits(operator));
    if (lack === undefined || nowNs - lack.sinceNs < this.#patienceNs) return [];
    lack.blocks ??= this.#leastLacking(operator)?.used ?? [];
    return lack.blocks;
  }

  #leastLacking(operator: OperatorNode): CompiledPartition | null {
    const { claims } = this.#graph;
    const { instance } = operator;
    const { request } = instance;
    let least: CompiledPartition | null = null;
    let leastBytes = Number.POSITIVE_INFINITY;
    for (const { partition, shortage } of this.#graph.placementOptions(operator)) {
      if (shortage === null || lackOf(shortage) >= leastBytes) continue;
      const asked = request.partition === null ? claims.claimOn(request, partition.name) : claims.needOf(instance);
      if (asked === undefined || !claims.leavesRoomFor(asked.bytes, request)) continue;
      leastBytes = lackOf(shortage);
      least = partition;
    }
    return least;
  }

  /**
   * An unplaced request waits as a whole; of a placed one, an instance may lack memory and another none; and what is predicted differs from
   * operator to operator.
   */
  #whoWaits(operator: OperatorNode): RequestNode | InstanceNode | OperatorNode {
    if (this.#graph.claims.memorySafety === "predicted") return operator;
    return operator.instance.request.partition === null ? operator.instance.request : operator.instance;
  }
}

export function isBlocked({ used }: CompiledPartition, blocked: ReadonlySet<AcceleratorIndex>): boolean {
  return blocked.size > 0 && used.some((accelerator) => blocked.has(accelerator));
}
