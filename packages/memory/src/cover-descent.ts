import type { Template } from "@slicescheduler/templates";

/**
 * For each operator one operator that surely comes after it: where the ways from it meet again, or, where some of them end
 * on the side, the next one on the longest. A tree towards the ends, in which those that come after several operators are found in
 * logarithmic time, on graphs of any depth.
 */
export class Descent {
  /** Per operator: its parent, nearer to the end, or −1. */
  readonly #parent: Int32Array;
  /** Steps to a root. */
  readonly #depth: Int32Array;
  /** A far ancestor, so that every one is reached in O(log depth) steps (Myers 1983); a root's is itself. */
  readonly #jump: Int32Array;

  /** Linear in references, times log of the depth. */
  constructor(template: Template) {
    const { operators, order } = template;
    this.#parent = new Int32Array(operators.length).fill(-1);
    this.#depth = new Int32Array(operators.length);
    this.#jump = new Int32Array(operators.length);
    for (let i = order.length - 1; i >= 0; i--) {
      const operator = order[i] as number;
      const successors = operators[operator]?.successors ?? [];
      const met = this.meet(successors);
      this.#attach(operator, met >= 0 ? met : this.deepest(successors));
    }
  }

  /** The nearest operator that is or comes after every one of these; −1 if the tree has none. */
  meet(operators: readonly number[]): number {
    let met = operators[0] ?? -1;
    for (let i = 1; i < operators.length && met >= 0; i++) met = this.#meetTwo(met, operators[i] as number);
    return met;
  }

  /** The one with most behind it, the first of equals; −1 of none. */
  deepest(operators: readonly number[]): number {
    let best = -1;
    for (const operator of operators) {
      if (best < 0 || (this.#depth[operator] as number) > (this.#depth[best] as number)) best = operator;
    }
    return best;
  }

  #attach(operator: number, parent: number): void {
    this.#parent[operator] = parent;
    if (parent < 0) {
      this.#jump[operator] = operator;
      return;
    }
    this.#depth[operator] = (this.#depth[parent] as number) + 1;
    const far = this.#jump[parent] as number;
    const farther = this.#jump[far] as number;
    const isEven = this.#depthBetween(parent, far) === this.#depthBetween(far, farther);
    this.#jump[operator] = isEven ? farther : parent;
  }

  #depthBetween(low: number, high: number): number {
    return (this.#depth[low] as number) - (this.#depth[high] as number);
  }

  #meetTwo(u: number, v: number): number {
    let [low, high] = (this.#depth[u] as number) >= (this.#depth[v] as number) ? [u, v] : [v, u];
    const level = this.#depth[high] as number;
    while ((this.#depth[low] as number) > level) {
      const far = this.#jump[low] as number;
      low = (this.#depth[far] as number) >= level ? far : (this.#parent[low] as number);
    }
    // At equal depth the jumps are equally long.
    while (low !== high && low >= 0) {
      const [lowFar, highFar] = [this.#jump[low] as number, this.#jump[high] as number];
      const isRoot = (this.#parent[low] as number) < 0;
      if (isRoot) return -1;
      [low, high] =
        lowFar === highFar ? [this.#parent[low] as number, this.#parent[high] as number] : [lowFar, highFar];
    }
    return low;
  }
}
