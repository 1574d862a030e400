import type {
  AcceleratorIndex,
  CompiledPartition,
  GlobalMappingGraph,
  InstanceNode,
  OperatorNode,
  PlacementOption,
  RequestNode,
} from "@slicescheduler/gmg";
import type { PredictedShortage } from "./reconstruction.ts";
import { lackOf } from "./shortages.ts";

/** That memory was lacking: the claims' epoch then, since when, and where the simulation saw it. */
interface Lack {
  readonly epoch: number;
  readonly sinceNs: number;
  readonly predicted: PredictedShortage | null;
  /** How much has to be free, and where, before trying again is of any use; null where that cannot be told. */
  readonly thresholds: readonly Threshold[] | null;
  /** The least of them: with less on every accelerator none is reached. */
  readonly leastFreeBytes: number;
  /** Instances that it was asked for, and what else the thresholds depend on. */
  readonly instances: number;
  readonly places: number;
  /** Accelerators that nothing is placed anew on for its sake; worked out when it has waited long. */
  blocks?: readonly AcceleratorIndex[];
}

interface Threshold {
  readonly accelerator: AcceleratorIndex;
  readonly freeBytes: number;
}

/** Who lacks memory and since when, so that nobody is tried again before anything has changed, nor passed by for ever. */
export class MemoryPatience {
  readonly #graph: GlobalMappingGraph;
  readonly #patienceNs: number;
  readonly #lacking = new WeakMap<RequestNode | InstanceNode | OperatorNode, Lack>();
  #places = 0;
  /** On any one accelerator, as of the last look. */
  #mostFreeBytes = Number.POSITIVE_INFINITY;

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
    this.#places = other.#places;
  }

  /** How often that was told. */
  get places(): number {
    return this.#places;
  }

  /** Accelerators came or went, or are drained or no longer: there may be other places to go. */
  placesChanged(): void {
    this.#places += 1;
  }

  /** Whether it was tried in vain, and too little has become free since. O(partitions), mostly less. */
  isHopeless(operator: OperatorNode): boolean {
    const lack = this.#lacking.get(this.#whoWaits(operator));
    if (lack === undefined) return false;
    if (lack.epoch === this.#graph.claims.epoch) return true;
    if (lack.places !== this.#places || lack.instances !== operator.instance.request.instances.size) return false;
    if (this.#mostFreeBytes < lack.leastFreeBytes) return true;
    return lack.thresholds?.every(({ accelerator, freeBytes }) => this.#freeBytes(accelerator) < freeBytes) ?? false;
  }

  /** To be told before frontier operators are gone through, and after every placement among them. O(accelerators). */
  look(): void {
    this.#mostFreeBytes = 0;
    for (const { index } of this.#graph.cluster.accelerators) {
      this.#mostFreeBytes = Math.max(this.#mostFreeBytes, this.#freeBytes(index));
    }
  }

  /** It cannot be claimed anywhere. */
  lacks(operator: OperatorNode, nowNs: number, options: readonly PlacementOption[]): void {
    const thresholds: Threshold[] = [];
    for (const { shortage } of options) {
      // A safe order may come of any change.
      if (shortage?.cause !== "room") {
        this.#note(operator, nowNs, null, null);
        return;
      }
      const { accelerator } = shortage;
      thresholds.push({ accelerator, freeBytes: this.#freeBytes(accelerator) + lackOf(shortage) });
    }
    this.#note(operator, nowNs, null, thresholds);
  }

  /** A simulation ran out of memory everywhere, here least. */
  isPredictedToLack(operator: OperatorNode, nowNs: number, predicted: PredictedShortage): void {
    this.#note(operator, nowNs, predicted, null);
  }

  #note(
    operator: OperatorNode,
    nowNs: number,
    predicted: PredictedShortage | null,
    thresholds: readonly Threshold[] | null,
  ): void {
    const waiter = this.#whoWaits(operator);
    const { epoch } = this.#graph.claims;
    const sinceNs = this.#lacking.get(waiter)?.sinceNs ?? nowNs;
    const instances = operator.instance.request.instances.size;
    const places = this.#places;
    const leastFreeBytes =
      thresholds?.reduce((least, { freeBytes }) => Math.min(least, freeBytes), Number.POSITIVE_INFINITY) ?? 0;
    this.#lacking.set(waiter, { epoch, sinceNs, predicted, thresholds, leastFreeBytes, instances, places });
  }

  /** What no claim takes, workspaces left out. */
  #freeBytes(accelerator: AcceleratorIndex): number {
    const { claims } = this.#graph;
    return claims.roomBytes(accelerator) - claims.workspaceBytes(accelerator) - claims.takenBytes(accelerator);
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
      if (asked === undefined || !claims.leavesRoomFor(asked, request)) continue;
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
