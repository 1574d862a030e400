import { grown } from "./arrays.ts";
import { DONE, type Nodes } from "./nodes.ts";
import type { Planned } from "./planned.ts";

/**
 * Activated operators, least (rank, ready time, node) first, for ranks of any kind: one binary heap per accelerator, each in its
 * own segment, as long as there are operators on the accelerator.
 */
export class ReadyHeaps {
  readonly #nodes: Nodes;
  /** Per accelerator: where its segment starts. */
  #first = new Int32Array(0);
  #size = new Int32Array(0);
  #heap = new Int32Array(0);
  #rank = new Float64Array(0);

  constructor(nodes: Nodes) {
    this.#nodes = nodes;
  }

  /** Empties all, with room for all operators. */
  configure({ accelerators, operators, problem, rank }: Planned): void {
    this.#rank = rank;
    const first = grown(this.#first, accelerators + 2).fill(0);
    this.#first = first;
    this.#size = grown(this.#size, accelerators).fill(0);
    for (let operator = 0; operator < operators; operator++) {
      const next = (problem.operatorAccelerator[operator] as number) + 1;
      first[next] = (first[next] as number) + 1;
    }
    for (let a = 1; a <= accelerators; a++) first[a] = (first[a] as number) + (first[a - 1] as number);
    this.#heap = grown(this.#heap, first[accelerators] as number);
  }

  clear(accelerator: number): void {
    this.#size[accelerator] = 0;
  }

  isEmpty(accelerator: number): boolean {
    return this.#size[accelerator] === 0;
  }

  push(accelerator: number, node: number): void {
    const heap = this.#heap;
    const base = this.#first[accelerator] as number;
    let at = this.#size[accelerator] as number;
    this.#size[accelerator] = at + 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const other = heap[base + parent] as number;
      if (!this.#before(node, other)) break;
      heap[base + at] = other;
      at = parent;
    }
    heap[base + at] = node;
  }

  /** Removes the first and returns it; there must be one. */
  pop(accelerator: number): number {
    const size = (this.#size[accelerator] as number) - 1;
    const heap = this.#heap;
    const base = this.#first[accelerator] as number;
    const first = heap[base] as number;
    const last = heap[base + size] as number;
    this.#size[accelerator] = size;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const right = child + 1;
      if (right < size && this.#before(heap[base + right] as number, heap[base + child] as number)) child = right;
      const other = heap[base + child] as number;
      if (this.#before(last, other)) break;
      heap[base + at] = other;
      at = child;
    }
    heap[base + at] = last;
    return first;
  }

  #before(a: number, b: number): boolean {
    const difference = (this.#rank[a] as number) - (this.#rank[b] as number);
    if (difference !== 0) return difference < 0;
    const { f64 } = this.#nodes;
    const earlier = (f64[(a << 3) + DONE] as number) - (f64[(b << 3) + DONE] as number);
    return earlier < 0 || (earlier === 0 && a < b);
  }
}
