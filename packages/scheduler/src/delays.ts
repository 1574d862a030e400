import type { OperatorNode } from "@slicescheduler/gmg";
import type { SimOperator, Simulator } from "@slicescheduler/simulator";
import type { Reconstruction } from "./reconstruction.ts";

/** By how much a candidate delays operators of the most urgent class that are issued already. */
export class Delays {
  readonly #simulator: Simulator;
  readonly #reconstruction: Reconstruction;
  /** Those of the base, and when they end without any candidate. */
  readonly #ends: { readonly operator: SimOperator; readonly doneNs: number }[] = [];

  constructor(simulator: Simulator, reconstruction: Reconstruction) {
    this.#simulator = simulator;
    this.#reconstruction = reconstruction;
  }

  /** The base was laid out, and no candidate yet. Runs it where there is somebody to delay. */
  begin(): void {
    this.#ends.length = 0;
    const urgent = [...this.#reconstruction.operators()].filter(([, operator]) => mayBeDelayed(operator));
    if (urgent.length === 0) return;
    this.#simulator.run();
    for (const [operator] of urgent) this.#ends.push({ operator, doneNs: this.#simulator.doneNs(operator) });
  }

  /** Nanoseconds in all, after a candidate was run to its end. O(urgent operators of the base). */
  get totalNs(): number {
    let totalNs = 0;
    for (const { operator, doneNs } of this.#ends) {
      const delayNs = this.#simulator.doneNs(operator) - doneNs;
      if (delayNs > 0) totalNs += delayNs;
    }
    return totalNs;
  }
}

function mayBeDelayed({ rank, startedNs }: OperatorNode): boolean {
  return rank === 0 && startedNs < 0;
}
