import type { CompiledPartition, GlobalMappingGraph, OperatorNode, PlacementOption } from "@slicescheduler/gmg";
import type { Simulator } from "@slicescheduler/simulator";
import { collectBatch } from "./batch.ts";
import type { Predictor } from "./predictor.ts";
import type { PredictedShortage } from "./reconstruction.ts";
import { named, predictedOutOfMemory } from "./shortages.ts";
import { Trial, type TrialBase, TrialGround } from "./trial.ts";
import type { Candidate, CandidateReport, Choice, Decision, Placement, Round, SchedulingPolicy } from "./types.ts";

export interface ChooserOptions {
  readonly policy: SchedulingPolicy;
  /** Operators laid by one decision. */
  readonly batchOperatorsMax: number;
  /** Of the simulator. Default 1 s. */
  readonly agingNs?: number | undefined;
  /** Of the simulator. Default 4 s. */
  readonly reserveNs?: number | undefined;
}

/** A placement, or where the candidate that came nearest ran out of memory. */
export type Chosen = { readonly placement: Placement } | { readonly shortage: PredictedShortage };

/** One round of Algorithm 1 (paper §3.4): a batch, its candidates, what each would give, and the policy's choice. */
export class Chooser {
  readonly #graph: GlobalMappingGraph;
  readonly #ground: TrialGround;
  readonly #options: ChooserOptions;
  readonly #isPredicted: boolean;
  rounds = 0;
  /** And, of candidates whose least score was worked out, the operators of the batch. */
  simulatedOperators = 0;

  constructor(graph: GlobalMappingGraph, predictor: Predictor, simulator: Simulator, options: ChooserOptions) {
    this.#graph = graph;
    this.#options = options;
    this.#isPredicted = graph.claims.memorySafety === "predicted";
    this.#ground = new TrialGround(graph, predictor, simulator, this.#isPredicted, turnNs(options));
  }

  /** @param options Where the operator could be laid, at least one of them with memory. */
  choose(operator: OperatorNode, options: readonly PlacementOption[], base: TrialBase): Chosen {
    const { batchOperatorsMax } = this.#options;
    const choice = this.#chooseFor(collectBatch(operator, batchOperatorsMax), options, base);
    // A whole batch may pass a capacity that its first operator does not.
    if ("placement" in choice || !this.#isPredicted || batchOperatorsMax === 1) return choice;
    return this.#chooseFor([operator], options, base);
  }

  #chooseFor(batch: readonly OperatorNode[], options: readonly PlacementOption[], base: TrialBase): Chosen {
    const candidates: Candidate[] = [];
    for (const { partition, shortage } of options) {
      if (shortage === null) candidates.push({ partition, movedBytes: movedBytes(batch, partition.acceleratorOf) });
    }
    const trial = new Trial(this.#ground, batch, base, (operators) => {
      this.simulatedOperators += operators;
    });
    const outOfMemory = new Map<CompiledPartition, PredictedShortage>();
    const fitting = this.#isPredicted
      ? candidates.filter(({ partition }) => {
          const shortage = trial.shortageOn(partition);
          if (shortage !== null) outOfMemory.set(partition, shortage);
          return shortage === null;
        })
      : candidates;
    if (fitting.length === 0) return { shortage: [...outOfMemory.values()].reduce(lesser) };
    const round: Round = {
      nowNs: base.nowNs,
      batch,
      candidates: fitting,
      simulate: ({ partition }, abandonAboveNs = Number.POSITIVE_INFINITY) => trial.score(partition, abandonAboveNs),
      // With simulated memory all have been run already.
      ...(this.#isPredicted ? {} : { leastNs: ({ partition }: Candidate) => trial.leastNs(partition) }),
    };
    const choice = this.#options.policy.choose(round);
    const { partition } = choice.candidate;
    const decision: Decision = {
      round: this.rounds++,
      atNs: base.nowNs,
      instance: (batch[0] as OperatorNode).instance.id,
      operators: batch.map((member) => member.index),
      partition: partition.name,
      candidates: this.#reports(options, candidates, round, choice, trial, outOfMemory),
    };
    return { placement: { decision, batch, partition } };
  }

  #reports(
    options: readonly PlacementOption[],
    candidates: readonly Candidate[],
    round: Round,
    { scoresNs }: Choice,
    trial: Trial,
    outOfMemory: ReadonlyMap<CompiledPartition, PredictedShortage>,
  ): CandidateReport[] {
    const scoreOf = new Map(round.candidates.map(({ partition }, at) => [partition, scoresNs[at] ?? null]));
    const movedOf = new Map(candidates.map(({ partition, movedBytes }) => [partition, movedBytes]));
    return options.map(({ partition, shortage }) => {
      const over = outOfMemory.get(partition);
      return {
        partition: partition.name,
        scoreNs: scoreOf.get(partition) ?? null,
        leastNs: trial.knownLeastNs(partition),
        movedBytes: movedOf.get(partition) ?? 0,
        shortage: shortage === null ? null : named(this.#graph, shortage),
        outOfMemory: over === undefined ? null : predictedOutOfMemory(this.#graph, over),
      };
    });
  }
}

/** A transfer that reserves from the start gets no other turn by that. */
function turnNs({ agingNs = 1e9, reserveNs = 4e9 }: ChooserOptions): number {
  return reserveNs === 0 ? agingNs : Math.min(agingNs, reserveNs);
}

function lesser(a: PredictedShortage, b: PredictedShortage): PredictedShortage {
  return b.bytesOver < a.bytesOver ? b : a;
}

/** Bytes of inputs that are, or will be, on another accelerator than their reader. */
function movedBytes(batch: readonly OperatorNode[], acceleratorOf: readonly number[]): number {
  let bytes = 0;
  for (const operator of batch) {
    const at = acceleratorOf[operator.index];
    for (const tensor of operator.inputs) {
      const { producer } = tensor;
      const from = producer.accelerator >= 0 ? producer.accelerator : acceleratorOf[producer.index];
      if (from !== at) bytes += tensor.bytes;
    }
  }
  return bytes;
}
