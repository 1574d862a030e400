import type { ArbitrationOptions } from "@slicescheduler/arbitration";
import type { ExecutorEvent, ExecutorManifest } from "@slicescheduler/executor";
import {
  type ClusterSpec,
  compileCluster,
  GlobalMappingGraph,
  type GraphSnapshot,
  type MemorySafety,
  type OperatorNode,
  type RequestNode,
  type TemplateSpec,
  UnknownAcceleratorError,
} from "@slicescheduler/gmg";
import { type Placement, Scheduler, type SchedulerOptions } from "@slicescheduler/scheduler";
import { Displacement } from "./displacement.ts";
import { Drains } from "./drains.ts";
import { SliceSchedulerError, TimedOutError } from "./errors.ts";
import type { ApplicationEvent, MasterEvent, Reaction } from "./events.ts";
import { ExecutorReports } from "./executor-reports.ts";
import { Expiries } from "./expiries.ts";
import type { HealthOptions } from "./health.ts";
import { HealthDesk } from "./health-desk.ts";
import { Outbox } from "./outbox.ts";
import { Settlements } from "./settlements.ts";
import { findStandstill, isMoving } from "./standstill.ts";
import { type NoteFailure, TransferDesk } from "./transfer-desk.ts";

export interface CoreOptions {
  readonly cluster: ClusterSpec;
  readonly scheduling?: SchedulerOptions;
  readonly arbitration?: ArbitrationOptions;
  /** See `MemorySafety`. Default `"guaranteed"`. */
  readonly memorySafety?: MemorySafety;
  /** See `HealthOptions`; `false`: nobody is suspected of anything, and nothing is tried again. Default: with its defaults. */
  readonly health?: HealthOptions | false;
  /** Of the executor that carries the instructions out: whether it has probes. Default: it has none. */
  readonly manifest?: Pick<ExecutorManifest, "probes">;
}

export interface CoreCounts {
  /** Reports that came twice, or about what had ended or gone: ignored. */
  readonly lateEvents: number;
  /** Reports that came before what they follow from: they waited for that. */
  readonly earlyEvents: number;
  readonly operatorsDone: number;
}

/**
 * The master as a state machine: `handle(event, nowNs)` changes it and returns instructions and notices, as plain data. No
 * clock, timer, promise, randomness or I/O inside; the same events give the same instructions, to the byte.
 * An event that is refused throws a typed error and changes nothing.
 */
export class MasterCore {
  readonly graph: GlobalMappingGraph;
  readonly scheduler: Scheduler;
  readonly #options: CoreOptions;
  readonly #outbox: Outbox;
  readonly #transfers: TransferDesk;
  readonly #settlements: Settlements;
  readonly #expiries = new Expiries();
  readonly #drains = new Drains();
  readonly #displacement: Displacement;
  readonly #health: HealthDesk;
  readonly #reports: ExecutorReports;
  /** A turn ended with decisions left to make. */
  #isUnfinished: boolean = false;
  /** Chances since somebody last looked for a standstill while others moved. */
  #looksLeftOut = 0;
  /** The claims' epoch at which everything was tried in vain while nothing moved. */
  #triedEpoch = -1;
  /** A standstill was told, and nothing has moved since. */
  #standsStill: boolean = false;

  readonly #note: NoteFailure = (instance, reason) => this.#settlements.note(instance, reason);

  /** @param origin For `fork`. */
  constructor(options: CoreOptions, origin: Origin | null = null) {
    this.#options = options;
    this.graph = origin?.graph ?? new GlobalMappingGraph(compileCluster(options.cluster), options.memorySafety);
    this.scheduler = origin?.scheduler ?? new Scheduler(this.graph, { ...options.scheduling, ...options.arbitration });
    this.#displacement = new Displacement(this.graph, options.scheduling?.preemptionsPerRequestMax ?? 16);
    this.#outbox = new Outbox(this.graph);
    this.#transfers = new TransferDesk(this.graph, this.scheduler.predictor, this.#outbox, options.arbitration);
    this.#settlements = new Settlements(this.graph, this.scheduler, this.#outbox, this.#transfers);
    const { health = {}, manifest } = options;
    // A fork plays on what is predicted, where nobody fails.
    const watches = origin === null ? health : false;
    const hasProbes = manifest?.probes ?? false;
    this.#health = new HealthDesk(this.graph, this.scheduler, this.#outbox, watches, hasProbes);
    this.#reports = new ExecutorReports({
      graph: this.graph,
      scheduler: this.scheduler,
      outbox: this.#outbox,
      transfers: this.#transfers,
      settlements: this.#settlements,
      expiries: this.#expiries,
      drains: this.#drains,
      health: this.#health,
    });
  }

  /**
   * A core that answers from now on as this one would, apart from it: nothing that either is told reaches the other. It learns no
   * durations. Throws EFFECTS_PENDING from within `handle`. Linear in the graph.
   * @param snapshot Of this core's graph as it is now.
   */
  fork(snapshot: GraphSnapshot): MasterCore {
    const graph = GlobalMappingGraph.restore(snapshot);
    const twins = new Map(snapshot.requests.id.map((id) => [this.graph.request(id), graph.request(id)]));
    const fork = new MasterCore(this.#options, { graph, scheduler: this.scheduler.fork(graph, twins) });
    fork.#settlements.continueFrom(this.#settlements);
    fork.#transfers.continueFrom(this.#transfers);
    fork.#expiries.continueFrom(this.#expiries, twins);
    fork.#drains.continueFrom(this.#drains);
    fork.#displacement.continueFrom(this.#displacement, twins);
    fork.#health.continueFrom(this.#health);
    fork.#isUnfinished = this.#isUnfinished;
    fork.#looksLeftOut = this.#looksLeftOut;
    fork.#triedEpoch = this.#triedEpoch;
    fork.#standsStill = this.#standsStill;
    return fork;
  }

  get counts(): CoreCounts {
    const { late, early, operatorsDone } = this.#reports;
    return { lateEvents: late, earlyEvents: early, operatorsDone };
  }

  /** Reports that came before what they follow from, and wait for it. */
  get waitingReports(): readonly ExecutorEvent[] {
    return this.#reports.waiting;
  }

  /** When it wants a `timePassed` event at the latest; Infinity when only other events can change anything. */
  wakeNs(nowNs: number): number {
    if (this.#isUnfinished) return nowNs;
    const dueNs = Math.min(this.#transfers.nextDeadlineNs, this.#health.nextNs);
    return Math.max(nowNs, Math.min(this.#expiries.nextNs, dueNs, this.scheduler.wakeNs(nowNs)));
  }

  /** Counts everything again from scratch. Throws INVARIANT_BROKEN. For tests; linear in the graph. */
  validate(): void {
    this.graph.validate();
    this.#transfers.validate();
  }

  handle(event: MasterEvent, nowNs: number): Reaction {
    const reaction = this.#outbox.open();
    let frontierMayHaveMoved = this.#take(event, nowNs);
    if (this.#isOverdue(event, nowNs)) {
      this.#transfers.expire(nowNs, this.#note);
      frontierMayHaveMoved = true;
    }
    if (this.#reports.hearWaiting(nowNs)) frontierMayHaveMoved = true;
    this.#displacement.unplaceReturned();
    this.#settlements.carryOut(nowNs);
    if (this.#transfers.hasStarved) this.#transfers.retryStarved(nowNs);
    this.#transfers.select(nowNs);
    if (frontierMayHaveMoved || this.#isUnfinished) {
      do this.#issueWhatMayBe(nowNs);
      while (!this.#isUnfinished && this.#mayStandStill() && this.#resolveStandstill(nowNs));
    }
    this.#promoteStarving(nowNs);
    this.#tellDrained(nowNs);
    this.#health.arm(nowNs, event.type !== "timePassed");
    for (const operator of this.scheduler.activate(nowNs)) {
      this.#outbox.instruct({ type: "activate", issueNumber: operator.issueNumber });
    }
    return reaction;
  }

  /** An end that comes at the very deadline comes in time: the wake is the last of what happens then. */
  #isOverdue(event: MasterEvent, nowNs: number): boolean {
    const { nextDeadlineNs } = this.#transfers;
    return nextDeadlineNs < nowNs || (nextDeadlineNs === nowNs && event.type === "timePassed");
  }

  /** After the issues: only then it shows who was passed over. */
  #promoteStarving(nowNs: number): void {
    const starving = this.scheduler.starving(nowNs);
    if (starving.length === 0) return;
    for (const operator of starving) this.graph.promote(operator, 0);
    this.#settlements.carryOut(nowNs);
    this.#issueWhatMayBe(nowNs);
  }

  /** Tells whether more may be issued now. */
  #take(event: MasterEvent, nowNs: number): boolean {
    if (event.type === "timePassed") {
      this.#expire(nowNs);
      this.#health.due(nowNs, this.#reports.giveUp(nowNs));
      return true;
    }
    return isExecutorEvent(event) ? this.#reports.hear(event, nowNs) : this.#applicationAsks(event, nowNs);
  }

  /** Requests that have run out of time fail. */
  #expire(nowNs: number): void {
    for (const { kind, request } of this.#expiries.due(nowNs)) {
      for (const instance of [...request.instances]) {
        if (instance.state !== "live") continue;
        const sinceNs = instance.insertedNs;
        this.#settlements.note(instance, new TimedOutError(kind, instance.id, request.id, { sinceNs, atNs: nowNs }));
        this.graph.fail(instance.id, nowNs);
      }
    }
  }

  #applicationAsks(event: ApplicationEvent, nowNs: number): boolean {
    switch (event.type) {
      case "templateRegistered":
        this.#register(event.template);
        return false;
      case "requestOpened":
        this.#open(event, nowNs);
        return false;
      case "requestClosed":
        this.graph.closeRequest(event.request);
        return true;
      case "instanceSubmitted":
        this.#submit(event, nowNs);
        return true;
      case "outputReleased":
        this.graph.releaseOutput(event.instance, event.output);
        return true;
      case "instanceCancelled":
        this.graph.cancel(event.instance, nowNs);
        return true;
      case "acceleratorDrained":
        this.#checkAccelerator(event.accelerator);
        if (!this.#drains.begin(event.accelerator)) return false;
        this.graph.drainAccelerator(event.accelerator, nowNs);
        this.scheduler.placesChanged();
        this.#outbox.tellAccelerator("acceleratorDraining", event.accelerator, nowNs);
        return true;
      case "acceleratorResumed":
        this.#checkAccelerator(event.accelerator);
        if (!this.#drains.end(event.accelerator)) return false;
        // One that is lost or absent is there again when its executor says so.
        if (this.graph.availability(event.accelerator) === "down") return false;
        this.graph.returnAccelerator(event.accelerator);
        this.scheduler.placesChanged();
        this.#outbox.tellAccelerator("acceleratorReturned", event.accelerator, nowNs);
        return true;
    }
  }

  #register(spec: TemplateSpec): void {
    const template = this.graph.registerTemplate(spec);
    this.#outbox.instruct({ type: "registerTemplate", template: template.spec });
    for (const partition of template.partitions) {
      for (const weight of partition.weights) {
        if (this.graph.availability(weight.accelerator) !== "down")
          this.#outbox.instruct({ type: "loadWeights", ...weight });
      }
    }
  }

  #open(event: Extract<ApplicationEvent, { type: "requestOpened" }>, nowNs: number): void {
    const { request: id, deadlineNs, queueTimeoutNs, failAtDeadline, partitions, tenant, ...opening } = event;
    this.scheduler.tenants.requireRoom(tenant);
    const request = this.graph.openRequest(
      { ...opening, id, deadlineNs: deadlineNs ?? Number.POSITIVE_INFINITY, allowedPartitions: partitions },
      nowNs,
    );
    this.scheduler.tenants.opened(request, tenant);
    this.#expiries.opened(request, { queueTimeoutNs: queueTimeoutNs ?? Number.POSITIVE_INFINITY, failAtDeadline });
  }

  #submit(event: Extract<ApplicationEvent, { type: "instanceSubmitted" }>, nowNs: number): void {
    const { instance: id, partitions: allowedPartitions, template, symbols, inputs, retain, label } = event;
    const request = this.graph.request(event.request);
    if (this.#expiries.failsAtDeadline(request) && nowNs >= request.deadlineNs) failPassed(request, nowNs);
    const outputs = this.graph.template(template).outputs.map((output) => output.name);
    for (const name of retain) if (!outputs.includes(name)) outputs.push(name);
    if (request.partition === null && request.instances.size === 0) this.scheduler.tenants.requireRoomFor(request);
    const rank = event.rank ?? request.rank;
    const order = this.scheduler.tenants.beginning(request, rank);
    const urgency = { rank, deadlineNs: event.deadlineNs ?? request.deadlineNs, order };
    const submission = { id, template, symbols, inputs, retain: outputs, allowedPartitions, label, ...urgency };
    this.scheduler.instanceSubmitted(this.graph.insert(submission, event.request, nowNs));
    this.#settlements.releaseAtEnd(
      id,
      outputs.filter((name) => !retain.includes(name)),
    );
    this.#expiries.submitted(request, nowNs);
    this.#transfers.failBehind(nowNs, this.#note);
  }

  /** Nothing was issued and nothing moves: if work waits for memory that will not come, the least urgent gives way. */
  #resolveStandstill(nowNs: number): boolean {
    const moving = isMoving(this.graph);
    // While others move it is looked for now and then: it is linear in what waits.
    if (moving) {
      this.#looksLeftOut += 1;
      if (this.#looksLeftOut < LOOKS_LEFT_OUT) return false;
    }
    this.#looksLeftOut = 0;
    // What was predicted while others still ran may be wrong now: everything is tried once more before anybody has to give way.
    if (!moving && this.graph.claims.memorySafety === "predicted" && this.#triedEpoch !== this.graph.claims.epoch) {
      this.graph.claims.changed();
      this.#triedEpoch = this.graph.claims.epoch;
      return true;
    }
    const standstill = findStandstill(this.graph, this.scheduler, nowNs);
    if (standstill === null) {
      this.#standsStill = false;
      return false;
    }
    const { waiters, victim, reason } = standstill;
    if (victim !== null || !this.#standsStill) {
      this.#outbox.tell("standstill", { waiters, failed: victim?.id ?? null, reason, atNs: nowNs });
    }
    this.#standsStill = true;
    if (victim === null) return false;
    this.#settlements.note(victim, `it gave way, since nothing moved any more: ${reason}`);
    this.graph.fail(victim.id, nowNs);
    this.#settlements.carryOut(nowNs);
    this.#transfers.retryStarved(nowNs);
    this.#transfers.select(nowNs);
    return true;
  }

  #mayStandStill(): boolean {
    return this.graph.unscheduledFrontier.size > 0 || this.#transfers.hasStarved;
  }

  /** So many decisions at a time that whoever shares the event loop has its turn in between. */
  #issueWhatMayBe(nowNs: number): void {
    this.#isUnfinished = false;
    this.scheduler.beginTurn();
    let triesAll = false;
    for (;;) {
      const placement = this.scheduler.decide(nowNs, triesAll);
      if (placement === "later") {
        // Of what was tried in vain the most urgent was: as long as something moves there will be an event.
        this.#isUnfinished = this.scheduler.isTurnOver;
        if (this.#isUnfinished || isMoving(this.graph)) return;
        triesAll = true;
        continue;
      }
      if (placement === null) {
        this.#makeRoom(nowNs);
        return;
      }
      this.#carryOut(placement, nowNs);
    }
  }

  #carryOut({ decision, batch, partition }: Placement, nowNs: number): void {
    this.#outbox.tell("decision", decision);
    for (const operator of batch) {
      const issued = this.graph.issue(operator, partition, nowNs);
      const activated = this.scheduler.operatorIssued(operator);
      this.#outbox.instruct({ type: "issue", activated, ...issued });
      this.#outbox.tell("operatorIssued", this.#outbox.operatorNotice(operator, nowNs));
      this.#settlements.carryOut(nowNs);
    }
    this.#giveWay(batch);
    this.#settlements.carryOut(nowNs);
  }

  /** Where the batch went, less urgent work that has not started makes room for it in the budget. */
  #giveWay(batch: readonly OperatorNode[]): void {
    const tooMany = new Map<number, number>();
    for (const { accelerator } of batch) {
      const over = this.scheduler.operatorsOverBudget(accelerator);
      if (over > 0) tooMany.set(accelerator, over);
    }
    if (tooMany.size > 0) this.#displacement.giveWay((batch[0] as OperatorNode).rank, tooMany);
  }

  /** Less urgent requests of which nothing has started give up memory that the most urgent operator lacks. */
  #makeRoom(nowNs: number): void {
    for (const lack of this.scheduler.lacksOfMostUrgent()) this.#displacement.makeRoom(lack);
    this.#settlements.carryOut(nowNs);
  }

  /** It was drained, and nothing lies on it any more. */
  isDrained(accelerator: number): boolean {
    return this.#drains.isOver(accelerator);
  }

  #checkAccelerator(accelerator: number): void {
    if (accelerator in this.graph.cluster.accelerators) return;
    throw new UnknownAcceleratorError(accelerator, this.graph.cluster.accelerators.length);
  }

  /** Accelerators that nothing lies on any more. */
  #tellDrained(nowNs: number): void {
    for (const accelerator of this.#drains.becameIdle(this.graph)) {
      this.#outbox.tellAccelerator("acceleratorDrained", accelerator, nowNs);
      // Requests that hold nothing any more leave it as well, and what they had reserved elsewhere others may have.
      this.graph.drainAccelerator(accelerator, nowNs);
      this.scheduler.placesChanged();
      this.#issueWhatMayBe(nowNs);
    }
  }
}

interface Origin {
  readonly graph: GlobalMappingGraph;
  readonly scheduler: Scheduler;
}

/** While others move, of so many chances to look for a standstill one is taken. */
const LOOKS_LEFT_OUT = 64;

const APPLICATION_EVENTS: ReadonlySet<string> = new Set([
  "templateRegistered",
  "requestOpened",
  "requestClosed",
  "instanceSubmitted",
  "outputReleased",
  "instanceCancelled",
  "acceleratorDrained",
  "acceleratorResumed",
]);

function isExecutorEvent(event: ApplicationEvent | ExecutorEvent): event is ExecutorEvent {
  return !APPLICATION_EVENTS.has(event.type);
}

function failPassed({ id, deadlineNs }: RequestNode, nowNs: number): never {
  throw new SliceSchedulerError(
    "DEADLINE_PASSED",
    `request ${id} fails at its deadline, ${deadlineNs} ns, and it is ${nowNs} ns: an instance submitted now could not be done in time`,
    { request: id, deadlineNs, nowNs },
  );
}
