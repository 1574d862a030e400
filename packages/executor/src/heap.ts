/** A binary heap: `pop` gives the least by `compare`, which must be a total order on what is inside. */
export class Heap<Item> {
  readonly #items: Item[] = [];
  readonly #compare: (a: Item, b: Item) => number;

  constructor(compare: (a: Item, b: Item) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0) {
      const parentAt = (at - 1) >>> 1;
      const parent = items[parentAt];
      if (parent === undefined || this.#compare(parent, item) <= 0) break;
      items[at] = parent;
      at = parentAt;
    }
    items[at] = item;
  }

  pop(): Item | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) this.#sinkFromTop(last);
    return first;
  }

  #sinkFromTop(item: Item): void {
    const items = this.#items;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = items[childAt];
      if (child === undefined) break;
      const right = items[childAt + 1];
      if (right !== undefined && this.#compare(right, child) < 0) {
        child = right;
        childAt += 1;
      }
      if (this.#compare(item, child) <= 0) break;
      items[at] = child;
      at = childAt;
    }
    items[at] = item;
  }
}
