import type { GlobalMappingGraph, OperatorNode } from "@slicescheduler/gmg";
import type { WaitingReason } from "./types.ts";

/** Of what has waited too long to be issued, so many of a class are asked why at a time, and then the ones after them. */
const ASKED_MAX = 64;
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
  /** By class, how many of those that have waited too long were asked already. */
  readonly #asked: number[] = [];

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
    this.#asked.push(...other.#asked);
  }

  /**
   * Those that have waited too long; empty when it is not yet time to look. To be asked at every event, once all is issued that may be: without any event,
   * nothing more urgent runs either. Linear in the less urgent operators.
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
      const late = [...unscheduledFrontier.ofClass(rank)].filter(
        (operator) => nowNs - readySinceNs(operator) >= this.#boundNs,
      );
      const from = (this.#asked[rank] ?? 0) < late.length ? (this.#asked[rank] ?? 0) : 0;
      const asked = late.slice(from, from + ASKED_MAX);
      this.#asked[rank] = from + asked.length;
      starving.push(...asked.filter((operator) => this.#isPassedOver(operator, nowNs)));
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
