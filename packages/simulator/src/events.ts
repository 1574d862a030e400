import { grown } from "./arrays.ts";
import { DONE, type Nodes, PLACE, TRANSFER } from "./nodes.ts";

/** Up to so many events at once a sorted ring beats a heap (`npm run bench -- simulator` says by how much). */
const RING_MAX = 256;

/**
 * The nodes that run or move, least (end, kind, number) first. Operators end before transfers; nodes of a kind are numbered
 * in order. Few are kept in a sorted ring, where a new one walks in from the nearer end; many in a binary heap.
 */
export class Events {
  size = 0;
  readonly #nodes: Nodes;
  #times = new Float64Array(0);
  #ended = new Int32Array(0);
  /** Of the ring. */
  #head = 0;
  #mask = 0;
  #isRing = true as boolean;

  constructor(nodes: Nodes) {
    this.#nodes = nodes;
  }

  /** Empties it, and makes room for so many at once. */
  reset(events: number): void {
    this.size = 0;
    this.#head = 0;
    this.#isRing = events <= RING_MAX;
    let length = 8;
    while (length < events) length *= 2;
    this.#mask = length - 1;
    this.#times = grown(this.#times, length);
    this.#ended = grown(this.#ended, length);
  }

  /** A node that ends at its DONE. */
  insert(node: number): void {
    if (this.#isRing) this.#insertRing(node);
    else this.#push(node);
  }

  /** Removes the first; there must be one. */
  pop(): number {
    if (!this.#isRing) return this.#popHeap();
    const head = this.#head;
    this.#head = (head + 1) & this.#mask;
    this.size--;
    return this.#ended[head] as number;
  }

  #insertRing(node: number): void {
    const atNs = this.#nodes.f64[(node << 3) + DONE] as number;
    const times = this.#times;
    const ended = this.#ended;
    const mask = this.#mask;
    const size = this.size++;
    let at = (this.#head + size) & mask;
    if (size > 3 && atNs < (times[(this.#head + (size >> 1)) & mask] as number)) {
      at = this.#head = (this.#head - 1) & mask;
      for (let left = size; left > 0; left--) {
        const next = (at + 1) & mask;
        const time = times[next] as number;
        if (time > atNs || (time === atNs && this.#comesFirst(node, ended[next] as number))) break;
        times[at] = time;
        ended[at] = ended[next] as number;
        at = next;
      }
    } else {
      for (let left = size; left > 0; left--) {
        const before = (at - 1) & mask;
        const time = times[before] as number;
        if (time < atNs || (time === atNs && !this.#comesFirst(node, ended[before] as number))) break;
        times[at] = time;
        ended[at] = ended[before] as number;
        at = before;
      }
    }
    times[at] = atNs;
    ended[at] = node;
  }

  #push(node: number): void {
    const atNs = this.#nodes.f64[(node << 3) + DONE] as number;
    const times = this.#times;
    const ended = this.#ended;
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const time = times[parent] as number;
      if (time < atNs || (time === atNs && !this.#comesFirst(node, ended[parent] as number))) break;
      times[at] = time;
      ended[at] = ended[parent] as number;
      at = parent;
    }
    times[at] = atNs;
    ended[at] = node;
  }

  #popHeap(): number {
    const times = this.#times;
    const ended = this.#ended;
    const first = ended[0] as number;
    const size = --this.size;
    const atNs = times[size] as number;
    const node = ended[size] as number;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const right = child + 1;
      if (right < size) {
        const difference = (times[right] as number) - (times[child] as number);
        if (difference < 0 || (difference === 0 && this.#comesFirst(ended[right] as number, ended[child] as number)))
          child = right;
      }
      const time = times[child] as number;
      if (time > atNs || (time === atNs && this.#comesFirst(node, ended[child] as number))) break;
      times[at] = time;
      ended[at] = ended[child] as number;
      at = child;
    }
    times[at] = atNs;
    ended[at] = node;
    return first;
  }

  /** Of two that end at the same instant. */
  #comesFirst(a: number, b: number): boolean {
    const { i32 } = this.#nodes;
    const kindA = (i32[(a << 4) + PLACE] as number) & TRANSFER;
    const kindB = (i32[(b << 4) + PLACE] as number) & TRANSFER;
    return kindA === kindB ? a < b : kindA < kindB;
  }
}
