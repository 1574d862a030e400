import type { OperatorNode } from "./nodes.ts";

/**
 * The unscheduled frontier: operators all of whose producers are issued or done, in order of urgency (priority class,
 * deadline, age of the request, then instance and position), one sorted list per class.
 * Adding and removing cost a binary search and a move within the class.
 */
export class Frontier {
  readonly #classes: OperatorNode[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** One more than the least urgent class ever used. */
  get classes(): number {
    return this.#classes.length;
  }

  /** Operators of one priority class, the most urgent first. Valid until the frontier changes. */
  ofClass(rank: number): readonly OperatorNode[] {
    return this.#classes[rank] ?? [];
  }

  /** Every operator, the most urgent first. */
  *[Symbol.iterator](): IterableIterator<OperatorNode> {
    for (const operators of this.#classes) yield* operators;
  }

  has(operator: OperatorNode): boolean {
    const list = this.ofClass(operator.instance.request.rank);
    return list[lowerBound(list, operator)] === operator;
  }

  add(operator: OperatorNode): void {
    const rank = operator.instance.request.rank;
    while (this.#classes.length <= rank) this.#classes.push([]);
    const list = this.#classes[rank] as OperatorNode[];
    list.splice(lowerBound(list, operator), 0, operator);
    this.#size += 1;
  }

  /** Removes it if it is there; tells whether it was. */
  remove(operator: OperatorNode): boolean {
    const list = this.#classes[operator.instance.request.rank];
    if (list === undefined) return false;
    const at = lowerBound(list, operator);
    if (list[at] !== operator) return false;
    list.splice(at, 1);
    this.#size -= 1;
    return true;
  }
}

/** The total order within a class: negative when `a` is the more urgent. */
export function compareUrgency(a: OperatorNode, b: OperatorNode): number {
  const x = a.instance;
  const y = b.instance;
  // Two deadlines of Infinity differ by NaN, which is falsy like 0.
  return x.request.deadlineNs - y.request.deadlineNs || x.request.id - y.request.id || x.id - y.id || a.index - b.index;
}

function lowerBound(list: readonly OperatorNode[], operator: OperatorNode): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareUrgency(list[middle] as OperatorNode, operator) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
