import type { ArbitrationOptions, MoveRecord } from "./types.ts";

/** What has a deadline; the heap keeps the two fields that move. */
export interface Overdue {
  readonly selection: { readonly transfer: number };
  /** Infinity when it has none. */
  deadlineNs: number;
  /** Its place in the heap; −1 while it is not there. */
  heapAt: number;
}

/** When a transfer that holds its ports is given up: counted from the last step heard of it. Infinity from 2^53 − 1 on. */
export function deadlineOf(
  history: readonly MoveRecord[],
  expectedNs: number,
  { deadlineFactor, deadlineMinNs }: Required<ArbitrationOptions>,
): number {
  const begin = history.findLast(({ move }) => move === "recvReady" || move === "select");
  if (begin === undefined) return Number.POSITIVE_INFINITY;
  const predictedNs = begin.move === "recvReady" ? Math.ceil(deadlineFactor * expectedNs) : 0;
  const deadlineNs = begin.atNs + Math.max(deadlineMinNs, predictedNs);
  return deadlineNs < Number.MAX_SAFE_INTEGER ? deadlineNs : Number.POSITIVE_INFINITY;
}

/** A binary heap by deadline, then transfer number, out of which anything can be taken: O(log held) each. */
export class Deadlines<T extends Overdue> {
  /** Each comes before those at 2i + 1 and 2i + 2. */
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  first(): T | undefined {
    return this.#heap[0];
  }

  has(item: T): boolean {
    return this.#heap[item.heapAt] === item;
  }

  /** Puts it in, or moves it to where a new deadline belongs. */
  set(item: T, deadlineNs: number): void {
    if (item.heapAt < 0) {
      item.heapAt = this.#heap.length;
      this.#heap.push(item);
    }
    item.deadlineNs = deadlineNs;
    this.#settle(item, item.heapAt);
  }

  remove(item: T): void {
    const at = item.heapAt;
    const last = this.#heap.pop();
    item.heapAt = -1;
    if (last !== undefined && last !== item) this.#settle(last, at);
  }

  /** Lays an item that belongs at this place, or above or below it, where it belongs. */
  #settle(item: T, from: number): void {
    const heap = this.#heap;
    let at = from;
    for (let up = (at - 1) >> 1; at > 0; up = (at - 1) >> 1) {
      const parent = heap[up] as T;
      if (!comesBefore(item, parent)) break;
      heap[at] = parent;
      parent.heapAt = at;
      at = up;
    }
    for (let down = 2 * at + 1; down < heap.length; down = 2 * at + 1) {
      const right = heap[down + 1];
      if (right !== undefined && comesBefore(right, heap[down] as T)) down++;
      const child = heap[down] as T;
      if (!comesBefore(child, item)) break;
      heap[at] = child;
      child.heapAt = at;
      at = down;
    }
    heap[at] = item;
    item.heapAt = at;
  }
}

function comesBefore(a: Overdue, b: Overdue): boolean {
  if (a.deadlineNs !== b.deadlineNs) return a.deadlineNs < b.deadlineNs;
  return a.selection.transfer < b.selection.transfer;
}
