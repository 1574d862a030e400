import type { AcceleratorIndex, GlobalMappingGraph, OperatorNode, RequestNode } from "@slicescheduler/gmg";
import type { Decision, WaitingReason } from "@slicescheduler/scheduler";
import { hbmOwners } from "./hbm-owners.ts";
import type {
  InspectedAccelerator,
  InspectedInstance,
  InspectedOperator,
  InspectedRequest,
  InspectedTransfer,
  Inspection,
  MissingInput,
  QueuedOperator,
} from "./inspection.ts";

/** What a graph is looked at with. */
export interface Look {
  readonly graph: GlobalMappingGraph;
  readonly nowNs: number;
  readonly waitingMax: number;
  /** Why an operator of the frontier is not issued. */
  reasonOf(operator: OperatorNode): WaitingReason;
  isHeldBack(operator: OperatorNode): boolean;
  tenantOf(request: number): string | null;
  decisionsAbout(instance: number): readonly Decision[];
}

/** Linear in the graph, but for the reasons of what waits: those cost up to the frontier each. Throws EFFECTS_PENDING. */
export function inspectGraph(look: Look): Omit<Inspection, "instance" | "decision"> {
  const { graph, nowNs, waitingMax } = look;
  const requests = graph.snapshot().requests.id.map((id) => graph.request(id));
  const waiting: Inspection["waiting"][number][] = [];
  for (const operator of graph.unscheduledFrontier) {
    if (waiting.length === waitingMax) break;
    const { instance, rank } = operator;
    const ids = { instance: instance.id, request: instance.request.id };
    waiting.push({
      operator: nameOf(operator),
      ...ids,
      rank,
      sinceNs: instance.insertedNs,
      reason: look.reasonOf(operator),
    });
  }
  return {
    atNs: nowNs,
    accelerators: graph.cluster.accelerators.map(({ index }) => acceleratorOf(look, index, requests)),
    waiting,
    waitingOperators: graph.unscheduledFrontier.size,
    laterOperators: unscheduledOperators(requests) - graph.unscheduledFrontier.size,
    transfers: transfersOf(graph),
    requests: requests.map((request) => requestOf(look, request)),
  };
}

/** Undefined when nothing is known of it. Linear in the instance, and in the frontier for each of its operators that waits. */
export function inspectInstance(look: Look, id: number): InspectedInstance | undefined {
  const { graph } = look;
  const decisions = look.decisionsAbout(id);
  const instance = graph.instance(id);
  if (instance === undefined) {
    if (decisions.length === 0) return undefined;
    const partition = decisions.at(-1)?.partition ?? null;
    return { instance: id, state: "gone", request: null, template: null, partition, operators: [], decisions };
  }
  return {
    instance: id,
    state: instance.state,
    request: instance.request.id,
    template: instance.template.name,
    partition: instance.partition?.name ?? null,
    operators: instance.operators.map((operator) => ({
      operator: instance.template.operators[operator.index]?.name ?? "",
      state: operator.state,
      accelerator: graph.cluster.accelerators[operator.accelerator]?.name ?? null,
      reason: operator.state === "unscheduled" ? look.reasonOf(operator) : null,
      missing: operator.state === "issued" && operator.startedNs < 0 ? missingOf(graph, operator) : [],
      issuedNs: timeOrNull(operator.issuedNs),
      startedNs: timeOrNull(operator.startedNs),
      doneNs: timeOrNull(operator.doneNs),
    })),
    decisions,
  };
}

/** The latest time that a graph knows of. */
export function latestNs(graph: GlobalMappingGraph): number {
  let latest = 0;
  const note = (ns: number) => {
    if (ns > latest) latest = ns;
  };
  for (const id of graph.snapshot().requests.id) {
    const request = graph.request(id);
    note(request.openedNs);
    for (const instance of request.instances) {
      note(instance.insertedNs);
      for (const operator of instance.operators)
        for (const ns of [operator.issuedNs, operator.readyNs, operator.startedNs, operator.doneNs]) note(ns);
    }
  }
  for (const { intendedNs, sendingNs } of graph.transfers()) note(Math.max(intendedNs, sendingNs));
  return latest;
}

function acceleratorOf(look: Look, index: AcceleratorIndex, requests: readonly RequestNode[]): InspectedAccelerator {
  const { graph } = look;
  const { name = "", kind = "", capacityBytes = 0 } = graph.cluster.accelerators[index] ?? {};
  let running: InspectedOperator | null = null;
  const queue: QueuedOperator[] = [];
  for (const operator of graph.issuedOperators()) {
    if (operator.accelerator !== index) continue;
    if (operator.startedNs >= 0) running = operatorOf(operator);
    else queue.push(queuedOf(look, operator));
  }
  return {
    name,
    kind,
    availability: graph.availability(index),
    isSuspect: graph.isAvoided(index),
    running,
    queue,
    capacityBytes,
    usedBytes: graph.ledger.usedBytes(index),
    peakBytes: graph.ledger.peakBytes(index),
    owners: hbmOwners(graph, index, requests),
  };
}

function operatorOf(operator: OperatorNode): InspectedOperator {
  const { instance, rank, issueNumber, issuedNs, startedNs } = operator;
  const ids = { instance: instance.id, request: instance.request.id };
  return { operator: nameOf(operator), ...ids, rank, issueNumber, issuedNs, startedNs };
}

function queuedOf(look: Look, operator: OperatorNode): QueuedOperator {
  const missing = missingOf(look.graph, operator);
  const waits = missing.length > 0 ? "blocked" : look.isHeldBack(operator) ? "heldBack" : "ready";
  return { ...operatorOf(operator), state: operator.recalled ? "recalled" : waits, missing };
}

function missingOf(graph: GlobalMappingGraph, { inputs, accelerator }: OperatorNode): MissingInput[] {
  const missing: MissingInput[] = [];
  for (const tensor of inputs) {
    if (graph.ledger.isPresent(tensor.id, accelerator)) continue;
    const transfer = tensor.transfers.find(({ destination }) => destination === accelerator);
    const { producer, bytes } = tensor;
    if (transfer !== undefined) {
      const source = graph.cluster.accelerators[transfer.source]?.name ?? "";
      missing.push({ from: "transfer", transfer: transfer.number, state: transfer.state, source, bytes });
    } else if (producer.state === "issued" && producer.accelerator === accelerator) {
      const isRunning = producer.startedNs >= 0;
      missing.push({ from: "operator", operator: nameOf(producer), instance: producer.instance.id, isRunning });
    } else missing.push({ from: "nowhere" });
  }
  return missing;
}

function transfersOf(graph: GlobalMappingGraph): InspectedTransfer[] {
  const nameAt = (index: AcceleratorIndex) => graph.cluster.accelerators[index]?.name ?? "";
  return Array.from(
    graph.transfers(),
    ({ number, tensor, source, destination, state, rank, sendingNs, intendedNs, waiting }) => ({
      transfer: number,
      tensor: tensor.id,
      source: nameAt(source),
      destination: nameAt(destination),
      bytes: tensor.bytes,
      state,
      rank,
      sinceNs: sendingNs >= 0 ? sendingNs : intendedNs,
      waiting: waiting.map((operator) => ({ operator: nameOf(operator), instance: operator.instance.id })),
    }),
  ).sort((a, b) => a.transfer - b.transfer);
}

function requestOf(look: Look, request: RequestNode): InspectedRequest {
  const { id, label, rank, deadlineNs, openedNs, closed, partition, preemptions } = request;
  const instances = { live: 0, done: 0, cancelled: 0, failed: 0 };
  for (const { state } of request.instances) instances[state]++;
  return {
    request: id,
    label,
    rank,
    tenant: look.tenantOf(id),
    deadlineNs: deadlineNs === Number.POSITIVE_INFINITY ? null : deadlineNs,
    openedNs,
    isClosed: closed,
    partition,
    instances,
    memory: request.accelerators.map((index) => ({
      accelerator: look.graph.cluster.accelerators[index]?.name ?? "",
      usedBytes: request.usedBytes[index] ?? 0,
      claimedBytes: request.reservedBytes[index] ?? 0,
    })),
    preemptions,
  };
}

function unscheduledOperators(requests: readonly RequestNode[]): number {
  let count = 0;
  for (const { instances } of requests)
    for (const { operators } of instances) for (const { state } of operators) if (state === "unscheduled") count++;
  return count;
}

/** `template/operator`. */
function nameOf({ instance, index }: OperatorNode): string {
  return `${instance.template.name}/${instance.template.operators[index]?.name ?? ""}`;
}

function timeOrNull(ns: number): number | null {
  return ns < 0 ? null : ns;
}
