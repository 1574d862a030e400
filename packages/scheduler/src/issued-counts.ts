import type { AcceleratorIndex, GlobalMappingGraph, OperatorNode } from "@slicescheduler/gmg";

/** Operators that executors have, per accelerator and class. */
export class IssuedCounts {
  /** Per accelerator, by class. */
  readonly #counts: readonly number[][];
  /** Under which class each is counted. */
  readonly #ranks = new Map<OperatorNode, number>();

  constructor(accelerators: number) {
    this.#counts = Array.from({ length: accelerators }, () => []);
  }

  add(operator: OperatorNode): void {
    this.#ranks.set(operator, operator.rank);
    this.#change(operator.accelerator, operator.rank, 1);
  }

  remove(operator: OperatorNode): void {
    const rank = this.#ranks.get(operator);
    if (rank === undefined) return;
    this.#ranks.delete(operator);
    this.#change(operator.accelerator, rank, -1);
  }

  /** Its class is another one now. */
  moved(operator: OperatorNode): void {
    this.remove(operator);
    this.add(operator);
  }

  /** From scratch: some have vanished. */
  recount(graph: GlobalMappingGraph): void {
    this.#ranks.clear();
    for (const counts of this.#counts) counts.length = 0;
    for (const operator of graph.issuedOperators()) this.add(operator);
  }

  /** On an accelerator, of a class and all more urgent ones. O(classes). */
  upTo(accelerator: AcceleratorIndex, rank: number): number {
    const counts = this.#counts[accelerator] ?? [];
    let sum = 0;
    for (let r = 0; r <= rank && r < counts.length; r++) sum += counts[r] as number;
    return sum;
  }

  /** Whether some accelerator has fewer than so many, of a class and all more urgent ones. */
  hasRoom(rank: number, most: number): boolean {
    return this.#counts.some((_counts, accelerator) => this.upTo(accelerator, rank) < most);
  }

  #change(accelerator: AcceleratorIndex, rank: number, change: number): void {
    const counts = this.#counts[accelerator] as number[];
    while (counts.length <= rank) counts.push(0);
    counts[rank] = (counts[rank] as number) + change;
  }
}
