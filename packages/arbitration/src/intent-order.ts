/** A rank falls by one for each `agingNs` waited; it may become negative. */
export function effectiveRank(rank: number, waitedNs: number, agingNs: number): number {
  return rank - Math.floor(waitedNs / agingNs);
}

/**
 * The order of pending intents: effective rank, then transfer number. The effective rank falls by one for each `agingNs`
 * waited, so the order changes with time, but rarely and little: sorting takes advantage of what is in order already.
 */
export class IntentOrder {
  /** Slots in the order of the last `sortAll`; its returned count are valid. */
  all: Int32Array;
  readonly #agingNs: number;
  #transfer: Float64Array;
  #rank: Float64Array;
  #sinceNs: Float64Array;
  /** Per slot: effective rank at the instant of the last sort it took part in. */
  #effective: Float64Array;
  /** Per slot: 1 while it is somewhere in `all`, also after it has ended there. */
  #listed: Uint8Array;
  #listedCount = 0;
  #scratch: Int32Array;

  constructor(slots: number, agingNs: number) {
    this.#agingNs = agingNs;
    this.all = new Int32Array(slots);
    this.#scratch = new Int32Array(slots);
    this.#transfer = new Float64Array(slots);
    this.#rank = new Float64Array(slots);
    this.#sinceNs = new Float64Array(slots);
    this.#effective = new Float64Array(slots);
    this.#listed = new Uint8Array(slots);
  }

  set(slot: number, transfer: number, rank: number, sinceNs: number): void {
    this.#transfer[slot] = transfer;
    this.#rank[slot] = rank;
    this.#sinceNs[slot] = sinceNs;
    if (this.#listed[slot] === 1) return;
    this.#listed[slot] = 1;
    this.all[this.#listedCount++] = slot;
  }

  transfer(slot: number): number {
    return this.#transfer[slot] as number;
  }

  sinceNs(slot: number): number {
    return this.#sinceNs[slot] as number;
  }

  /** Puts the first `count` slots of an array in order. */
  sort(slots: Int32Array, count: number, nowNs: number): void {
    for (let at = 0; at < count; at++) this.#age(slots[at] as number, nowNs);
    this.#mergeSort(slots, count);
  }

  /** Puts all slots whose `list` is not negative into `all`, in order, and returns their number. */
  sortAll(nowNs: number, list: Int32Array): number {
    const { all } = this;
    let count = 0;
    for (let at = 0; at < this.#listedCount; at++) {
      const slot = all[at] as number;
      if ((list[slot] as number) < 0) {
        this.#listed[slot] = 0;
        continue;
      }
      this.#age(slot, nowNs);
      all[count++] = slot;
    }
    this.#listedCount = count;
    this.#mergeSort(all, count);
    return count;
  }

  #age(slot: number, nowNs: number): void {
    const waitedNs = nowNs - (this.#sinceNs[slot] as number);
    this.#effective[slot] = effectiveRank(this.#rank[slot] as number, waitedNs, this.#agingNs);
  }

  #before(a: number, b: number): boolean {
    const difference = (this.#effective[a] as number) - (this.#effective[b] as number);
    return difference < 0 || (difference === 0 && (this.#transfer[a] as number) < (this.#transfer[b] as number));
  }

  /** Bottom up; a pair of runs that is in order already costs one comparison. */
  #mergeSort(slots: Int32Array, count: number): void {
    const run = 8;
    for (let from = 0; from < count; from += run) this.#insertionSort(slots, from, Math.min(from + run, count));
    for (let width = run; width < count; width *= 2) {
      for (let from = 0; from + width < count; from += 2 * width) {
        this.#merge(slots, from, from + width, Math.min(from + 2 * width, count));
      }
    }
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
    this.all = copied(this.all, new Int32Array(slots));
    this.#transfer = copied(this.#transfer, new Float64Array(slots));
    this.#rank = copied(this.#rank, new Float64Array(slots));
    this.#sinceNs = copied(this.#sinceNs, new Float64Array(slots));
    this.#effective = copied(this.#effective, new Float64Array(slots));
    this.#listed = copied(this.#listed, new Uint8Array(slots));
  }

  clear(): void {
    for (let at = 0; at < this.#listedCount; at++) this.#listed[this.all[at] as number] = 0;
    this.#listedCount = 0;
  }
}

function copied<A extends Int32Array | Float64Array | Uint8Array>(from: A, to: A): A {
  to.set(from);
  return to;
}
