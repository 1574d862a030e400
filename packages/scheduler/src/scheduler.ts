import { EstimatorBank } from "@slicescheduler/estimators";
import type {
  AcceleratorIndex,
  CompiledPartition,
  GlobalMappingGraph,
  InstanceNode,
  OperatorNode,
  PlacementOption,
  RequestNode,
  Shortage,
} from "@slicescheduler/gmg";
import { Simulator, type SimulatorOptions } from "@slicescheduler/simulator";
import { collectBatch } from "./batch.ts";
import { type BudgetOptions, IssueBudget } from "./budget.ts";
import { DecisionLog } from "./decisions.ts";
import { UrgentForecast } from "./forecast.ts";
import { simulationGuided } from "./policies.ts";
import { Predictor } from "./predictor.ts";
import { type PredictedShortage, Reconstruction } from "./reconstruction.ts";
import { SliceGate, type SliceOptions } from "./slices.ts";
import { Trial } from "./trial.ts";
import type {
  Candidate,
  CandidateReport,
  Decision,
  NamedShortage,
  Placement,
  PredictedOutOfMemory,
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
  /** Decisions made at a time; then whoever shares the event loop has its turn, and the rest follows. Default 64. */
  readonly decisionsPerTurnMax?: number;
  /**
   * How less urgent work is fitted into the time that more urgent work leaves. `false`: it runs whenever nothing more urgent is ready,
   * and holds up what becomes ready meanwhile. Default: fitted, with the defaults of `SliceOptions`.
   */
  readonly slices?: SliceOptions | false;
}

/** That memory was lacking: the claims' epoch then, since when, and where the simulation saw it. */
interface Lack {
  readonly epoch: number;
  readonly sinceNs: number;
  readonly predicted: PredictedShortage | null;
  /** Accelerators that nothing is placed anew on for its sake; worked out when it has waited long. */
  blocks?: readonly AcceleratorIndex[];
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
  readonly #isPredicted: boolean;
  readonly #gate: SliceGate | null;
  /** Of unplaced requests, and of instances of placed ones, that lacked memory. */
  readonly #lacking = new WeakMap<RequestNode | InstanceNode | OperatorNode, Lack>();
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
    this.#simulator = new Simulator(simulatorOptions(graph, this.predictor));
    this.#isPredicted = graph.claims.memorySafety === "predicted";
    this.#reconstruction = new Reconstruction(graph, this.predictor, this.#simulator, {
      memory: this.#isPredicted ? "exact" : "unbounded",
    });
    const { slices = {} } = options;
    this.#gate = slices === false ? null : new SliceGate(graph, this.predictor, this.#forecast(), slices);
  }

  /** Decisions made so far, and operators simulated for them. */
  get statistics(): { readonly rounds: number; readonly simulatedOperators: number } {
    return { rounds: this.#rounds, simulatedOperators: this.#simulatedOperators };
  }

  /** The next decision, or null when nothing may be issued now. The caller carries it out before it asks again. */
  decide(nowNs: number): Placement | null {
    const { unscheduledFrontier } = this.#graph;
    let issued = 0;
    /** Accelerators that nothing is placed anew on, since somebody has waited long for memory there. */
    const blocked = new Set<AcceleratorIndex>();
    for (let rank = 0; rank < unscheduledFrontier.classes; rank++) {
      issued += this.#graph.issuedOfRank(rank);
      if (issued >= this.#budget.operatorsMax) return null;
      for (const operator of unscheduledFrontier.ofClass(rank)) {
        const placement = this.#tryPlace(operator, nowNs, blocked);
        if (placement !== null) return placement;
        for (const accelerator of this.#blockedBy(operator, nowNs)) blocked.add(accelerator);
      }
    }
    return null;
  }

  /** To be told of every issue. Returns whether the operator may run as soon as it is ready; others `activate` tells in time. */
  operatorIssued(operator: OperatorNode): boolean {
    return this.#gate?.issued(operator) ?? true;
  }

  operatorStarted(operator: OperatorNode): void {
    this.#gate?.started(operator);
  }

  /** It is done, has failed or was given back: to be told before the graph is. */
  operatorEnded(operator: OperatorNode): void {
    this.#gate?.ended(operator);
  }

  copyArrived(accelerator: AcceleratorIndex): void {
    this.#gate?.arrived(accelerator);
  }

  acceleratorLost(accelerator: AcceleratorIndex): void {
    this.#gate?.lost(accelerator);
  }

  /** Operators that were held back and are to run now. */
  activate(nowNs: number): readonly OperatorNode[] {
    return this.#gate?.activate(nowNs) ?? [];
  }

  /** When `activate` is to be asked again at the latest; Infinity while only events can change its answer. */
  wakeNs(nowNs: number): number {
    return this.#gate?.wakeNs(nowNs) ?? Number.POSITIVE_INFINITY;
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
    const before = this.#graph.mustFollow(operator);
    if (before !== null) return { why: "instance", behind: before.id };
    const options = this.#graph.placementOptions(operator);
    if (options.length === 0) return { why: "transfer" };
    const shortages = options.map((option) => option.shortage).filter((shortage) => shortage !== null);
    if (shortages.length === options.length) {
      const least = shortages.reduce((a, b) => (lackOf(b) < lackOf(a) ? b : a));
      return { why: "memory", ...this.#named(least), heldBy: this.#graph.claims.holdersOn(least.accelerator) };
    }
    const predicted = this.#lacking.get(this.#whoWaits(operator))?.predicted ?? null;
    if (predicted !== null) {
      return {
        why: "memory",
        ...this.#predicted(predicted),
        heldBy: this.#graph.claims.holdersOn(predicted.accelerator),
      };
    }
    const { rank, partition } = operator.instance.request;
    let issuedOperators = 0;
    for (let r = 0; r <= rank; r++) issuedOperators += this.#graph.issuedOfRank(r);
    const budget = this.#budget.operatorsMax;
    if (issuedOperators >= budget) return { why: "budget", issuedOperators, budget };
    const blocked = new Set<AcceleratorIndex>();
    for (const other of this.#graph.unscheduledFrontier) {
      if (other === operator || partition !== null) break;
      for (const accelerator of this.#blockedBy(other, nowNs)) blocked.add(accelerator);
      if (options.every((option) => isBlocked(option.partition, blocked)))
        return { why: "patience", behind: other.instance.id };
    }
    return { why: "next" };
  }

  #tryPlace(operator: OperatorNode, nowNs: number, blocked: ReadonlySet<AcceleratorIndex>): Placement | null {
    const waiter = this.#whoWaits(operator);
    const lacked = this.#lacking.get(waiter);
    const { epoch } = this.#graph.claims;
    if (lacked?.epoch === epoch) return null;
    const all = this.#graph.placementOptions(operator);
    if (all.length === 0) return null;
    const sinceNs = lacked?.sinceNs ?? nowNs;
    if (!all.some((option) => option.shortage === null)) {
      this.#lacking.set(waiter, { epoch, sinceNs, predicted: null });
      return null;
    }
    const isNew = operator.instance.request.partition === null;
    const options = isNew ? all.filter(({ partition }) => !isBlocked(partition, blocked)) : all;
    if (!options.some((option) => option.shortage === null)) return null;
    const choice = this.#choose(operator, options, nowNs);
    if ("placement" in choice) {
      this.#lacking.delete(waiter);
      return choice.placement;
    }
    this.#lacking.set(waiter, { epoch, sinceNs, predicted: choice.shortage });
    return null;
  }

  #choose(
    operator: OperatorNode,
    options: readonly PlacementOption[],
    nowNs: number,
  ): { placement: Placement } | { shortage: PredictedShortage } {
    const choice = this.#chooseFor(collectBatch(operator, this.#batchOperatorsMax), operator, options, nowNs);
    // A whole batch may pass a capacity that its first operator does not.
    if ("placement" in choice || !this.#isPredicted || this.#batchOperatorsMax === 1) return choice;
    return this.#chooseFor([operator], operator, options, nowNs);
  }

  #chooseFor(
    batch: readonly OperatorNode[],
    operator: OperatorNode,
    options: readonly PlacementOption[],
    nowNs: number,
  ): { placement: Placement } | { shortage: PredictedShortage } {
    const candidates: Candidate[] = [];
    for (const { partition, shortage } of options) {
      if (shortage === null) candidates.push({ partition, movedBytes: movedBytes(batch, partition.acceleratorOf) });
    }
    const trial = new Trial(
      this.#reconstruction,
      this.#simulator,
      batch,
      { nowNs, rankMax: this.#rankMax(operator) },
      (operators) => {
        this.#simulatedOperators += operators;
      },
    );
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
      nowNs,
      batch,
      candidates: fitting,
      simulate: ({ partition }, abandonAboveNs = Number.POSITIVE_INFINITY) => trial.score(partition, abandonAboveNs),
    };
    const choice = this.policy.choose(round);
    const { partition } = choice.candidate;
    const decision: Decision = {
      round: this.#rounds++,
      atNs: nowNs,
      instance: operator.instance.id,
      operators: batch.map((member) => member.index),
      partition: partition.name,
      candidates: this.#reports(options, candidates, (candidate) => {
        const at = fitting.indexOf(candidate);
        return { scoreNs: choice.scoresNs[at] ?? null, outOfMemory: outOfMemory.get(candidate.partition) ?? null };
      }),
    };
    this.#log.add(decision);
    return { placement: { decision, batch, partition } };
  }

  /** Less urgent work does not hold it up where it is fitted into slices; its memory counts where that is predicted. */
  #rankMax({ instance }: OperatorNode): number {
    return this.#gate === null || this.#isPredicted ? Number.POSITIVE_INFINITY : instance.request.rank;
  }

  /** Apart from the simulator that tries candidates, whose base is shared by a round. */
  #forecast(): UrgentForecast {
    const simulator = new Simulator(simulatorOptions(this.#graph, this.predictor));
    return new UrgentForecast(this.#graph, new Reconstruction(this.#graph, this.predictor, simulator), simulator);
  }

  #reports(
    options: readonly PlacementOption[],
    candidates: readonly Candidate[],
    resultOf: (candidate: Candidate) => { scoreNs: number | null; outOfMemory: PredictedShortage | null },
  ): CandidateReport[] {
    return options.map(({ partition, shortage }) => {
      const candidate = candidates.find((each) => each.partition === partition);
      const { scoreNs, outOfMemory } = candidate === undefined ? NO_RESULT : resultOf(candidate);
      return {
        partition: partition.name,
        scoreNs,
        movedBytes: candidate?.movedBytes ?? 0,
        shortage: shortage === null ? null : this.#named(shortage),
        outOfMemory: outOfMemory === null ? null : this.#predictedOutOfMemory(outOfMemory),
      };
    });
  }

  #predictedOutOfMemory({ accelerator, atNs, bytesOver, operator }: PredictedShortage): PredictedOutOfMemory {
    const name = operator === null ? null : nameOf(operator);
    return { accelerator: this.#nameOf(accelerator), atNs, operator: name, bytesOver };
  }

  #predicted({ accelerator, bytesOver }: PredictedShortage): NamedShortage {
    const { capacityBytes = 0 } = this.#graph.cluster.accelerators[accelerator] ?? {};
    const availableBytes = Math.max(0, capacityBytes - this.#graph.ledger.usedBytes(accelerator));
    const neededBytes = availableBytes + bytesOver;
    return { accelerator: this.#nameOf(accelerator), neededBytes, availableBytes, cause: "predicted" };
  }

  #named(shortage: Shortage): NamedShortage {
    return { ...shortage, accelerator: this.#nameOf(shortage.accelerator) };
  }

  #nameOf(accelerator: number): string {
    return this.#graph.cluster.accelerators[accelerator]?.name ?? "";
  }

  /**
   * Accelerators of the partition that somebody who has waited long lacks the least on, unless what is lacking is held by requests that
   * may pause: to wait for those would stop others for nothing.
   */
  #blockedBy(operator: OperatorNode, nowNs: number): readonly AcceleratorIndex[] {
    const lack = this.#lacking.get(this.#whoWaits(operator));
    if (lack === undefined || nowNs - lack.sinceNs < this.#memoryPatienceNs) return [];
    lack.blocks ??= this.#accelerators(operator);
    return lack.blocks;
  }

  #accelerators(operator: OperatorNode): readonly AcceleratorIndex[] {
    const { claims } = this.#graph;
    const { instance } = operator;
    const { request } = instance;
    let least: CompiledPartition | null = null;
    let leastBytes = Number.POSITIVE_INFINITY;
    for (const { partition, shortage } of this.#graph.placementOptions(operator)) {
      if (shortage === null || lackOf(shortage) >= leastBytes) continue;
      const asked = request.partition === null ? claims.claimOn(request, partition.name) : claims.needOf(instance);
      if (asked === undefined || !claims.leavesRoomFor(asked.bytes, request)) continue;
      leastBytes = lackOf(shortage);
      least = partition;
    }
    return least?.used ?? [];
  }

  /**
   * An unplaced request waits as a whole; of a placed one, an instance may lack memory and another none; and what is predicted differs from
   * operator to operator.
   */
  #whoWaits(operator: OperatorNode): RequestNode | InstanceNode | OperatorNode {
    if (this.#isPredicted) return operator;
    return operator.instance.request.partition === null ? operator.instance.request : operator.instance;
  }
}

function simulatorOptions({ cluster }: GlobalMappingGraph, predictor: Predictor): SimulatorOptions {
  const { accelerators, linkCapacity } = cluster;
  return {
    topology: {
      accelerators: accelerators.length,
      portCapacity: accelerators.map((accelerator) => accelerator.copyEngines),
      linkCapacity,
      route: (source, destination) => cluster.route(source, destination),
    },
    transferNs: (source, destination, bytes) => predictor.transferNs(source, destination, bytes),
  };
}

function isBlocked({ used }: CompiledPartition, blocked: ReadonlySet<AcceleratorIndex>): boolean {
  return blocked.size > 0 && used.some((accelerator) => blocked.has(accelerator));
}

function lesser(a: PredictedShortage, b: PredictedShortage): PredictedShortage {
  return b.bytesOver < a.bytesOver ? b : a;
}

function nameOf({ instance, index }: OperatorNode): string {
  return `${instance.template.name}/${instance.template.operators[index]?.name ?? ""} of instance ${instance.id}`;
}

const NO_RESULT = { scoreNs: null, outOfMemory: null };

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
