/** When nothing moves any more and work waits for memory: who waits for whom, and who has to give way. */
import type { GlobalMappingGraph, InstanceNode, OperatorNode, RequestNode, TransferNode } from "@slicescheduler/gmg";
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
  for (const { state, startedNs, missingInputs, recalled } of graph.issuedOperators()) {
    if (startedNs >= 0 || missingInputs === 0 || recalled || state !== "issued") return true;
  }
  for (const { state } of graph.transfers()) if (state !== "planned" && state !== "starved") return true;
  return false;
}

/**
 * Null when nobody waits for memory, or nobody who waits holds any. The caller has seen that nothing moves. Linear in what waits.
 *
 * Requests that hold memory and wait for more block each other if nobody else could give way: a request with nothing to run may
 * still be continued, closed, or release what it retained. Otherwise the least urgent of them, the youngest among equals, fails.
 */
export function findStandstill(graph: GlobalMappingGraph, scheduler: Scheduler, nowNs: number): Standstill | null {
  const stuck = new Map<InstanceNode, Waiter>();
  for (const transfer of graph.transfers()) {
    if (transfer.state !== "starved") continue;
    for (const operator of transfer.waiting) {
      if (operator.state === "issued") stuck.set(operator.instance, starvedWaiter(graph, transfer, operator));
    }
  }
  for (const operator of graph.unscheduledFrontier) {
    const { instance } = operator;
    const reason = scheduler.waitingReason(operator, nowNs);
    if (reason.why === "memory" && holdsMemory(instance.request)) stuck.set(instance, waiterOf(operator, reason));
  }
  if (stuck.size === 0) return null;
  const waiters = [...stuck.values()];
  const requests = new Set(waiters.map(({ request }) => request));
  const others = new Set(waiters.flatMap(({ heldBy }) => heldBy).filter((id) => !requests.has(id)));
  const canWait = [...others].some((id) => mayReleaseByItself(graph.request(id)));
  const [victim = null] = canWait ? [] : [...stuck.keys()].sort(leastUrgentFirst);
  return { waiters, victim, reason: inWords(waiters) };
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

function mayReleaseByItself({ instances }: RequestNode): boolean {
  for (const { state } of instances) if (state === "live") return false;
  return true;
}

function leastUrgentFirst(a: InstanceNode, b: InstanceNode): number {
  return b.request.rank - a.request.rank || b.request.id - a.request.id || b.id - a.id;
}

function inWords(waiters: readonly Waiter[]): string {
  const shown = waiters
    .slice(0, WAITERS_IN_WORDS)
    .map(
      ({ operatorName, instance, neededBytes, accelerator, availableBytes, heldBy }) =>
        `${operatorName} of instance ${instance} waits for ${neededBytes} bytes on ${accelerator}, where ${availableBytes} are free ` +
        `and ${heldBy.length === 0 ? "nobody holds any" : `requests ${heldBy.join(", ")} hold the rest`}`,
    );
  if (waiters.length > WAITERS_IN_WORDS) shown.push(`and ${waiters.length - WAITERS_IN_WORDS} more`);
  return shown.join("; ");
}

const WAITERS_IN_WORDS = 8;
