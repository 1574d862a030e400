/**
 * A sorted list in blocks of bounded length: adding and removing cost two binary searches and a move within one block, however
 * long the list is.
 */
export class SortedBlocks<T> {
  readonly #compare: (a: T, b: T) => number;
  readonly #blocks: T[][] = [];
  #size = 0;

  /** @param compare A total order: 0 for the same item only. */
  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  has(item: T): boolean {
    const block = this.#blocks[this.#blockOf(item)];
    return block !== undefined && block[this.#lowerBound(block, item)] === item;
  }

  add(item: T): void {
    this.#size += 1;
    // What comes after everything joins the last block.
    const at = Math.min(this.#blockOf(item), this.#blocks.length - 1);
    const block = this.#blocks[at];
    if (block === undefined) {
      this.#blocks.push([item]);
      return;
    }
    block.splice(this.#lowerBound(block, item), 0, item);
    if (block.length > BLOCK_MAX) this.#blocks.splice(at + 1, 0, block.splice(BLOCK_MAX / 2));
  }

  /** Removes it if it is there; tells whether it was. */
  remove(item: T): boolean {
    const at = this.#blockOf(item);
    const block = this.#blocks[at];
    if (block === undefined) return false;
    const place = this.#lowerBound(block, item);
    if (block[place] !== item) return false;
    block.splice(place, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
    this.#size -= 1;
    return true;
  }

  /** In order. Valid until the list changes. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (const block of this.#blocks) yield* block;
  }

  /** The first block whose last item is not before this one. */
  #blockOf(item: T): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const last = (this.#blocks[middle] as T[]).at(-1) as T;
      if (this.#compare(last, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #lowerBound(block: readonly T[], item: T): number {
    let low = 0;
    let high = block.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(block[middle] as T, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const BLOCK_MAX = 256;
