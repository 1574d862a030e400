import type { OperatorNode } from "./nodes.ts";
import { SortedBlocks } from "./sorted-blocks.ts";

/**
 * The unscheduled frontier: operators all of whose producers are issued or done, in order of urgency (priority class,
 * deadline, age of the request, then instance and position), one sorted list per class. Class and deadline are the operator's,
 * and change only while it is not in here.
 */
export class Frontier {
  readonly #classes: SortedBlocks<OperatorNode>[] = [];
  #additions = 0;

  get size(): number {
    let size = 0;
    for (const list of this.#classes) size += list.size;
    return size;
  }

  /** How often one was added, ever. */
  get additions(): number {
    return this.#additions;
  }

  /** One more than the least urgent class ever used. */
  get classes(): number {
    return this.#classes.length;
  }

  /** Operators of one priority class, the most urgent first. Valid until the frontier changes. */
  ofClass(rank: number): Iterable<OperatorNode> {
    return this.#classes[rank] ?? [];
  }

  /** Every operator, the most urgent first. */
  *[Symbol.iterator](): IterableIterator<OperatorNode> {
    for (const list of this.#classes) yield* list;
  }

  has(operator: OperatorNode): boolean {
    return this.#classes[operator.rank]?.has(operator) ?? false;
  }

  add(operator: OperatorNode): void {
    const { rank } = operator;
    this.#additions += 1;
    while (this.#classes.length <= rank) this.#classes.push(new SortedBlocks(compareUrgency));
    this.#classes[rank]?.add(operator);
  }

  /** Removes it if it is there; tells whether it was. */
  remove(operator: OperatorNode): boolean {
    return this.#classes[operator.rank]?.remove(operator) ?? false;
  }
}

/** The total order within a class: negative when `a` is the more urgent. */
export function compareUrgency(a: OperatorNode, b: OperatorNode): number {
  const x = a.instance;
  const y = b.instance;
  // Two deadlines of Infinity differ by NaN, which is falsy like 0.
  return (
    a.deadlineNs - b.deadlineNs ||
    orderOf(a) - orderOf(b) ||
    x.request.id - y.request.id ||
    x.id - y.id ||
    a.index - b.index
  );
}

/** One that is as urgent as it is for the sake of others, or has waited too long, goes before what was submitted to that class. */
function orderOf({ rank, instance }: OperatorNode): number {
  return rank < instance.rank ? 0 : instance.order;
}
