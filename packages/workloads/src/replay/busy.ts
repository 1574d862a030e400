/** Time each accelerator spends on operators, within the window and in all. */
export class BusyTime {
  readonly windowNs: number;
  readonly #inWindowNs: Float64Array;
  readonly #totalNs: Float64Array;

  constructor(accelerators: number, windowNs: number) {
    this.windowNs = windowNs;
    this.#inWindowNs = new Float64Array(accelerators);
    this.#totalNs = new Float64Array(accelerators);
  }

  /** An operator occupied the accelerator from `startNs` to `endNs`. */
  add(accelerator: number, startNs: number, endNs: number): void {
    const within = Math.min(endNs, this.windowNs) - Math.min(startNs, this.windowNs);
    this.#inWindowNs[accelerator] = (this.#inWindowNs[accelerator] ?? 0) + within;
    this.#totalNs[accelerator] = (this.#totalNs[accelerator] ?? 0) + (endNs - startNs);
  }

  /** Per accelerator, the share of the window it was occupied, 0…1. */
  utilization(): number[] {
    return Array.from(this.#inWindowNs, (ns) => ns / this.windowNs);
  }

  /** Per accelerator, occupied nanoseconds in the whole run. */
  totalNs(): number[] {
    return Array.from(this.#totalNs);
  }
}
