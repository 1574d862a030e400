/** A rank falls by one for each `agingNs` waited; it may become negative. */
export function effectiveRank(rank: number, waitedNs: number, agingNs: number): number {
  return rank - Math.floor(waitedNs / agingNs);
}

/** Shorter stretches than this are sorted by insertion. */
const RUN = 8;

/** The order of pending intents: effective rank, then transfer number. */
export class IntentOrder {
  readonly #agingNs: number;
  // Per slot, valid while it is pending.
  #transfer: Float64Array;
  #rank: Float64Array;
  #sinceNs: Float64Array;
  /** Per slot: effective rank at the instant of the last sort it took part in. */
  #effective: Float64Array;
  #scratch: Int32Array;

  constructor(slots: number, agingNs: number) {
    this.#agingNs = agingNs;
    this.#transfer = new Float64Array(slots);
    this.#rank = new Float64Array(slots);
    this.#sinceNs = new Float64Array(slots);
    this.#effective = new Float64Array(slots);
    this.#scratch = new Int32Array(slots);
  }

  set(slot: number, transfer: number, rank: number, sinceNs: number): void {
    this.#transfer[slot] = transfer;
    this.#rank[slot] = rank;
    this.#sinceNs[slot] = sinceNs;
  }

  transfer(slot: number): number {
    return this.#transfer[slot] as number;
  }

  sinceNs(slot: number): number {
    return this.#sinceNs[slot] as number;
  }

  /** True when slot `a` comes before slot `b`, which took part in the sort at `nowNs`; false for a slot and itself. */
  precedes(a: number, b: number, nowNs: number): boolean {
    this.#age(a, nowNs);
    return this.#before(a, b);
  }

  /** Puts the first `count` slots of an array in order. */
  sort(slots: Int32Array, count: number, nowNs: number): void {
    for (let at = 0; at < count; at++) this.#age(slots[at] as number, nowNs);
    for (let from = 0; from < count; from += RUN) this.#insertionSort(slots, from, Math.min(from + RUN, count));
    for (let width = RUN; width < count; width *= 2) {
      for (let from = 0; from + width < count; from += 2 * width) {
        this.#merge(slots, from, from + width, Math.min(from + 2 * width, count));
      }
    }
  }

  #age(slot: number, nowNs: number): void {
    const waitedNs = nowNs - (this.#sinceNs[slot] as number);
    this.#effective[slot] = effectiveRank(this.#rank[slot] as number, waitedNs, this.#agingNs);
  }

  #before(a: number, b: number): boolean {
    const difference = (this.#effective[a] as number) - (this.#effective[b] as number);
    return difference < 0 || (difference === 0 && (this.#transfer[a] as number) < (this.#transfer[b] as number));
  }

  #insertionSort(slots: Int32Array, from: number, end: number): void {
    for (let at = from + 1; at < end; at++) {
      const slot = slots[at] as number;
      let to = at;
      while (to > from && this.#before(slot, slots[to - 1] as number)) {
        slots[to] = slots[to - 1] as number;
        to--;
      }
      slots[to] = slot;
    }
  }

  #merge(slots: Int32Array, from: number, middle: number, end: number): void {
    if (this.#before(slots[middle - 1] as number, slots[middle] as number)) return;
    const scratch = this.#scratch;
    const leftCount = middle - from;
    for (let at = 0; at < leftCount; at++) scratch[at] = slots[from + at] as number;
    let left = 0;
    let right = middle;
    let to = from;
    while (left < leftCount && right < end) {
      const takesRight = this.#before(slots[right] as number, scratch[left] as number);
      slots[to++] = takesRight ? (slots[right++] as number) : (scratch[left++] as number);
    }
    while (left < leftCount) slots[to++] = scratch[left++] as number;
  }

  grow(slots: number): void {
    this.#scratch = new Int32Array(slots);
    this.#transfer = widened(this.#transfer, slots);
    this.#rank = widened(this.#rank, slots);
    this.#sinceNs = widened(this.#sinceNs, slots);
    this.#effective = widened(this.#effective, slots);
  }
}

function widened(array: Float64Array, length: number): Float64Array {
  const wider = new Float64Array(length);
  wider.set(array);
  return wider;
}
