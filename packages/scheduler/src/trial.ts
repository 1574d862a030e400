import type { CompiledPartition, OperatorNode } from "@slicescheduler/gmg";
import type { Simulator } from "@slicescheduler/simulator";
import type { PredictedShortage, Reconstruction } from "./reconstruction.ts";

/** What the base of a trial holds. */
export interface TrialBase {
  readonly nowNs: number;
  /** Of what has not started, less urgent classes are left out. */
  readonly rankMax: number;
}

/** Tries one batch on one candidate after another, over a base that is rebuilt when the first is tried. */
export class Trial {
  readonly #reconstruction: Reconstruction;
  readonly #simulator: Simulator;
  readonly #batch: readonly OperatorNode[];
  readonly #base: TrialBase;
  readonly #onSimulated: (operators: number) => void;
  /** Of candidates that were run to their end. */
  readonly #scores = new Map<CompiledPartition, number>();
  #begun: boolean = false;

  constructor(
    reconstruction: Reconstruction,
    simulator: Simulator,
    batch: readonly OperatorNode[],
    base: TrialBase,
    onSimulated: (operators: number) => void,
  ) {
    this.#reconstruction = reconstruction;
    this.#simulator = simulator;
    this.#batch = batch;
    this.#base = base;
    this.#onSimulated = onSimulated;
  }

  /** The average completion of the batch's operators, in ns of the run's time; null once it must exceed `abandonAboveNs`. */
  score(partition: CompiledPartition, abandonAboveNs: number): number | null {
    const known = this.#scores.get(partition);
    if (known !== undefined) return known > abandonAboveNs ? null : known;
    const outcome = this.#run(partition, abandonAboveNs);
    if (outcome !== "finished") return null;
    const scoreNs = this.#simulator.score();
    this.#scores.set(partition, scoreNs);
    return scoreNs;
  }

  /** Where the candidate would run out of memory; null where it would not. */
  shortageOn(partition: CompiledPartition): PredictedShortage | null {
    this.score(partition, Number.POSITIVE_INFINITY);
    return this.#scores.has(partition) ? null : this.#reconstruction.shortage();
  }

  #run(partition: CompiledPartition, abandonAboveNs: number): string {
    if (!this.#begun) this.#reconstruction.begin(this.#base.nowNs, this.#batch, this.#base.rankMax);
    this.#begun = true;
    this.#reconstruction.lay(this.#batch, partition);
    const { outcome, simulatedOperators } = this.#simulator.run({ abandonAboveScore: abandonAboveNs });
    this.#onSimulated(simulatedOperators);
    return outcome;
  }
}
