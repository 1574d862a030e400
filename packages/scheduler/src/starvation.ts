import type { GlobalMappingGraph, OperatorNode } from "@slicescheduler/gmg";
import type { WaitingReason } from "./types.ts";

/** Of what waits to be issued, so many of a class are looked at: others of the class go after them anyway. */
const LOOKED_AT = 16;
/** It is looked at so often in the time that nobody is to wait longer than. */
const LOOKS_PER_BOUND = 4;

/**
 * Finds less urgent operators that more urgent work has kept waiting longer than a bound. What waits for anything else, such as
 * memory that its own class holds, is left where it is.
 */
export class StarvationGuard {
  readonly #graph: GlobalMappingGraph;
  readonly #boundNs: number;
  readonly #reasonOf: (operator: OperatorNode, nowNs: number) => WaitingReason;
  #lookNs = 0;

  /** @param reasonOf Why an operator of the frontier is not issued. */
  constructor(
    graph: GlobalMappingGraph,
    boundNs: number,
    reasonOf: (operator: OperatorNode, nowNs: number) => WaitingReason,
  ) {
    this.#graph = graph;
    this.#boundNs = boundNs;
    this.#reasonOf = reasonOf;
  }

  continueFrom(other: StarvationGuard): void {
    this.#lookNs = other.#lookNs;
  }

  /**
   * Those that have waited too long; empty when it is not yet time to look. To be asked at every event: without any, nothing more urgent
   * runs either. Linear in the less urgent operators issued.
   */
  starving(nowNs: number): OperatorNode[] {
    if (nowNs < this.#lookNs) return [];
    this.#lookNs = nowNs + Math.ceil(this.#boundNs / LOOKS_PER_BOUND);
    const starving: OperatorNode[] = [];
    for (const operator of this.#graph.displaceable(0)) {
      if (operator.missingInputs === 0 && nowNs - operator.readyNs >= this.#boundNs) starving.push(operator);
    }
    const { unscheduledFrontier } = this.#graph;
    for (let rank = 1; rank < unscheduledFrontier.classes; rank++) {
      let looked = 0;
      for (const operator of unscheduledFrontier.ofClass(rank)) {
        if (looked++ === LOOKED_AT) break;
        if (nowNs - readySinceNs(operator) >= this.#boundNs && this.#isPassedOver(operator, nowNs))
          starving.push(operator);
      }
    }
    return starving;
  }

  /** More urgent work takes the whole budget, or holds the memory. */
  #isPassedOver(operator: OperatorNode, nowNs: number): boolean {
    const reason = this.#reasonOf(operator, nowNs);
    if (reason.why === "budget") return reason.moreUrgentOperators >= reason.budget;
    if (reason.why !== "memory") return false;
    return reason.heldBy.some((id) => this.#graph.request(id).rank < operator.rank);
  }
}

/** Since when all that it reads is issued or done. */
function readySinceNs({ instance, inputs }: OperatorNode): number {
  let sinceNs = instance.insertedNs;
  for (const { producer } of inputs) sinceNs = Math.max(sinceNs, producer.issuedNs);
  return sinceNs;
}
