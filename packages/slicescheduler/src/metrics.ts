import type { Executor } from "@slicescheduler/executor";
import type { RequestNode } from "@slicescheduler/gmg";
import type { Decision } from "@slicescheduler/scheduler";
import type { MasterCore } from "./core.ts";
import type { MasterEvent, Notice, Notices, Reaction } from "./events.ts";
import { BusyTimes } from "./metrics-busy.ts";
import { defineAll, type MetricName } from "./metrics-catalogue.ts";
import { StateMetrics } from "./metrics-gauges.ts";
import { ClassSeries, LabelSeries, Labels, type Payer } from "./metrics-labels.ts";
import type { MetricsOptions, Recorder, Series } from "./metrics-sink.ts";

/** What the meter takes of the master. */
export interface Measured {
  readonly core: MasterCore;
  readonly executor: Executor;
  readonly priorities: readonly string[];
  readonly nowNs: () => number;
  readonly hostNowNs: (() => number) | undefined;
  /** Gets what the sink threw. */
  readonly onError: (error: unknown) => void;
}

interface IssuedRecord {
  readonly payer: Payer;
  readonly accelerator: number;
  readonly issuedNs: number;
  /** NaN where nothing was predicted. */
  readonly predictedNs: number;
}

interface OpenRequest {
  readonly node: RequestNode;
  readonly payer: Payer;
  readonly openedNs: number;
  /** The first of its instances is done. */
  hasResult: boolean;
}

interface OpenInstance {
  readonly payer: Payer;
  readonly request: OpenRequest | undefined;
  readonly submittedNs: number;
  hasStarted: boolean;
}

type OperatorOutcome = "done" | "failed" | "retried" | "withdrawn" | "lost" | "dropped";

/**
 * Tells a sink what the master does, from the events that it handles and what it answers. It keeps a few numbers per issued operator, open
 * request and instance; nothing of it is there without the option `metrics`.
 */
export class Meter {
  readonly #of: Measured;
  readonly #classes: Labels;
  readonly #tenants: Labels;
  readonly #accelerators: Labels;
  readonly #series: Readonly<Record<MetricName, Series>>;
  readonly #byClass: Readonly<Record<ClassMetric, ClassSeries>>;
  readonly #outcomes: Readonly<Record<OperatorOutcome, ClassSeries>>;
  readonly #instanceOutcomes: Readonly<Record<"done" | "failed" | "cancelled", ClassSeries>>;
  readonly #candidates: LabelSeries;
  readonly #transfers: LabelSeries;
  readonly #durations: LabelSeries[];
  readonly #queueWaits: LabelSeries;
  /** By accelerator. */
  readonly #moved: LabelSeries[];
  readonly #hot: Readonly<
    Record<"decisions" | "standstills" | "rounds" | "operatorErrors" | "transferErrors" | "transferTimes", Recorder>
  >;
  readonly #busy: BusyTimes;
  readonly #state: StateMetrics;
  readonly #issued = new Map<number, IssuedRecord>();
  readonly #requests = new Map<number, OpenRequest>();
  readonly #instances = new Map<number, OpenInstance>();
  /** By transfer, in nanoseconds, since its data move. */
  readonly #predictedTransfers = new Map<number, number>();

  constructor(
    measured: Measured,
    { sink, tenantsMax = TENANTS_MAX, acceleratorsMax = ACCELERATORS_MAX }: MetricsOptions,
  ) {
    this.#of = measured;
    const { core, executor, priorities, nowNs } = measured;
    const { accelerators } = core.graph.cluster;
    this.#classes = new Labels(priorities.length, priorities);
    this.#tenants = new Labels(tenantsMax);
    const names = accelerators.map(({ name }) => name);
    this.#accelerators = new Labels(acceleratorsMax, names);
    const series = defineAll(sink);
    this.#series = series;
    const byClass = (metric: MetricName, ...more: string[]) =>
      new ClassSeries(series[metric], this.#classes, this.#tenants, more);
    this.#byClass = recordOf(CLASS_METRICS, (metric) => byClass(metric));
    this.#outcomes = recordOf(OPERATOR_OUTCOMES, (outcome) => byClass("operatorsEnded", outcome));
    this.#instanceOutcomes = recordOf(["done", "failed", "cancelled"], (outcome) => byClass("instancesEnded", outcome));
    this.#candidates = new LabelSeries(series.candidates);
    this.#transfers = new LabelSeries(series.transfers);
    this.#durations = [...priorities, ""].map(
      (_, rank) => new LabelSeries(series.operatorDuration, [this.#classes.valueOf(rank)]),
    );
    this.#queueWaits = new LabelSeries(series.operatorQueue);
    this.#moved = accelerators.map(({ index }) => new LabelSeries(series.transferredBytes, [this.#nameOf(index)]));
    this.#hot = {
      decisions: series.decisions([]),
      standstills: series.standstills([]),
      rounds: series.roundDuration([]),
      operatorErrors: series.estimateError(["operator"]),
      transferErrors: series.estimateError(["transfer"]),
      transferTimes: series.transferDuration([]),
    };
    const isAbsent = (accelerator: number) => core.graph.availability(accelerator) === "down";
    this.#busy = new BusyTimes(accelerators.length, isAbsent, nowNs());
    const shown = { busy: this.#busy, accelerators: this.#accelerators, classes: priorities };
    this.#state = new StateMetrics(core, executor, series, shown);
    sink.beforeReading(() => this.#refresh());
  }

  /** Has the core handle the event, and tells the sink of it. Throws what the core throws. */
  handle(event: MasterEvent, nowNs: number): Reaction {
    const { core, hostNowNs, onError } = this.#of;
    const sinceNs = hostNowNs?.() ?? 0;
    let reaction: Reaction;
    try {
      reaction = core.handle(event, nowNs);
    } catch (error) {
      this.#guarded(() => this.#series.refusals([codeOf(error)])(1));
      throw error;
    }
    try {
      if (hostNowNs !== undefined && reaction.notices.some(isDecision))
        this.#hot.rounds((hostNowNs() - sinceNs) / NS_PER_SECOND);
      this.#observe(event, reaction, nowNs);
    } catch (error) {
      onError(error);
    }
    return reaction;
  }

  #guarded(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#of.onError(error);
    }
  }

  #refresh(): void {
    this.#guarded(() => {
      this.#dropGone("dropped");
      this.#state.refresh(this.#of.nowNs());
    });
  }

  #observe(event: MasterEvent, { instructions, notices }: Reaction, nowNs: number): void {
    const { type } = event;
    if (type === "requestOpened") {
      const tenant = this.#tenants.indexOf(event.tenant || NOBODY);
      this.#opened(event.request, { rank: event.rank, tenant }, nowNs);
    } else if (type === "instanceSubmitted") this.#submitted(event.instance, event.request, event.rank, nowNs);
    else if (type === "transferFailed" || type === "transferCancelled") {
      this.#transfers.record(type === "transferFailed" ? "failed" : "cancelled", 1);
      this.#predictedTransfers.delete(event.transfer);
    }
    for (const notice of notices) this.#notice(notice);
    for (const instruction of instructions)
      if (instruction.type === "activateSend") this.#sending(instruction.transfer);
  }

  #opened(id: number, payer: Payer, nowNs: number): void {
    const node = this.#of.core.graph.request(id);
    this.#requests.set(id, { node, payer, openedNs: nowNs, hasResult: false });
    this.#byClass.requestsOpened.record(payer, 1);
    const { graph } = this.#of.core;
    if (this.#requests.size <= 2 * graph.counts().requests + SLACK) return;
    for (const [other, { node }] of this.#requests) if (!graph.hasRequest(node)) this.#requests.delete(other);
  }

  #submitted(id: number, requestId: number, rank: number | null, nowNs: number): void {
    const request = this.#requests.get(requestId);
    const of = request?.payer ?? { rank: 0, tenant: 0 };
    const payer = rank === null || rank === of.rank ? of : { rank, tenant: of.tenant };
    this.#instances.set(id, { payer, request, submittedNs: nowNs, hasStarted: false });
  }

  #notice({ name, value }: Notice): void {
    switch (name) {
      case "operatorIssued":
        this.#operatorIssued(value);
        return;
      case "operatorStarted":
        this.#operatorStarted(value);
        return;
      case "operatorDone":
        this.#operatorDone(value);
        return;
      case "operatorFailed":
        this.#operatorEnded(value, value.again ? "retried" : "failed");
        return;
      case "operatorWithdrawn":
        this.#operatorEnded(value, "withdrawn");
        return;
      case "transferDone":
        this.#transferDone(value);
        return;
      case "transferQuarantined":
        this.#transfers.record("quarantined", 1);
        return;
      case "instanceDone":
        this.#instanceEnded(value, "done");
        return;
      case "instanceFailed":
        this.#series.instanceFailures([codeOf(value.error)])(1);
        this.#instanceEnded(value, "failed");
        return;
      case "instanceCancelled":
        this.#instanceEnded(value, "cancelled");
        return;
      case "decision":
        this.#decided(value);
        return;
      case "standstill":
        this.#hot.standstills(1);
        return;
      case "transferReleased":
        return;
      default:
        this.#acceleratorEvent(name, value);
    }
  }

  #operatorIssued({ issueNumber, instance, accelerator, atNs }: Notices["operatorIssued"]): void {
    const { graph, scheduler } = this.#of.core;
    const operator = graph.issued(issueNumber);
    const payer = this.#instances.get(instance)?.payer ?? { rank: operator?.rank ?? 0, tenant: 0 };
    const predictedNs = operator === undefined ? Number.NaN : scheduler.predictor.operatorNs(operator, accelerator);
    this.#issued.set(issueNumber, { payer, accelerator, issuedNs: atNs, predictedNs });
    this.#byClass.operatorsIssued.record(payer, 1);
    if (this.#issued.size > 2 * graph.counts().issuedOperators + SLACK) this.#dropGone("dropped");
  }

  #operatorStarted({ issueNumber, instance, accelerator, atNs }: Notices["operatorStarted"]): void {
    this.#busy.started(accelerator, issueNumber, atNs);
    const issued = this.#issued.get(issueNumber);
    if (issued !== undefined) {
      this.#queueWaits.record(this.#classes.valueOf(issued.payer.rank), (atNs - issued.issuedNs) / NS_PER_SECOND);
    }
    const open = this.#instances.get(instance);
    if (open === undefined || open.hasStarted) return;
    open.hasStarted = true;
    this.#byClass.instanceWait.record(open.payer, (atNs - open.submittedNs) / NS_PER_SECOND);
  }

  #operatorDone(value: Notices["operatorDone"]): void {
    const { issueNumber, accelerator, observedNs } = value;
    const issued = this.#issued.get(issueNumber);
    this.#operatorEnded(value, "done");
    if (issued === undefined) return;
    const { kind = "" } = this.#of.core.graph.cluster.accelerators[accelerator] ?? {};
    this.#durations[issued.payer.rank]?.record(kind, observedNs / NS_PER_SECOND);
    const error = Math.abs(observedNs - issued.predictedNs) / observedNs;
    if (error < Number.POSITIVE_INFINITY) this.#hot.operatorErrors(error);
  }

  #operatorEnded({ issueNumber, accelerator, atNs }: Notices["operatorIssued"], outcome: OperatorOutcome): void {
    this.#busy.ended(accelerator, issueNumber, atNs);
    const issued = this.#issued.get(issueNumber);
    if (issued === undefined) return;
    this.#issued.delete(issueNumber);
    this.#outcomes[outcome].record(issued.payer, 1);
  }

  /** Operators of which nothing will be told any more. */
  #dropGone(outcome: "lost" | "dropped", accelerator = -1): void {
    const { graph } = this.#of.core;
    for (const [issueNumber, { payer, accelerator: at }] of this.#issued) {
      if (graph.issued(issueNumber) !== undefined || (accelerator >= 0 && at !== accelerator)) continue;
      this.#issued.delete(issueNumber);
      this.#outcomes[outcome].record(payer, 1);
    }
  }

  #instanceEnded({ instance, atNs }: Notices["instanceDone"], outcome: "done" | "failed" | "cancelled"): void {
    const open = this.#instances.get(instance);
    if (open === undefined) return;
    this.#instances.delete(instance);
    const { payer, request, submittedNs } = open;
    this.#instanceOutcomes[outcome].record(payer, 1);
    if (outcome !== "done") return;
    this.#byClass.instanceDuration.record(payer, (atNs - submittedNs) / NS_PER_SECOND);
    if (request === undefined || request.hasResult) return;
    request.hasResult = true;
    this.#byClass.firstResult.record(request.payer, (atNs - request.openedNs) / NS_PER_SECOND);
  }

  #decided({ candidates, partition }: Decision): void {
    this.#hot.decisions(1);
    for (const candidate of candidates) {
      if (candidate.partition === partition) this.#candidates.record("chosen", 1);
      else if (candidate.shortage !== null) this.#candidates.record("shortage", 1);
      else if (candidate.outOfMemory !== null) this.#candidates.record("predicted", 1);
      else this.#candidates.record(candidate.scoreNs === null ? "spared" : "simulated", 1);
    }
  }

  #sending(number: number): void {
    const { graph, scheduler } = this.#of.core;
    const transfer = graph.transfer(number);
    if (transfer === undefined) return;
    const { source, destination, tensor } = transfer;
    this.#predictedTransfers.set(number, scheduler.predictor.transferNs(source, destination, tensor.bytes));
    if (this.#predictedTransfers.size <= 2 * graph.counts().transfers + SLACK) return;
    for (const other of this.#predictedTransfers.keys())
      if (graph.transfer(other) === undefined) this.#predictedTransfers.delete(other);
  }

  #transferDone({ transfer, source, destination, bytes, observedNs }: Notices["transferDone"]): void {
    this.#transfers.record("done", 1);
    this.#hot.transferTimes(observedNs / NS_PER_SECOND);
    this.#moved[source]?.record("out", bytes);
    this.#moved[destination]?.record("in", bytes);
    const predictedNs = this.#predictedTransfers.get(transfer);
    this.#predictedTransfers.delete(transfer);
    if (predictedNs !== undefined && observedNs > 0)
      this.#hot.transferErrors(Math.abs(observedNs - predictedNs) / observedNs);
  }

  #acceleratorEvent(name: keyof Notices, { accelerator, atNs }: Notices["acceleratorLost"]): void {
    if (name === "acceleratorLost") {
      this.#busy.lost(accelerator, atNs);
      this.#dropGone("lost", accelerator);
    }
    if (name === "acceleratorReturned") this.#busy.returned(accelerator, atNs);
    const event = name.replace(/^accelerator/, "").toLowerCase();
    this.#series.acceleratorEvents([this.#nameOf(accelerator), event])(1);
  }

  #nameOf(accelerator: number): string {
    const { name = "" } = this.#of.core.graph.cluster.accelerators[accelerator] ?? {};
    return this.#accelerators.valueOf(this.#accelerators.indexOf(name));
  }
}

const NS_PER_SECOND = 1e9;
const TENANTS_MAX = 20;
const ACCELERATORS_MAX = 256;
/** Records of what has gone are looked for when there are so many more than twice what is there. */
const SLACK = 64;
/** The tenant of requests that name none. */
const NOBODY = "none";

const CLASS_METRICS = [
  "operatorsIssued",
  "requestsOpened",
  "instanceWait",
  "instanceDuration",
  "firstResult",
] as const satisfies readonly MetricName[];
type ClassMetric = (typeof CLASS_METRICS)[number];

const OPERATOR_OUTCOMES = ["done", "failed", "retried", "withdrawn", "lost", "dropped"] as const;

function recordOf<const Key extends string, Value>(
  keys: readonly Key[],
  make: (key: Key) => Value,
): Record<Key, Value> {
  return Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<Key, Value>;
}

function isDecision({ name }: Notice): boolean {
  return name === "decision";
}

/** Codes are a fixed set, by class of error. */
function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z_]{1,40}$/.test(code) ? code : "none";
}
