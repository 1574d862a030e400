import type { Executor } from "@slicescheduler/executor";
import type { MasterCore } from "./core.ts";
import type { BusyTimes } from "./metrics-busy.ts";
import type { MetricName } from "./metrics-catalogue.ts";
import type { Labels } from "./metrics-labels.ts";
import type { Series } from "./metrics-sink.ts";

const OPERATOR_STATES = ["blocked", "ready", "running"] as const;
const TRANSFER_STATES = [
  "planned",
  "intended",
  "starved",
  "cancelling",
  "selected",
  "receiving",
  "sending",
  "quarantined",
] as const;
const TIMES = ["busy", "idle", "absent"] as const;

/** What is read of the state just before somebody reads: gauges, and counters whose totals the state has. */
export class StateMetrics {
  readonly #core: MasterCore;
  readonly #executor: Executor;
  readonly #busy: BusyTimes;
  readonly #accelerators: Labels;
  readonly #classes: readonly string[];
  readonly #series: Readonly<Record<MetricName, Series>>;
  /** By metric and labels, the total that was told last. */
  readonly #told = new Map<string, number>();

  constructor(
    core: MasterCore,
    executor: Executor,
    series: Readonly<Record<MetricName, Series>>,
    { busy, accelerators, classes }: { busy: BusyTimes; accelerators: Labels; classes: readonly string[] },
  ) {
    this.#core = core;
    this.#executor = executor;
    this.#series = series;
    this.#busy = busy;
    this.#accelerators = accelerators;
    this.#classes = classes;
  }

  refresh(nowNs: number): void {
    const { graph, counts, scheduler } = this.#core;
    this.#memory();
    this.#queues();
    this.#times(nowNs);
    for (const [rank, name] of this.#classes.entries()) {
      let operators = 0;
      for (const _ of graph.unscheduledFrontier.ofClass(rank)) operators += 1;
      this.#series.frontier([name])(operators);
    }
    const transfers = new Map<string, number>(TRANSFER_STATES.map((state) => [state, 0]));
    for (const { state } of graph.transfers()) transfers.set(state, (transfers.get(state) ?? 0) + 1);
    for (const [state, live] of transfers) this.#series.liveTransfers([state])(live);
    const { requests, instances } = graph.counts();
    this.#series.requests([])(requests);
    this.#series.instances([])(instances);
    this.#total("late", [], counts.lateEvents);
    this.#total("early", [], counts.earlyEvents);
    this.#total("simulatedOperators", [], scheduler.statistics.simulatedOperators);
  }

  #memory(): void {
    const { graph } = this.#core;
    const observed = this.#executor.stats?.().accelerators;
    const used = this.#perAccelerator();
    const claimed = this.#perAccelerator();
    const capacity = this.#perAccelerator();
    const up = this.#perAccelerator();
    for (const { index, name, capacityBytes } of graph.cluster.accelerators) {
      const at = this.#accelerators.indexOf(name);
      add(used, at, observed?.[index]?.usedHbmBytes ?? graph.ledger.usedBytes(index));
      add(claimed, at, graph.claims.takenBytes(index));
      add(capacity, at, capacityBytes);
      add(up, at, graph.availability(index) === "up" && !graph.isAvoided(index) ? 1 : 0);
    }
    for (const at of used.keys()) {
      const labels = [this.#accelerators.valueOf(at)];
      this.#series.hbmUsed(labels)(used[at] ?? 0);
      this.#series.hbmClaimed(labels)(claimed[at] ?? 0);
      this.#series.hbmCapacity(labels)(capacity[at] ?? 0);
      this.#series.up(labels)(up[at] ?? 0);
    }
  }

  #queues(): void {
    const { graph } = this.#core;
    const queues = OPERATOR_STATES.map(() => this.#perAccelerator());
    for (const { accelerator, startedNs, missingInputs } of graph.issuedOperators()) {
      const at = this.#accelerators.indexOf(graph.cluster.accelerators[accelerator]?.name ?? "");
      const state = startedNs >= 0 ? 2 : missingInputs === 0 ? 1 : 0;
      const queue = queues[state];
      if (queue !== undefined) add(queue, at, 1);
    }
    for (const [state, queue] of queues.entries()) {
      for (const [at, operators] of queue.entries()) {
        this.#series.queue([this.#accelerators.valueOf(at), OPERATOR_STATES[state] ?? ""])(operators);
      }
    }
  }

  #times(nowNs: number): void {
    const times = TIMES.map(() => this.#perAccelerator());
    for (const { index, name } of this.#core.graph.cluster.accelerators) {
      const at = this.#accelerators.indexOf(name);
      const { busyNs, idleNs, absentNs } = this.#busy.read(index, nowNs);
      for (const [kind, ns] of [busyNs, idleNs, absentNs].entries()) {
        const of = times[kind];
        if (of !== undefined) add(of, at, ns / NS_PER_SECOND);
      }
    }
    for (const [kind, seconds] of times.entries()) {
      for (const [at, total] of seconds.entries()) {
        this.#total("acceleratorTime", [this.#accelerators.valueOf(at), TIMES[kind] ?? ""], total);
      }
    }
  }

  /** A counter takes what is new. */
  #total(metric: MetricName, labels: readonly string[], total: number): void {
    const key = [metric, ...labels].join("\n");
    const told = this.#told.get(key) ?? 0;
    this.#series[metric](labels)(Math.max(0, total - told));
    this.#told.set(key, Math.max(told, total));
  }

  #perAccelerator(): Float64Array {
    const { length } = this.#core.graph.cluster.accelerators;
    return new Float64Array(length > this.#accelerators.size ? this.#accelerators.size + 1 : length);
  }
}

const NS_PER_SECOND = 1e9;

function add(sums: Float64Array, at: number, value: number): void {
  sums[at] = (sums[at] ?? 0) + value;
}
