import { EstimatorBank } from "@slicescheduler/estimators";
import type { GlobalMappingGraph, OperatorNode, PlacementOption, RequestNode, Shortage } from "@slicescheduler/gmg";
import { Simulator } from "@slicescheduler/simulator";
import { collectBatch } from "./batch.ts";
import { type BudgetOptions, IssueBudget } from "./budget.ts";
import { DecisionLog } from "./decisions.ts";
import { simulationGuided } from "./policies.ts";
import { Predictor } from "./predictor.ts";
import { Reconstruction } from "./reconstruction.ts";
import type {
  Candidate,
  CandidateReport,
  Decision,
  NamedShortage,
  Placement,
  Round,
  SchedulingPolicy,
  WaitingReason,
} from "./types.ts";

export interface SchedulerOptions extends BudgetOptions {
  /** Default: simulation-guided. */
  readonly policy?: SchedulingPolicy;
  /** What is known of durations already. Default: nothing. */
  readonly estimators?: EstimatorBank;
  /** Operators laid by one decision, which the issue budget may be passed by. Default 8. */
  readonly batchOperatorsMax?: number;
  /**
   * A request that has waited this long for memory, to be placed or to go on, is no longer passed by: nothing of its class or a
   * less urgent one is placed anew before it. Default 10 s.
   */
  readonly memoryPatienceNs?: number;
  /** Decisions kept for explanations. Default 4096. */
  readonly decisionsKept?: number;
}

/**
 * The scheduling module (paper §3.4, Algorithm 1): from the unscheduled frontier to one decision at a time. It reads the
 * graph and changes nothing in it; the master carries decisions out.
 */
export class Scheduler {
  readonly policy: SchedulingPolicy;
  readonly predictor: Predictor;
  readonly estimators: EstimatorBank;
  readonly #graph: GlobalMappingGraph;
  readonly #budget: IssueBudget;
  readonly #simulator: Simulator;
  readonly #reconstruction: Reconstruction;
  readonly #log: DecisionLog;
  readonly #batchOperatorsMax: number;
  readonly #memoryPatienceNs: number;
  /** Of requests that lacked memory: the claims' epoch then, and since when. */
  readonly #lacking = new WeakMap<RequestNode, { epoch: number; sinceNs: number }>();
  #rounds = 0;
  #simulatedOperators = 0;

  constructor(graph: GlobalMappingGraph, options: SchedulerOptions = {}) {
    this.policy = options.policy ?? simulationGuided;
    this.estimators = options.estimators ?? new EstimatorBank();
    this.predictor = new Predictor(graph.cluster, this.estimators);
    this.#graph = graph;
    this.#budget = new IssueBudget(graph.cluster.accelerators.length, options);
    this.#log = new DecisionLog(options.decisionsKept ?? 4096);
    this.#batchOperatorsMax = options.batchOperatorsMax ?? 8;
    this.#memoryPatienceNs = options.memoryPatienceNs ?? 10e9;
    const { accelerators, linkCapacity } = graph.cluster;
    this.#simulator = new Simulator({
      topology: {
        accelerators: accelerators.length,
        portCapacity: accelerators.map((accelerator) => accelerator.copyEngines),
        linkCapacity,
        route: (source, destination) => graph.cluster.route(source, destination),
      },
      transferNs: (source, destination, bytes) => this.predictor.transferNs(source, destination, bytes),
    });
    this.#reconstruction = new Reconstruction(graph, this.predictor, this.#simulator);
  }

  /** Decisions made so far, and operators simulated for them. */
  get statistics(): { readonly rounds: number; readonly simulatedOperators: number } {
    return { rounds: this.#rounds, simulatedOperators: this.#simulatedOperators };
  }

  /** The next decision, or null when nothing may be issued now. The caller carries it out before it asks again. */
  decide(nowNs: number): Placement | null {
    const { unscheduledFrontier } = this.#graph;
    let issued = 0;
    let newPlacements = true;
    for (let rank = 0; rank < unscheduledFrontier.classes; rank++) {
      issued += this.#graph.issuedOfRank(rank);
      if (issued >= this.#budget.operatorsMax) return null;
      for (const operator of unscheduledFrontier.ofClass(rank)) {
        const isNew = operator.instance.request.partition === null;
        if (isNew && !newPlacements) continue;
        const placement = this.#tryPlace(operator, nowNs);
        if (placement !== null) return placement;
        if (this.#hasWaitedLong(operator, nowNs)) newPlacements = false;
      }
    }
    return null;
  }

  operatorObserved(operator: OperatorNode, observedNs: number): void {
    this.predictor.operatorObserved(operator, observedNs);
    this.#budget.observe(observedNs);
  }

  decisionsAbout(instance: number): Decision[] {
    return this.#log.about(instance);
  }

  /** Why an unscheduled operator is not issued. */
  waitingReason(operator: OperatorNode, nowNs: number): WaitingReason {
    if (operator.unscheduledInputs > 0) return { why: "producers", unscheduledInputs: operator.unscheduledInputs };
    const options = this.#graph.placementOptions(operator);
    if (options.length === 0) return { why: "transfer" };
    const shortages = options.map((option) => option.shortage).filter((shortage) => shortage !== null);
    if (shortages.length === options.length) {
      const least = shortages.reduce((a, b) => (lackOf(b) < lackOf(a) ? b : a));
      return { why: "memory", ...this.#named(least) };
    }
    const { rank, partition } = operator.instance.request;
    let issuedOperators = 0;
    for (let r = 0; r <= rank; r++) issuedOperators += this.#graph.issuedOfRank(r);
    const budget = this.#budget.operatorsMax;
    if (issuedOperators >= budget) return { why: "budget", issuedOperators, budget };
    for (const other of this.#graph.unscheduledFrontier) {
      if (other === operator) return { why: "next" };
      if (partition === null && this.#hasWaitedLong(other, nowNs))
        return { why: "patience", behind: other.instance.id };
    }
    return { why: "next" };
  }

  #tryPlace(operator: OperatorNode, nowNs: number): Placement | null {
    const { request } = operator.instance;
    const lacked = this.#lacking.get(request);
    // Of a request that is placed, one instance may lack memory and another none.
    if (lacked?.epoch === this.#graph.claims.epoch && request.partition === null) return null;
    const options = this.#graph.placementOptions(operator);
    if (!options.some((option) => option.shortage === null)) {
      if (options.length > 0) {
        this.#lacking.set(request, { epoch: this.#graph.claims.epoch, sinceNs: lacked?.sinceNs ?? nowNs });
      }
      return null;
    }
    this.#lacking.delete(request);
    return this.#choose(operator, options, nowNs);
  }

  #choose(operator: OperatorNode, options: readonly PlacementOption[], nowNs: number): Placement {
    const batch = collectBatch(operator, this.#batchOperatorsMax);
    const candidates: Candidate[] = [];
    for (const { partition, shortage } of options) {
      if (shortage === null) candidates.push({ partition, movedBytes: movedBytes(batch, partition.acceleratorOf) });
    }
    let begun = false;
    const round: Round = {
      nowNs,
      batch,
      candidates,
      simulate: (candidate, abandonAboveNs = Number.POSITIVE_INFINITY) => {
        if (!begun) this.#reconstruction.begin(nowNs, batch);
        begun = true;
        this.#reconstruction.lay(batch, candidate.partition);
        const result = this.#simulator.run({ abandonAboveScore: abandonAboveNs });
        this.#simulatedOperators += result.simulatedOperators;
        return result.outcome === "finished" ? this.#simulator.score() : null;
      },
    };
    const choice = this.policy.choose(round);
    const { partition } = choice.candidate;
    const decision: Decision = {
      round: this.#rounds++,
      atNs: nowNs,
      instance: operator.instance.id,
      operators: batch.map((member) => member.index),
      partition: partition.name,
      candidates: this.#reports(options, candidates, choice.scoresNs),
    };
    this.#log.add(decision);
    return { decision, batch, partition };
  }

  #reports(
    options: readonly PlacementOption[],
    candidates: readonly Candidate[],
    scoresNs: readonly (number | null)[],
  ): CandidateReport[] {
    return options.map(({ partition, shortage }) => {
      const at = candidates.findIndex((candidate) => candidate.partition === partition);
      return {
        partition: partition.name,
        scoreNs: scoresNs[at] ?? null,
        movedBytes: candidates[at]?.movedBytes ?? 0,
        shortage: shortage === null ? null : this.#named(shortage),
      };
    });
  }

  #named(shortage: Shortage): NamedShortage {
    return { ...shortage, accelerator: this.#graph.cluster.accelerators[shortage.accelerator]?.name ?? "" };
  }

  #hasWaitedLong(operator: OperatorNode, nowNs: number): boolean {
    const lacked = this.#lacking.get(operator.instance.request);
    return lacked !== undefined && nowNs - lacked.sinceNs >= this.#memoryPatienceNs;
  }
}

function lackOf({ neededBytes, availableBytes }: Shortage): number {
  return neededBytes - availableBytes;
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
