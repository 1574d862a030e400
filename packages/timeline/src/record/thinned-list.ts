/**
 * Items of which those at positions divisible by `stride` are kept. The stride doubles whenever more than `itemsMax` are, so that what is kept is
 * spread evenly over all that came.
 */
export class ThinnedList<Item> {
  readonly #itemsMax: number;
  #kept: Item[] = [];
  #stride = 1;
  #seen = 0;

  constructor(itemsMax: number) {
    this.#itemsMax = itemsMax;
  }

  get seen(): number {
    return this.#seen;
  }

  get stride(): number {
    return this.#stride;
  }

  /** In the order in which they came. */
  get kept(): readonly Item[] {
    return this.#kept;
  }

  add(item: Item): void {
    const position = this.#seen++;
    if (position % this.#stride !== 0) return;
    this.#kept.push(item);
    if (this.#kept.length <= this.#itemsMax) return;
    // The item at index i has position i · stride.
    this.#kept = this.#kept.filter((_, index) => index % 2 === 0);
    this.#stride *= 2;
  }
}
