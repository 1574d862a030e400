import type { AcceleratorIndex, GlobalMappingGraph } from "@slicescheduler/gmg";
import type { Simulator } from "@slicescheduler/simulator";
import type { Reconstruction } from "./reconstruction.ts";

/**
 * When the next operator more urgent than a class will start on each accelerator, as far as it is issued: by simulating those
 * alone, since less urgent work is not to hold them up, with all that runs. Absolute times, so that one forecast serves until urgent work changes.
 */
export class UrgentForecast {
  readonly #graph: GlobalMappingGraph;
  readonly #reconstruction: Reconstruction;
  readonly #simulator: Simulator;
  /** By class. */
  readonly #nextStartNs: Float64Array[] = [];
  readonly #isKnown: boolean[] = [];

  constructor(graph: GlobalMappingGraph, reconstruction: Reconstruction, simulator: Simulator) {
    this.#graph = graph;
    this.#reconstruction = reconstruction;
    this.#simulator = simulator;
  }

  /** Knows what another one has forecast, over a copy of its graph. */
  continueFrom(other: UrgentForecast): void {
    for (const starts of other.#nextStartNs) this.#nextStartNs.push(starts.slice());
    this.#isKnown.push(...other.#isKnown);
  }

  /**
   * Something of this class was issued or has ended, so that what was forecast for less urgent ones no longer holds. Tells whether there
   * was such a forecast.
   */
  changed(rank: number): boolean {
    let wasKnown = false;
    for (let less = rank + 1; less < this.#isKnown.length; less++) {
      wasKnown ||= this.#isKnown[less] === true;
      this.#isKnown[less] = false;
    }
    return wasKnown;
  }

  /** Infinity where none is issued. Linear in the more urgent operators issued when something has changed, else O(1). */
  nextStartNs(accelerator: AcceleratorIndex, rank: number, nowNs: number): number {
    if (this.#isKnown[rank] !== true) this.#look(rank, nowNs);
    return this.#nextStartNs[rank]?.[accelerator] ?? Number.POSITIVE_INFINITY;
  }

  #look(rank: number, nowNs: number): void {
    for (let r = this.#nextStartNs.length; r <= rank; r++) {
      this.#nextStartNs.push(new Float64Array(this.#graph.cluster.accelerators.length));
      this.#isKnown.push(false);
    }
    const next = (this.#nextStartNs[rank] as Float64Array).fill(Number.POSITIVE_INFINITY);
    this.#isKnown[rank] = true;
    if (!this.#hasMoreUrgent(rank)) return;
    this.#reconstruction.begin(nowNs, [], rank - 1);
    this.#simulator.run();
    for (const [handle, { accelerator, startedNs }] of this.#reconstruction.operators()) {
      if (startedNs >= 0) continue;
      const startNs = this.#simulator.startNs(handle);
      if (startNs < (next[accelerator] as number)) next[accelerator] = startNs;
    }
  }

  #hasMoreUrgent(rank: number): boolean {
    for (let r = 0; r < rank; r++) if (this.#graph.issuedOfRank(r) > 0) return true;
    return false;
  }
}
