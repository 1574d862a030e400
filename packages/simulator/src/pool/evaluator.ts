/** Takes candidates of a written round, one by one; the same code on the caller's thread and in every worker. */
import { SimulatorError } from "../errors.ts";
import { Simulator } from "../simulator.ts";
import type { SimulatorOptions } from "../types.ts";
import { replay } from "./calls.ts";
import { type WrittenError, writeFailure, writeResult, writtenError } from "./results.ts";
import type { WrittenRound } from "./round.ts";
import { type TopologyTable, topologyOf } from "./topology-table.ts";
import { lookUpNs } from "./transfer-table.ts";

export interface EvaluatorOptions {
  readonly topology: TopologyTable;
  readonly agingNs: number | undefined;
  readonly reserveNs: number | undefined;
}

export class Evaluator {
  readonly #options: SimulatorOptions;
  #simulator: Simulator;
  #round: WrittenRound = { words: new Float64Array(0), starts: new Float64Array(0), transfers: new Float64Array(0) };

  /** Throws the arbitration package's INVALID_TOPOLOGY and INVALID_OPTIONS. O(accelerators²), once. */
  constructor({ topology, agingNs, reserveNs }: EvaluatorOptions) {
    const { accelerators } = topology;
    this.#options = {
      topology: topologyOf(topology),
      transferNs: (source, destination, bytes) =>
        lookUpNs(this.#round.transfers, source * accelerators + destination, bytes),
      ...(agingNs === undefined ? {} : { agingNs }),
      ...(reserveNs === undefined ? {} : { reserveNs }),
    };
    this.#simulator = new Simulator(this.#options);
  }

  /**
   * Declares the base and runs it, so that every candidate finds the same state of the simulator, whichever were taken before. Throws what is
   * wrong with the base.
   */
  begin(round: WrittenRound): void {
    this.#round = round;
    const simulator = this.#simulator;
    replay(simulator, round.words, 0, round.starts[0] ?? round.words.length);
    simulator.mark();
    simulator.run();
  }

  /** Writes the result; returns the error of one that fails, and goes on as if it had not been there. */
  evaluate(candidate: number, abandonAboveScore: number, records: Float64Array): WrittenError | null {
    const { words, starts } = this.#round;
    const simulator = this.#simulator;
    try {
      simulator.rewind();
      replay(simulator, words, starts[candidate] as number, starts[candidate + 1] ?? words.length);
      writeResult(records, candidate, simulator.run({ abandonAboveScore }), simulator);
      return null;
    } catch (error) {
      writeFailure(records, candidate);
      // After a refusal the simulator is as before; after anything else nobody knows.
      if (!(error instanceof SimulatorError)) {
        this.#simulator = new Simulator(this.#options);
        this.begin(this.#round);
      }
      return writtenError(error);
    }
  }
}
