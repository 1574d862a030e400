import { EstimatorBank, FrozenBank } from "@slicescheduler/estimators";
import type {
  AcceleratorIndex,
  CompiledPartition,
  GlobalMappingGraph,
  InstanceNode,
  OperatorNode,
  RequestNode,
} from "@slicescheduler/gmg";
import { Simulator, type SimulatorOptions } from "@slicescheduler/simulator";
import { type BudgetOptions, IssueBudget } from "./budget.ts";
import { Chooser } from "./chooser.ts";
import { DecisionLog } from "./decisions.ts";
import { UrgentForecast } from "./forecast.ts";
import { IssuedCounts } from "./issued-counts.ts";
import { isBlocked, MemoryPatience } from "./patience.ts";
import { simulationGuided } from "./policies.ts";
import { Predictor } from "./predictor.ts";
import { Reconstruction } from "./reconstruction.ts";
import { lackOf, leastShortage } from "./shortages.ts";
import { SliceGate, type SliceOptions } from "./slices.ts";
import { StarvationGuard } from "./starvation.ts";
import { type TenantOptions, Tenants } from "./tenants.ts";
import type { Decision, Placement, SchedulingPolicy, WaitingReason } from "./types.ts";
import { waitingReason } from "./waiting.ts";

export interface SchedulerOptions extends BudgetOptions {
  /** By which transfers are simulated: those of the arbiter, where they are not its defaults. */
  readonly agingNs?: number;
  readonly reserveNs?: number;
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
  /**
   * Milliseconds that decisions may take at a time, by `simulatedOperatorsPerMs` so that a run replays, and one decision more; then whoever
   * shares the event loop has its turn, and the rest follows. Default 5.
   */
  readonly turnMsMax?: number;
  /**
   * How less urgent work is fitted into the time that more urgent work leaves. `false`: it runs whenever nothing more urgent is ready,
   * and holds up what becomes ready meanwhile. Default: fitted, with the defaults of `SliceOptions`.
   */
  readonly slices?: SliceOptions | false;
  /**
   * Less urgent work that more urgent work has kept waiting this long goes with the most urgent. It is looked for every quarter of it.
   * Default 60 s.
   */
  readonly starvationBoundNs?: number;
  /** Who shares the cluster, by name. Default: nobody is told apart. */
  readonly tenants?: Readonly<Record<string, TenantOptions>>;
  /** Requests that wait for a place, all tenants together; a further one is refused with QUEUE_FULL. Default: no limit. */
  readonly queuedRequestsMax?: number;
  /** Operators of one request that are taken back for more urgent work, over all its life. Default 16. */
  readonly preemptionsPerRequestMax?: number;
}

/** Memory that an urgent operator lacks where it lacks the least. */
export interface UrgentLack {
  readonly accelerator: AcceleratorIndex;
  readonly rank: number;
  readonly bytes: number;
}

/** Of the most urgent operators, so many are looked at that less urgent requests could make room for. */
const URGENT_LOOKED_AT = 4;

/** What a decision takes beside its simulation, in simulated operators. */
const DECISION_OPERATORS = 100;

/** So many may be tried in vain at a time: each costs as much as a decision. */
const TRIED_IN_VAIN_MAX = 8;

/**
 * The scheduling module (paper §3.4, Algorithm 1): from the unscheduled frontier to one decision at a time. It reads the
 * graph and changes nothing in it; the master carries decisions out, and tells it of whatever happens to operators.
 */
export class Scheduler {
  readonly policy: SchedulingPolicy;
  readonly predictor: Predictor;
  readonly estimators: EstimatorBank;
  readonly #options: SchedulerOptions;
  readonly #graph: GlobalMappingGraph;
  readonly #budget: IssueBudget;
  readonly #issued: IssuedCounts;
  readonly #chooser: Chooser;
  readonly #log: DecisionLog;
  readonly #patience: MemoryPatience;
  readonly #starvation: StarvationGuard;
  readonly #gate: SliceGate | null;
  /** What was seen when everything in the frontier was found to wait for memory. */
  #allWaitForMemory = "";
  /** What the decisions of this turn took, in simulated operators. */
  #turnOperators = 0;
  readonly tenants: Tenants;

  constructor(graph: GlobalMappingGraph, options: SchedulerOptions = {}) {
    this.policy = options.policy ?? simulationGuided;
    this.estimators = options.estimators ?? new EstimatorBank();
    this.predictor = new Predictor(graph.cluster, this.estimators);
    this.#options = options;
    this.#graph = graph;
    this.#budget = new IssueBudget(graph.cluster.accelerators.length, options);
    this.#issued = new IssuedCounts(graph.cluster.accelerators.length);
    this.#log = new DecisionLog(options.decisionsKept ?? 4096);
    this.#patience = new MemoryPatience(graph, options.memoryPatienceNs ?? 10e9);
    this.tenants = new Tenants(graph, options.tenants ?? {}, options.queuedRequestsMax);
    this.#starvation = new StarvationGuard(graph, options.starvationBoundNs ?? 60e9, (operator, nowNs) =>
      this.waitingReason(operator, nowNs),
    );
    const simulator = new Simulator(simulatorOptions(graph, this.predictor, options));
    const { policy } = this;
    this.#chooser = new Chooser(graph, this.predictor, simulator, {
      policy,
      batchOperatorsMax: options.batchOperatorsMax ?? 8,
      agingNs: options.agingNs,
      reserveNs: options.reserveNs,
    });
    const { slices = {} } = options;
    this.#gate = slices === false ? null : new SliceGate(graph, this.predictor, this.#forecast(), slices);
  }

  /**
   * A scheduler over a copy of this one's graph, which decides as this one would with what is known of durations now: it learns nothing
   * more, and this one nothing of it. Its policy is the same object. Linear in the frontier and in what is issued.
   * @param twins Requests of this one's graph, each with its copy.
   */
  fork(graph: GlobalMappingGraph, twins: ReadonlyMap<RequestNode, RequestNode>): Scheduler {
    const fork = new Scheduler(graph, { ...this.#options, estimators: new FrozenBank(this.estimators) });
    fork.#budget.continueFrom(this.#budget);
    fork.#issued.recount(graph);
    fork.#patience.continueFrom(this.#patience);
    fork.#starvation.continueFrom(this.#starvation);
    fork.tenants.continueFrom(this.tenants, twins);
    if (this.#gate !== null) fork.#gate?.continueFrom(this.#gate, graph);
    fork.#chooser.rounds = this.#chooser.rounds;
    fork.#turnOperators = this.#turnOperators;
    return fork;
  }

  /** Decisions made so far, and operators simulated for them. */
  get statistics(): { readonly rounds: number; readonly simulatedOperators: number } {
    const { rounds, simulatedOperators } = this.#chooser;
    return { rounds, simulatedOperators };
  }

  /**
   * The next decision, or null when nothing may be issued now; "later" when the turn is over, or more was tried in vain than should be at
   * once: the most urgent of it, so that nothing is lost by waiting for the next event. The caller carries it out before it asks again.
   * @param triesAll Try as much as fits in the turn, since no event may follow. Default false.
   */
  decide(nowNs: number, triesAll = false): Placement | "later" | null {
    if (this.isTurnOver) return "later";
    const seen = this.#seen();
    if (this.#allWaitForMemory === seen) return null;
    const { unscheduledFrontier } = this.#graph;
    let allWaitForMemory = true;
    this.#patience.look();
    let triedInVain = 0;
    /** Accelerators that nothing is placed anew on, since somebody has waited long for memory there. */
    const blocked = new Set<AcceleratorIndex>();
    for (let rank = 0; rank < unscheduledFrontier.classes; rank++) {
      if (!this.#issued.hasRoom(rank, this.#budget.operatorsPerAccelerator)) return null;
      for (const operator of unscheduledFrontier.ofClass(rank)) {
        if (this.#mayBeTried(operator)) {
          if (triesAll ? this.isTurnOver : triedInVain++ === TRIED_IN_VAIN_MAX) return "later";
          const placement = this.#tryPlace(operator, nowNs, blocked);
          if (placement !== null) return placement;
        }
        allWaitForMemory &&= this.#patience.isHopeless(operator);
        for (const accelerator of this.#patience.blockedBy(operator, nowNs)) blocked.add(accelerator);
      }
    }
    if (allWaitForMemory) this.#allWaitForMemory = seen;
    return null;
  }

  /** Changes whenever an operator that waits for memory might find some, or one that waits for nothing comes. */
  #seen(): string {
    return `${this.#graph.unscheduledFrontier.additions} ${this.#graph.claims.epoch} ${this.#patience.places}`;
  }

  #mayBeTried(operator: OperatorNode): boolean {
    if (this.#patience.isHopeless(operator) || this.tenants.reached(operator) !== null) return false;
    const { partition } = operator.instance;
    if (partition === null) return this.#graph.avoidedFor(operator).length === 0;
    return this.#hasBudgetOn(partition, operator);
  }

  /** Whether the accelerator that an operator would be laid on may have more. */
  #hasBudgetOn({ acceleratorOf }: CompiledPartition, { index, rank }: OperatorNode): boolean {
    return this.#issued.upTo(acceleratorOf[index] as number, rank) < this.#budget.operatorsPerAccelerator;
  }

  /** By how many operators an accelerator has more than its budget; 0 or less when there is room. O(classes). */
  operatorsOverBudget(accelerator: AcceleratorIndex): number {
    return this.#issued.upTo(accelerator, Number.POSITIVE_INFINITY) - this.#budget.operatorsPerAccelerator;
  }

  /** Of the most urgent operators of the frontier, those that lack memory: where and how much. */
  lacksOfMostUrgent(): UrgentLack[] {
    const lacks: UrgentLack[] = [];
    if (this.#graph.claims.memorySafety !== "guaranteed" || this.#graph.unscheduledFrontier.classes === 1) return lacks;
    let looked = 0;
    for (const operator of this.#graph.unscheduledFrontier) {
      if (looked++ === URGENT_LOOKED_AT) break;
      if (!this.#patience.isHopeless(operator)) continue;
      const shortage = leastShortage(this.#graph.placementOptions(operator));
      if (shortage?.cause !== "room") continue;
      lacks.push({ accelerator: shortage.accelerator, rank: operator.rank, bytes: lackOf(shortage) });
    }
    return lacks;
  }

  /** To be called before the first `decide` of a turn: whoever shares the event loop has had its own. */
  beginTurn(): void {
    this.#turnOperators = 0;
  }

  /** Whether this turn has taken as long as it may, by the declared speed of simulation. */
  get isTurnOver(): boolean {
    const { turnMsMax = 5, simulatedOperatorsPerMs = 1000 } = this.#options;
    return this.#turnOperators > turnMsMax * simulatedOperatorsPerMs;
  }

  /** Less urgent operators that more urgent work has kept waiting too long. To be asked at every event. */
  starving(nowNs: number): readonly OperatorNode[] {
    return this.#starvation.starving(nowNs);
  }

  /** To be told of every instance. */
  instanceSubmitted(instance: InstanceNode): void {
    if (!this.tenants.areTold) return;
    const accelerators = instance.template.partitions[0]?.acceleratorOf ?? [];
    let durationNs = 0;
    for (const operator of instance.operators) {
      durationNs += this.predictor.operatorNs(operator, accelerators[operator.index] ?? 0);
    }
    this.tenants.submitted(instance, durationNs);
  }

  /** To be told of every issue. Returns whether the operator may run as soon as it is ready; others `activate` tells in time. */
  operatorIssued(operator: OperatorNode): boolean {
    this.#issued.add(operator);
    this.tenants.issued(operator);
    return this.#gate?.issued(operator) ?? true;
  }

  operatorStarted(operator: OperatorNode): void {
    this.#gate?.started(operator);
  }

  /** It is done, has failed or was given back: to be told before the graph is. */
  operatorEnded(operator: OperatorNode): void {
    this.#issued.remove(operator);
    this.tenants.ended(operator);
    this.#gate?.ended(operator);
  }

  /** An issued operator is of another class now. Tells whether it is to be taken back: it may run, and is to be held back again. */
  operatorReranked(operator: OperatorNode): boolean {
    this.#issued.moved(operator);
    return this.#gate?.reranked(operator) ?? false;
  }

  copyArrived(accelerator: AcceleratorIndex): void {
    this.#gate?.arrived(accelerator);
  }

  /** To be told after the graph is. */
  acceleratorLost(accelerator: AcceleratorIndex): void {
    this.#issued.recount(this.#graph);
    this.tenants.recount();
    this.#gate?.lost(accelerator);
    this.placesChanged();
  }

  /** To be told when accelerators come or go, or are drained or no longer. */
  placesChanged(): void {
    this.#patience.placesChanged();
  }

  /** Whether an issued operator waits to be activated. */
  isHeldBack(operator: OperatorNode): boolean {
    return this.#gate?.isHeldBack(operator) ?? false;
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

  /** Why an unscheduled operator is not issued. Linear in the frontier at worst. */
  waitingReason(operator: OperatorNode, nowNs: number): WaitingReason {
    const quota = this.tenants.reached(operator);
    if (quota !== null && operator.unscheduledInputs === 0) return { why: "quota", ...quota };
    const { operatorsPerAccelerator } = this.#budget;
    return waitingReason(this.#graph, this.#patience, operator, nowNs, (accelerator) => ({
      issuedOperators: this.#issued.upTo(accelerator, operator.rank),
      moreUrgentOperators: this.#issued.upTo(accelerator, operator.rank - 1),
      budget: operatorsPerAccelerator,
    }));
  }

  #tryPlace(operator: OperatorNode, nowNs: number, blocked: ReadonlySet<AcceleratorIndex>): Placement | null {
    const all = this.#graph.placementOptions(operator);
    if (all.length === 0) return null;
    if (!all.some((option) => option.shortage === null)) {
      this.#patience.lacks(operator, nowNs, all);
      return null;
    }
    const isNew = operator.instance.request.partition === null;
    const options = all.filter(
      ({ partition }) => this.#hasBudgetOn(partition, operator) && !(isNew && isBlocked(partition, blocked)),
    );
    if (!options.some((option) => option.shortage === null)) return null;
    const before = this.#chooser.simulatedOperators;
    const chosen = this.#chooser.choose(operator, options, { nowNs, rankMax: this.#rankMax(operator) });
    const simulated = this.#chooser.simulatedOperators - before;
    // Where anything was simulated, all that is issued was laid out for it.
    this.#turnOperators += DECISION_OPERATORS + simulated + (simulated > 0 ? this.#graph.counts().issuedOperators : 0);
    if ("shortage" in chosen) {
      this.#patience.isPredictedToLack(operator, nowNs, chosen.shortage);
      return null;
    }
    this.#patience.placed(operator);
    this.#log.add(chosen.placement.decision);
    return chosen.placement;
  }

  /** Less urgent work does not hold it up where it is fitted into slices; its memory counts where that is predicted. */
  #rankMax({ rank }: OperatorNode): number {
    const isFitted = this.#gate !== null && this.#graph.claims.memorySafety === "guaranteed";
    return isFitted ? rank : Number.POSITIVE_INFINITY;
  }

  /** Apart from the simulator that tries candidates, whose base is shared by a round. */
  #forecast(): UrgentForecast {
    const simulator = new Simulator(simulatorOptions(this.#graph, this.predictor, this.#options));
    return new UrgentForecast(this.#graph, new Reconstruction(this.#graph, this.predictor, simulator), simulator);
  }
}

function simulatorOptions(
  { cluster }: GlobalMappingGraph,
  predictor: Predictor,
  { agingNs, reserveNs }: Pick<SchedulerOptions, "agingNs" | "reserveNs">,
): SimulatorOptions {
  const { accelerators, linkCapacity } = cluster;
  return {
    topology: {
      accelerators: accelerators.length,
      portCapacity: accelerators.map((accelerator) => accelerator.copyEngines),
      linkCapacity,
      route: (source, destination) => cluster.route(source, destination),
    },
    transferNs: (source, destination, bytes) => predictor.transferNs(source, destination, bytes),
    ...(agingNs === undefined ? {} : { agingNs }),
    ...(reserveNs === undefined ? {} : { reserveNs }),
  };
}
