import type { CompiledPartition, GlobalMappingGraph, OperatorNode } from "@slicescheduler/gmg";
import type { Simulator } from "@slicescheduler/simulator";
import { Delays } from "./delays.ts";
import { LeastCompletion } from "./least-completion.ts";
import { Parts } from "./parts.ts";
import { type DurationModel, type PredictedShortage, Reconstruction } from "./reconstruction.ts";

/** What the base of a trial holds. */
export interface TrialBase {
  readonly nowNs: number;
  /** Of what has not started, less urgent classes are left out. */
  readonly rankMax: number;
}

/** What all trials of a scheduler share: a simulator, and what is rebuilt in it. */
export class TrialGround {
  readonly simulator: Simulator;
  readonly reconstruction: Reconstruction;
  readonly least: LeastCompletion;
  readonly delays: Delays;
  /** Null where memory is simulated: what runs out of it anywhere stops everything. */
  readonly parts: Parts | null;

  /**
   * @param isPredicted Whether memory is simulated.
   * @param turnNs After this a transfer that waits may get another turn, by the simulator's options.
   */
  constructor(
    graph: GlobalMappingGraph,
    durations: DurationModel,
    simulator: Simulator,
    isPredicted: boolean,
    turnNs: number,
  ) {
    this.simulator = simulator;
    this.reconstruction = new Reconstruction(graph, durations, simulator, {
      memory: isPredicted ? "exact" : "unbounded",
    });
    this.least = new LeastCompletion(graph, durations);
    this.delays = new Delays(simulator, this.reconstruction);
    const transferNs = durations.transferNs.bind(durations);
    this.parts = isPredicted ? null : new Parts(graph, transferNs, turnNs);
  }
}

/**
 * Tries one batch on one candidate after another. The base is rebuilt when the first is tried, as far as it has anything to do with the
 * candidate, and again for one that has to do with more: the score is the same to the bit.
 */
export class Trial {
  readonly #ground: TrialGround;
  readonly #batch: readonly OperatorNode[];
  readonly #base: TrialBase;
  readonly #onSimulated: (operators: number) => void;
  /** Of candidates that were run to their end. */
  readonly #scores = new Map<CompiledPartition, number>();
  /** Parts of the cluster that the base holds; null for all of it, undefined before there is one. */
  #held: ReadonlySet<number> | null | undefined;
  #looked: boolean = false;
  readonly #leastNs = new Map<CompiledPartition, number>();

  constructor(
    ground: TrialGround,
    batch: readonly OperatorNode[],
    base: TrialBase,
    onSimulated: (operators: number) => void,
  ) {
    this.#ground = ground;
    this.#batch = batch;
    this.#base = base;
    this.#onSimulated = onSimulated;
  }

  /**
   * The average completion of the batch's operators, in ns of the run's time; null once it must exceed `abandonAboveNs`. What a batch of the
   * most urgent class delays of that class counts as if it were its own delay.
   */
  score(partition: CompiledPartition, abandonAboveNs: number): number | null {
    const known = this.#scores.get(partition);
    if (known !== undefined) return known > abandonAboveNs ? null : known;
    const outcome = this.#run(partition, abandonAboveNs);
    if (outcome !== "finished") return null;
    const { simulator, delays } = this.#ground;
    const scoreNs = simulator.score() + (this.#isUrgent ? delays.totalNs / this.#batch.length : 0);
    this.#scores.set(partition, scoreNs);
    return scoreNs;
  }

  /** No score is less. */
  leastNs(partition: CompiledPartition): number {
    const known = this.#leastNs.get(partition);
    if (known !== undefined) return known;
    const { least } = this.#ground;
    const { nowNs, rankMax } = this.#base;
    if (this.#leastNs.size === 0) least.begin(nowNs, this.#batch, rankMax);
    const leastNs = least.on(partition);
    // About as much work as to simulate them once: a turn has to end here as well.
    this.#onSimulated(this.#batch.length);
    this.#leastNs.set(partition, leastNs);
    return leastNs;
  }

  /** Null where it was not asked for. */
  knownLeastNs(partition: CompiledPartition): number | null {
    return this.#leastNs.get(partition) ?? null;
  }

  /** Where the candidate would run out of memory; null where it would not. */
  shortageOn(partition: CompiledPartition): PredictedShortage | null {
    this.score(partition, Number.POSITIVE_INFINITY);
    return this.#scores.has(partition) ? null : this.#ground.reconstruction.shortage();
  }

  #run(partition: CompiledPartition, abandonAboveNs: number): string {
    const { reconstruction, simulator } = this.#ground;
    this.#hold(partition);
    reconstruction.lay(this.#batch, partition);
    const { outcome, simulatedOperators } = simulator.run({ abandonAboveScore: abandonAboveNs });
    this.#onSimulated(simulatedOperators);
    return outcome;
  }

  /** Sees to it that the base holds whatever has to do with the candidate. */
  #hold(partition: CompiledPartition): void {
    const { parts, reconstruction } = this.#ground;
    const { nowNs, rankMax } = this.#base;
    if (this.#held === null) return;
    if (parts !== null && !this.#looked) parts.look();
    this.#looked = true;
    const wanted = parts?.concerning(this.#batch, partition, nowNs) ?? null;
    if (wanted === null || parts === null) reconstruction.begin(nowNs, this.#batch, rankMax);
    else {
      if (this.#held !== undefined && isWithin(wanted, this.#held)) return;
      reconstruction.begin(nowNs, this.#batch, rankMax, (accelerator) => wanted.has(parts.partOf(accelerator)));
    }
    this.#held = wanted;
    if (this.#isUrgent) this.#ground.delays.begin();
  }

  get #isUrgent(): boolean {
    return this.#batch[0]?.rank === 0;
  }
}

function isWithin(parts: ReadonlySet<number>, others: ReadonlySet<number>): boolean {
  for (const part of parts) if (!others.has(part)) return false;
  return true;
}
