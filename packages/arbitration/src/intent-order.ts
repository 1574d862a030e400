/** A rank falls by one for each `agingNs` waited; it may become negative. */
export function effectiveRank(rank: number, waitedNs: number, agingNs: number): number {
  return rank - Math.floor(waitedNs / agingNs);
}

/**
 * The order of pending intents, effective rank and then transfer number, and a binary heap that gives slots out in it:
 * `begin` a pass at an instant, `push` slots, `pop` the first in order.
 */
export class IntentOrder {
  readonly #agingNs: number;
  // Per slot, valid while it is pending.
  #transfer: Float64Array;
  #rank: Float64Array;
  #sinceNs: Float64Array;
  /** Per slot: effective rank at the instant of the last pass in which it was pushed or compared. */
  #effective: Float64Array;
  /** Slots; each comes before those at 2i + 1 and 2i + 2. */
  #heap: Int32Array;
  #count = 0;
  #nowNs = 0;

  constructor(slots: number, agingNs: number) {
    this.#agingNs = agingNs;
    this.#transfer = new Float64Array(slots);
    this.#rank = new Float64Array(slots);
    this.#sinceNs = new Float64Array(slots);
    this.#effective = new Float64Array(slots);
    this.#heap = new Int32Array(slots);
  }

  set(slot: number, transfer: number, rank: number, sinceNs: number): void {
    this.#transfer[slot] = transfer;
    this.#rank[slot] = rank;
    this.#sinceNs[slot] = sinceNs;
  }

  rerank(slot: number, rank: number): void {
    this.#rank[slot] = rank;
  }

  transfer(slot: number): number {
    return this.#transfer[slot] as number;
  }

  sinceNs(slot: number): number {
    return this.#sinceNs[slot] as number;
  }

  /** True when slot `a` comes before slot `b`, which was pushed in this pass; false for a slot and itself. */
  precedes(a: number, b: number): boolean {
    this.#age(a);
    return this.#before(a, b);
  }

  /**
   * True when `a` comes before `b` at every instant. With time the difference of their effective ranks takes two values:
   * floor(x) − floor(y) is floor(x − y) or one more, and x − y does not change.
   */
  alwaysPrecedes(a: number, b: number): boolean {
    const youngerByNs = (this.#sinceNs[b] as number) - (this.#sinceNs[a] as number);
    const differenceMax =
      (this.#rank[a] as number) - (this.#rank[b] as number) - Math.floor(youngerByNs / this.#agingNs);
    return differenceMax < 0 || (differenceMax === 0 && (this.#transfer[a] as number) < (this.#transfer[b] as number));
  }

  #age(slot: number): void {
    const waitedNs = this.#nowNs - (this.#sinceNs[slot] as number);
    this.#effective[slot] = effectiveRank(this.#rank[slot] as number, waitedNs, this.#agingNs);
  }

  #before(a: number, b: number): boolean {
    const difference = (this.#effective[a] as number) - (this.#effective[b] as number);
    return difference < 0 || (difference === 0 && (this.#transfer[a] as number) < (this.#transfer[b] as number));
  }

  begin(nowNs: number): void {
    this.#nowNs = nowNs;
    this.#count = 0;
  }

  push(slot: number): void {
    this.#age(slot);
    const heap = this.#heap;
    let at = this.#count++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const other = heap[parent] as number;
      if (this.#before(other, slot)) break;
      heap[at] = other;
      at = parent;
    }
    heap[at] = slot;
  }

  /** Takes out the first slot in order; −1 when there is none. */
  pop(): number {
    if (this.#count === 0) return -1;
    const heap = this.#heap;
    const first = heap[0] as number;
    const count = --this.#count;
    const slot = heap[count] as number;
    let at = 0;
    for (let child = 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && this.#before(heap[child + 1] as number, heap[child] as number)) child++;
      const other = heap[child] as number;
      if (this.#before(slot, other)) break;
      heap[at] = other;
      at = child;
    }
    heap[at] = slot;
    return first;
  }

  grow(slots: number): void {
    this.#transfer = widened(this.#transfer, slots);
    this.#rank = widened(this.#rank, slots);
    this.#sinceNs = widened(this.#sinceNs, slots);
    this.#effective = widened(this.#effective, slots);
    const heap = new Int32Array(slots);
    heap.set(this.#heap);
    this.#heap = heap;
  }
}

function widened(array: Float64Array, length: number): Float64Array {
  const wider = new Float64Array(length);
  wider.set(array);
  return wider;
}
