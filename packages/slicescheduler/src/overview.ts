import type { OperatorNode, TransferNode } from "@slicescheduler/gmg";
import type { WaitingReason } from "@slicescheduler/scheduler";
import type { MasterCore } from "./core.ts";

export interface OverviewOptions {
  /** Entries of each list at most, a whole number from 1. Default 20. */
  readonly rows?: number;
}

/** What the master has now, cut to what somebody can look at. Plain data. */
export interface Overview {
  readonly atNs: number;
  readonly requests: number;
  readonly instances: number;
  readonly issuedOperators: number;
  readonly liveTransfers: number;
  readonly decisions: number;
  readonly acceleratorCount: number;
  /** The first of the cluster. */
  readonly accelerators: readonly OverviewAccelerator[];
  /** The unscheduled frontier by priority class, the most urgent first: their producers are issued, they are not. */
  readonly frontier: readonly { readonly class: string; readonly operators: number }[];
  /** The most urgent of the unscheduled frontier, and what each waits for. */
  readonly waiting: readonly WaitingOperator[];
  /** The oldest ones. */
  readonly transfers: readonly OverviewTransfer[];
}

export interface OverviewAccelerator {
  readonly name: string;
  readonly kind: string;
  /** `"suspect"`: it fails or keeps silent, and nothing is placed there anew. `"drained"`: draining has ended, nothing lies there any more. */
  readonly state: "up" | "suspect" | "draining" | "drained" | "absent";
  readonly capacityBytes: number;
  readonly usedBytes: number;
  /** Baseline and weights; part of `usedBytes`. */
  readonly fixedBytes: number;
  /** Granted to placed requests, used or not. */
  readonly claimedBytes: number;
  readonly running: QueuedOperator | null;
  /** What it would take by the estimators; null where nothing is running. */
  readonly predictedNs: number | null;
  readonly readyOperators: number;
  readonly blockedOperators: number;
  /** The first of those that wait there, by issue number. */
  readonly queue: readonly QueuedOperator[];
}

export interface QueuedOperator {
  readonly instance: number;
  readonly label: string;
  /** Empty where the scheduler has no tenants, or its request names none. */
  readonly tenant: string;
  /** Template and operator. */
  readonly operator: string;
  readonly class: string;
  readonly state: "blocked" | "ready" | "running";
  /** Since it was issued, or, where it is running, since it started. */
  readonly sinceNs: number;
  readonly missingInputs: number;
}

export interface WaitingOperator {
  readonly instance: number;
  readonly request: number;
  readonly label: string;
  readonly tenant: string;
  readonly operator: string;
  readonly class: string;
  /** Since its instance was submitted. */
  readonly sinceNs: number;
  readonly reason: WaitingReason;
}

export interface OverviewTransfer {
  readonly transfer: number;
  readonly source: string;
  readonly destination: string;
  readonly bytes: number;
  readonly state: TransferNode["state"];
  /** Since its data move, or else since it became an intent; null before. */
  readonly sinceNs: number | null;
  readonly waitingOperators: number;
}

/**
 * Linear in accelerators, issued operators, transfers and the frontier, and for each operator that waits, of the few that are shown, in the frontier
 * once more at worst.
 */
export function overviewOf(core: MasterCore, priorities: readonly string[], nowNs: number, rows: number): Overview {
  const { graph, scheduler } = core;
  const { requests, instances, issuedOperators, transfers } = graph.counts();
  const classOf = (rank: number) => priorities[rank] ?? String(rank);
  return {
    atNs: nowNs,
    requests,
    instances,
    issuedOperators,
    liveTransfers: transfers,
    decisions: scheduler.statistics.rounds,
    acceleratorCount: graph.cluster.accelerators.length,
    accelerators: acceleratorsOf(core, classOf, rows),
    frontier: priorities.map((name, rank) => ({
      class: name,
      operators: count(graph.unscheduledFrontier.ofClass(rank)),
    })),
    waiting: first(graph.unscheduledFrontier, rows).map((operator) => ({
      ...named(core, operator, classOf),
      request: operator.instance.request.id,
      sinceNs: operator.instance.insertedNs,
      reason: scheduler.waitingReason(operator, nowNs),
    })),
    transfers: first(graph.transfers(), rows).map((transfer) => transferOf(core, transfer)),
  };
}

function acceleratorsOf(core: MasterCore, classOf: (rank: number) => string, rows: number): OverviewAccelerator[] {
  const { graph, scheduler } = core;
  const shown = graph.cluster.accelerators.slice(0, rows);
  const queues = shown.map(() => ({
    running: null as OperatorNode | null,
    ready: 0,
    blocked: 0,
    first: [] as OperatorNode[],
  }));
  for (const operator of graph.issuedOperators()) {
    const queue = queues[operator.accelerator];
    if (queue === undefined) continue;
    if (operator.startedNs >= 0) queue.running = operator;
    else {
      if (operator.missingInputs === 0) queue.ready += 1;
      else queue.blocked += 1;
      if (queue.first.length < rows) queue.first.push(operator);
    }
  }
  return shown.map(({ index, name, kind, capacityBytes }) => {
    const { running = null, ready = 0, blocked = 0, first: waiting = [] } = queues[index] ?? {};
    return {
      name,
      kind,
      state: stateOf(core, index),
      capacityBytes,
      usedBytes: graph.ledger.usedBytes(index),
      fixedBytes: graph.ledger.fixedBytes(index),
      claimedBytes: graph.claims.takenBytes(index),
      running: running === null ? null : queuedOf(core, running, classOf),
      predictedNs: running === null ? null : scheduler.predictor.operatorNs(running, index),
      readyOperators: ready,
      blockedOperators: blocked,
      queue: waiting.map((operator) => queuedOf(core, operator, classOf)),
    };
  });
}

function stateOf(core: MasterCore, accelerator: number): OverviewAccelerator["state"] {
  const availability = core.graph.availability(accelerator);
  if (availability === "down") return "absent";
  if (availability === "draining") return core.isDrained(accelerator) ? "drained" : "draining";
  return core.graph.isAvoided(accelerator) ? "suspect" : "up";
}

function queuedOf(core: MasterCore, operator: OperatorNode, classOf: (rank: number) => string): QueuedOperator {
  const { startedNs, issuedNs, missingInputs } = operator;
  const isRunning = startedNs >= 0;
  return {
    ...named(core, operator, classOf),
    state: isRunning ? "running" : missingInputs === 0 ? "ready" : "blocked",
    sinceNs: isRunning ? startedNs : issuedNs,
    missingInputs,
  };
}

function transferOf({ graph }: MasterCore, transfer: TransferNode): OverviewTransfer {
  const { number, source, destination, tensor, state, sendingNs, intendedNs, waiting } = transfer;
  const sinceNs = Math.max(sendingNs, intendedNs);
  return {
    transfer: number,
    source: graph.cluster.accelerators[source]?.name ?? "",
    destination: graph.cluster.accelerators[destination]?.name ?? "",
    bytes: tensor.bytes,
    state,
    sinceNs: sinceNs < 0 ? null : sinceNs,
    waitingOperators: waiting.length,
  };
}

function named({ scheduler }: MasterCore, { instance, index, rank }: OperatorNode, classOf: (rank: number) => string) {
  return {
    instance: instance.id,
    label: instance.label,
    tenant: scheduler.tenants.nameOf(instance.request),
    operator: `${instance.template.name}/${instance.template.operators[index]?.name ?? ""}`,
    class: classOf(rank),
  };
}

function first<T>(items: Iterable<T>, max: number): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.length >= max) break;
    taken.push(item);
  }
  return taken;
}

function count(items: Iterable<unknown>): number {
  let found = 0;
  for (const _ of items) found += 1;
  return found;
}
