import { grown } from "./arrays.ts";
import { DONE, MISSING, type Nodes, PLACE, RANK_SHIFT, RANKS } from "./nodes.ts";
import type { ReadyHeaps } from "./ready-heaps.ts";

const NONE = -1;

/**
 * The activated operators of every accelerator, least (rank, ready time, node) first. Where all ranks are below RANKS, each
 * accelerator has a list per rank, chained through the records: whoever becomes ready later comes later, so that both
 * ends cost O(1), but for those that become ready at one instant. Otherwise they are in heaps.
 */
export class ReadyQueues {
  readonly #nodes: Nodes;
  readonly #accelerators: number;
  /** Per accelerator a bit for each rank that waits there. */
  readonly #waiting: Int32Array;
  /** Per rank and accelerator, valid when its bit is set. */
  #first = new Int32Array(0);
  #last = new Int32Array(0);
  /** The last of those ready before the instant of `#last`; −1 = none still waits. */
  #lastBefore = new Int32Array(0);
  #heaps: ReadyHeaps | null = null;

  constructor(nodes: Nodes, accelerators: number) {
    this.#nodes = nodes;
    this.#accelerators = accelerators;
    this.#waiting = new Int32Array(accelerators);
  }

  /** Empties all. @param heaps Where the operators wait when ranks are too many for lists. */
  configure(ranks: number, heaps: ReadyHeaps | null): void {
    this.#heaps = heaps;
    this.#waiting.fill(0);
    const length = ranks * this.#accelerators;
    this.#first = grown(this.#first, length);
    this.#last = grown(this.#last, length);
    this.#lastBefore = grown(this.#lastBefore, length);
  }

  clear(accelerator: number): void {
    this.#waiting[accelerator] = 0;
    this.#heaps?.clear(accelerator);
  }

  isEmpty(accelerator: number): boolean {
    return this.#waiting[accelerator] === 0;
  }

  /** An operator that is ready since its DONE; not before any operator already there, except in heaps. */
  push(accelerator: number, node: number): void {
    const { i32, f64 } = this.#nodes;
    const waiting = this.#waiting[accelerator] as number;
    if (this.#heaps !== null) {
      this.#heaps.push(accelerator, node);
      this.#waiting[accelerator] = 1;
      return;
    }
    const rank = (i32[(node << 4) + PLACE] as number) >> RANK_SHIFT;
    const queue = rank * this.#accelerators + accelerator;
    if ((waiting & (1 << rank)) === 0) {
      this.#waiting[accelerator] = waiting | (1 << rank);
      this.#first[queue] = node;
      this.#last[queue] = node;
      this.#lastBefore[queue] = NONE;
      i32[(node << 4) + MISSING] = NONE;
      return;
    }
    const last = this.#last[queue] as number;
    const lastNs = f64[(last << 3) + DONE] as number;
    const readyNs = f64[(node << 3) + DONE] as number;
    if (lastNs === readyNs && node < last) {
      this.#insertAmongEqual(queue, node);
      return;
    }
    if (lastNs < readyNs) this.#lastBefore[queue] = last;
    i32[(last << 4) + MISSING] = node;
    i32[(node << 4) + MISSING] = NONE;
    this.#last[queue] = node;
  }

  /** The node comes before the last, and both became ready at one instant. */
  #insertAmongEqual(queue: number, node: number): void {
    const { i32 } = this.#nodes;
    let before = this.#lastBefore[queue] as number;
    let after = (before === NONE ? this.#first[queue] : i32[(before << 4) + MISSING]) as number;
    while (after < node) {
      before = after;
      after = i32[(after << 4) + MISSING] as number;
    }
    i32[(node << 4) + MISSING] = after;
    if (before === NONE) this.#first[queue] = node;
    else i32[(before << 4) + MISSING] = node;
  }

  /** Removes the first and returns it, or −1. Its MISSING is the caller's to restore. */
  pop(accelerator: number): number {
    const waiting = this.#waiting[accelerator] as number;
    if (waiting === 0) return NONE;
    if (this.#heaps !== null) {
      const node = this.#heaps.pop(accelerator);
      if (this.#heaps.isEmpty(accelerator)) this.#waiting[accelerator] = 0;
      return node;
    }
    const rank = RANKS - 1 - Math.clz32(waiting & -waiting);
    const queue = rank * this.#accelerators + accelerator;
    const node = this.#first[queue] as number;
    const next = this.#nodes.i32[(node << 4) + MISSING] as number;
    this.#first[queue] = next;
    if (next === NONE) this.#waiting[accelerator] = waiting ^ (1 << rank);
    else if (this.#lastBefore[queue] === node) this.#lastBefore[queue] = NONE;
    return node;
  }
}
