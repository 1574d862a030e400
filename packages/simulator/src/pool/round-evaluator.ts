import { SimulatorError } from "../errors.ts";
import type { SimulatorOptions } from "../types.ts";
import { Evaluator } from "./evaluator.ts";
import { RECORD, type RoundResult, readResults, type WrittenError } from "./results.ts";
import type { Round } from "./round.ts";
import { topologyTable } from "./topology-table.ts";

/** How candidates are compared. */
export interface RoundLimit {
  /** A candidate is abandoned as soon as its score can no longer be this or less. Default: none is. */
  readonly abandonAboveScore?: number;
}

/** Evaluates rounds on the caller's thread, one candidate after the other: what `SimulatorPool` does, without workers. */
export class RoundEvaluator {
  readonly #evaluator: Evaluator;

  /** Throws the arbitration package's INVALID_TOPOLOGY and INVALID_OPTIONS. O(accelerators²), once. */
  constructor({ topology, agingNs, reserveNs }: Omit<SimulatorOptions, "transferNs">) {
    this.#evaluator = new Evaluator({ topology: topologyTable(topology), agingNs, reserveNs });
  }

  /**
   * What is wrong with the round or its base is thrown as the `SimulatorError` of that call; what is wrong with a candidate is its
   * result. A round without candidates is not looked at.
   */
  evaluate(round: Round, limit: RoundLimit = {}): RoundResult {
    const abandonAboveScore = boundOf(limit);
    const written = round.written();
    const count = written.starts.length;
    const records = new Float64Array(RECORD * count);
    const errors = new Map<number, WrittenError>();
    if (count > 0) this.#evaluator.begin(written);
    for (let candidate = 0; candidate < count; candidate++) {
      const error = this.#evaluator.evaluate(candidate, abandonAboveScore, records);
      if (error !== null) errors.set(candidate, error);
    }
    return readResults(records, count, errors);
  }
}

/** Throws INVALID_OPTION. */
export function boundOf({ abandonAboveScore = Number.POSITIVE_INFINITY }: RoundLimit): number {
  if (Number.isNaN(abandonAboveScore)) throw new SimulatorError("INVALID_OPTION", "abandonAboveScore is NaN");
  return abandonAboveScore;
}
