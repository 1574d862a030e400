import {
  type AcceleratorIndex,
  type GlobalMappingGraph,
  IllegalMoveError,
  type OperatorNode,
  type RequestNode,
} from "@slicescheduler/gmg";

import type { UrgentLack } from "@slicescheduler/scheduler";

/**
 * Issued work that has not started gives way to more urgent work: when executors have more than they should, and when a request of
 * which nothing has run yet claims memory that a more urgent one lacks. Strictly less urgent work only, and each request so many
 * times at most, so that nobody is put off for ever.
 */
export class Displacement {
  readonly #graph: GlobalMappingGraph;
  readonly #preemptionsMax: number;
  /** Asked back and not yet returned. */
  readonly #returning = new Set<OperatorNode>();
  /** Requests that give up their place once all that they had issued is back. */
  readonly #leaving = new Set<RequestNode>();

  constructor(graph: GlobalMappingGraph, preemptionsMax: number) {
    this.#graph = graph;
    this.#preemptionsMax = preemptionsMax;
  }

  /** Goes on where another one is. `twins` are the requests of its graph, each with its copy. */
  continueFrom(other: Displacement, twins: ReadonlyMap<RequestNode, RequestNode>): void {
    for (const { issueNumber } of other.#returning) {
      const twin = this.#graph.issued(issueNumber);
      if (twin !== undefined) this.#returning.add(twin);
    }
    for (const request of other.#leaving) {
      const twin = twins.get(request);
      if (twin !== undefined) this.#leaving.add(twin);
    }
  }

  /**
   * Asks operators less urgent than a class back from accelerators that have too many, the least urgent and latest first.
   * @param tooMany By accelerator, more than 0 each.
   */
  giveWay(rank: number, tooMany: Map<AcceleratorIndex, number>): void {
    for (const operator of this.#returning) {
      if (!isReturning(operator)) this.#returning.delete(operator);
      else lower(tooMany, operator.accelerator);
    }
    if (tooMany.size === 0) return;
    for (const operator of this.#graph.displaceable(rank)) {
      if (!tooMany.has(operator.accelerator) || !this.#displace(operator)) continue;
      lower(tooMany, operator.accelerator);
      if (tooMany.size === 0) return;
    }
  }

  /**
   * Takes less urgent requests of which nothing has started, the least urgent and youngest first, from the accelerator where memory is
   * lacking, where that is enough. Linear in the operators of the requests placed there.
   */
  makeRoom({ accelerator, rank, bytes }: UrgentLack): void {
    const victims: RequestNode[] = [];
    for (const id of this.#graph.claims.holdersOn(accelerator)) {
      const request = this.#graph.request(id);
      if (this.#leaving.has(request)) return;
      if (request.rank > rank && this.#isUntouched(request, rank)) victims.push(request);
    }
    let freedBytes = 0;
    const enough = victims.sort(leastUrgentFirst).filter(({ reservedBytes }) => {
      if (freedBytes >= bytes) return false;
      freedBytes += reservedBytes[accelerator] as number;
      return true;
    });
    if (freedBytes >= bytes) for (const victim of enough) this.#takeFromItsPlace(victim);
  }

  #takeFromItsPlace(victim: RequestNode): void {
    this.#leaving.add(victim);
    victim.preemptions += 1;
    for (const { operators } of victim.instances) {
      for (const operator of operators) {
        if (!isWaiting(operator)) continue;
        this.#graph.recall(operator);
        this.#returning.add(operator);
      }
    }
  }

  /** Requests of which everything has come back give up their place. To be asked after every event. */
  unplaceReturned(): void {
    for (const request of this.#leaving) {
      if (hasIssued(request)) continue;
      this.#leaving.delete(request);
      if (request.partition !== null && request.instances.size > 0) this.#unplace(request.id);
    }
  }

  /** One of which something has started meanwhile, or that has nowhere else to go, keeps its place. */
  #unplace(request: number): void {
    try {
      this.#graph.unplace(request);
    } catch (error) {
      if (!(error instanceof IllegalMoveError)) throw error;
    }
  }

  #displace(operator: OperatorNode): boolean {
    if (!isWaiting(operator) || operator.instance.request.preemptions >= this.#preemptionsMax) return false;
    this.#graph.displace(operator);
    this.#returning.add(operator);
    return true;
  }

  #isUntouched(request: RequestNode, rank: number): boolean {
    if (request.preemptions >= this.#preemptionsMax || request.relocating || request.instances.size === 0) return false;
    for (const { operators } of request.instances) {
      for (const operator of operators) {
        if (operator.rank <= rank || !(operator.state === "unscheduled" || isWaiting(operator))) return false;
      }
    }
    return true;
  }
}

function lower(tooMany: Map<AcceleratorIndex, number>, accelerator: AcceleratorIndex): void {
  const left = (tooMany.get(accelerator) ?? 0) - 1;
  if (left > 0) tooMany.set(accelerator, left);
  else tooMany.delete(accelerator);
}

function isReturning({ state, recalled }: OperatorNode): boolean {
  return state === "issued" && recalled;
}

function isWaiting({ state, startedNs, recalled }: OperatorNode): boolean {
  return state === "issued" && startedNs < 0 && !recalled;
}

function hasIssued({ instances }: RequestNode): boolean {
  for (const { operators } of instances) if (operators.some(({ state }) => state === "issued")) return true;
  return false;
}

function leastUrgentFirst(a: RequestNode, b: RequestNode): number {
  return b.rank - a.rank || b.id - a.id;
}
