/** Spreads spans over as few lanes as they need, so that on each lane none overlaps another; given by rising start. */
export class Lanes {
  readonly #ends: number[] = [];

  get count(): number {
    return this.#ends.length;
  }

  /** The first lane that is free then; it is taken until `endNs`. */
  take(startNs: number, endNs: number): number {
    for (let lane = 0; lane < this.#ends.length; lane++) {
      if ((this.#ends[lane] as number) > startNs) continue;
      this.#ends[lane] = endNs;
      return lane;
    }
    this.#ends.push(endNs);
    return this.#ends.length - 1;
  }
}
