/** When nothing moves any more and work waits for memory: who waits for whom, and who has to give way. */
import type {
  GlobalMappingGraph,
  InstanceNode,
  OperatorNode,
  RequestNode,
  TensorNode,
  TransferNode,
} from "@slicescheduler/gmg";
import type { Scheduler, WaitingReason } from "@slicescheduler/scheduler";

/** One operator that cannot go on. */
export interface Waiter {
  readonly instance: number;
  readonly request: number;
  readonly operatorName: string;
  readonly accelerator: string;
  readonly neededBytes: number;
  readonly availableBytes: number;
  /** Requests that hold memory there, by rising id. */
  readonly heldBy: readonly number[];
}

export interface Standstill {
  readonly waiters: readonly Waiter[];
  /** The instance that fails so that the others can go on; null when somebody may still release memory without it. */
  readonly victim: InstanceNode | null;
  /** In words. */
  readonly reason: string;
}

/** Whether some executor will report something without being told anything more. Usually the first operator looked at tells. */
export function isMoving(graph: GlobalMappingGraph): boolean {
  for (const operator of graph.issuedOperators()) if (moves(operator)) return true;
  for (const transfer of graph.transfers()) if (isUnderWay(transfer)) return true;
  return false;
}

/**
 * Requests that hold memory and wait for more, each of them only for others of the same kind: nobody else will ever give way,
 * whatever else moves. The least urgent of them, the youngest among equals, is to fail. Null where there are none, and where, as
 * long as something moves, it may still end the wait. Linear in what waits and what is issued.
 */
export function findStandstill(graph: GlobalMappingGraph, scheduler: Scheduler, nowNs: number): Standstill | null {
  const stuck = waitersOf(graph, scheduler, nowNs);
  if (stuck.size === 0) return null;
  const blocked = new Map(stuck);
  const quarantined = [...graph.transfers()].filter(({ state }) => state === "quarantined");
  const keepers = new Set(quarantined.map(({ tensor }) => tensor.producer.instance.request));
  const free = requestsThatMove(graph);
  // Nobody can count on what only a quarantined transfer keeps; it gives way to nobody either. Nor does who holds nothing.
  const dead = new Set<number>();
  for (const request of graph.claims.placed()) {
    if (mayRelease(request, keepers.has(request))) free.add(request.id);
    else if (keepers.has(request) && !isRunning(request)) dead.add(request.id);
    else if (graph.claims.memorySafety === "predicted" && !holdsMemory(request)) dead.add(request.id);
  }
  // Whoever waits for somebody who may yet give way is not stuck, nor is whoever waits for him.
  for (let before = -1; before !== blocked.size; ) {
    before = blocked.size;
    const waiting = new Set([...blocked.values()].map(({ request }) => request));
    for (const [instance, { request, heldBy }] of blocked) {
      const isHopeful = heldBy.some((id) => free.has(id) || !(waiting.has(id) || dead.has(id)));
      if (free.has(request) || isHopeful) blocked.delete(instance);
    }
  }
  const waiters = [...(blocked.size > 0 ? blocked : stuck).values()];
  const [victim = null] = [...blocked.keys()].sort(leastUrgentFirst);
  if (victim === null && isMoving(graph)) return null;
  return { waiters, victim, reason: inWords(graph, waiters, quarantined) };
}

/** One per instance of a request that holds memory. */
function waitersOf(graph: GlobalMappingGraph, scheduler: Scheduler, nowNs: number): Map<InstanceNode, Waiter> {
  const found = new Map<InstanceNode, Waiter>();
  for (const transfer of graph.transfers()) {
    if (transfer.state !== "starved") continue;
    for (const operator of transfer.waiting) {
      if (operator.state === "issued") found.set(operator.instance, starvedWaiter(graph, transfer, operator));
    }
  }
  for (const operator of graph.unscheduledFrontier) {
    if (!holdsMemory(operator.instance.request)) continue;
    const reason = scheduler.waitingReason(operator, nowNs);
    if (reason.why === "memory") found.set(operator.instance, waiterOf(operator, reason));
  }
  return found;
}

/** Ids of requests of which something is under way. */
function requestsThatMove(graph: GlobalMappingGraph): Set<number> {
  const ids = new Set<number>();
  for (const operator of graph.issuedOperators()) if (moves(operator)) ids.add(operator.instance.request.id);
  for (const transfer of graph.transfers()) {
    if (isUnderWay(transfer)) ids.add(transfer.tensor.producer.instance.request.id);
  }
  return ids;
}

function moves({ state, startedNs, missingInputs, recalled }: OperatorNode): boolean {
  return startedNs >= 0 || missingInputs === 0 || recalled || state !== "issued";
}

function isUnderWay({ state }: TransferNode): boolean {
  return state !== "planned" && state !== "starved" && state !== "quarantined";
}

function starvedWaiter(
  graph: GlobalMappingGraph,
  { tensor, destination }: TransferNode,
  operator: OperatorNode,
): Waiter {
  const { capacityBytes = 0, name = "" } = graph.cluster.accelerators[destination] ?? {};
  return {
    ...named(operator),
    accelerator: name,
    neededBytes: graph.cluster.roundBytes(destination, tensor.bytes),
    availableBytes: capacityBytes - graph.ledger.usedBytes(destination),
    heldBy: graph.claims.holdersOn(destination),
  };
}

function waiterOf(operator: OperatorNode, reason: Extract<WaitingReason, { why: "memory" }>): Waiter {
  const { accelerator, neededBytes, availableBytes, heldBy } = reason;
  return { ...named(operator), accelerator, neededBytes, availableBytes, heldBy };
}

function named({ instance, index }: OperatorNode) {
  const operatorName = `${instance.template.name}/${instance.template.operators[index]?.name ?? ""}`;
  return { instance: instance.id, request: instance.request.id, operatorName };
}

function holdsMemory({ usedBytes }: RequestNode): boolean {
  return usedBytes.some((bytes) => bytes > 0);
}

/** The application may close it, continue it, or release what it retains; none of that frees what a quarantined transfer keeps. */
function mayRelease(request: RequestNode, isKeeper: boolean): boolean {
  for (const { state, operators } of request.instances) {
    if (state !== "live" && operators.some(({ outputs }) => outputs.some(isReleasable))) return true;
  }
  return !isKeeper && !isRunning(request);
}

function isRunning({ instances }: RequestNode): boolean {
  for (const { state } of instances) if (state === "live") return true;
  return false;
}

/** With its release memory would be free: nobody is still to read it. */
function isReleasable({ retained, copies, unissuedConsumers }: TensorNode): boolean {
  return retained && copies.length > 0 && unissuedConsumers === 0;
}

function leastUrgentFirst(a: InstanceNode, b: InstanceNode): number {
  return b.request.rank - a.request.rank || b.request.id - a.request.id || b.id - a.id;
}

function inWords(graph: GlobalMappingGraph, waiters: readonly Waiter[], quarantined: readonly TransferNode[]): string {
  const shown = waiters
    .slice(0, WAITERS_IN_WORDS)
    .map(
      ({ operatorName, instance, neededBytes, accelerator, availableBytes, heldBy }) =>
        `${operatorName} of instance ${instance} waits for ${neededBytes} bytes on ${accelerator}, where ${availableBytes} are free ` +
        `and ${heldBy.length === 0 ? "nobody holds any" : `requests ${heldBy.join(", ")} hold the rest`}`,
    );
  if (waiters.length > WAITERS_IN_WORDS) shown.push(`and ${waiters.length - WAITERS_IN_WORDS} more`);
  for (const { number, tensor, source, destination } of quarantined.slice(0, WAITERS_IN_WORDS)) {
    const [from, to] = [source, destination].map((index) => graph.cluster.accelerators[index]?.name);
    shown.push(`transfer ${number} is quarantined and keeps ${tensor.bytes} bytes on ${from} and on ${to}`);
  }
  if (quarantined.length > WAITERS_IN_WORDS) shown.push(`and so do ${quarantined.length - WAITERS_IN_WORDS} more`);
  return shown.join("; ");
}

/** And so many transfers. */
const WAITERS_IN_WORDS = 8;
