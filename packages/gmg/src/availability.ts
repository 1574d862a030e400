/** Accelerators that are lost, come back, join, or are drained. */
import { type AcceleratorIndex, partitionNamed } from "@slicescheduler/templates";
import { obstacleTo } from "./feasible.ts";
import type { GraphState } from "./graph-state.ts";
import type { OperatorNode, RequestNode } from "./nodes.ts";
import { cancelTransfer, endUses } from "./progress.ts";
import { unissueOperator } from "./recall.ts";
import { beginRelocation, liesOn, partitionsLeft } from "./relocate.ts";
import { endOperator, settleInstance } from "./settle.ts";
import type { TransferNumber } from "./types.ts";
import { registeredWeights } from "./weights.ts";

export interface WeightLoad {
  readonly accelerator: AcceleratorIndex;
  readonly name: string;
  readonly bytes: number;
}

/**
 * The accelerator is gone with all that it had. Requests that lie on it are laid elsewhere and what they lost is made again; those
 * that have nowhere to go fail. Returns the transfers that ended with it.
 */
export function loseAccelerator(state: GraphState, accelerator: AcceleratorIndex, nowNs: number): TransferNumber[] {
  state.availability[accelerator] = "down";
  const affected = requestsOn(state, accelerator);
  const issued = [...state.issued.values()].filter((operator) => operator.accelerator === accelerator);
  const transfers = [...state.transfers.values()].filter(
    ({ source, destination }) => source === accelerator || destination === accelerator,
  );
  state.ledger.loseEverything(accelerator);
  for (const transfer of transfers) cancelTransfer(state, transfer);
  for (const operator of issued.reverse()) vanish(state, operator, nowNs);
  // With what vanished, a request may have ended.
  for (const request of affected) if (state.requests.has(request.id)) beginRelocation(state, request);
  failHomeless(state, nowNs);
  return transfers.map(({ number }) => number);
}

/** Requests that lie on an accelerator, or left results there when they lay on it. */
function requestsOn(state: GraphState, accelerator: AcceleratorIndex): Set<RequestNode> {
  const requests = new Set<RequestNode>();
  for (const { tensor } of state.ledger.copies(accelerator)) {
    const node = state.tensors.get(tensor);
    if (node !== undefined) requests.add(node.producer.instance.request);
  }
  for (const request of state.requests.values()) if (liesOn(request, accelerator)) requests.add(request);
  return requests;
}

/**
 * What is placed there runs to its end, and nothing else is placed: requests that hold nothing are placed anew if they go on, those that
 * wait and have nowhere else to go fail. A second call does so again; one that is down stays down.
 */
export function drainAccelerator(state: GraphState, accelerator: AcceleratorIndex, nowNs: number): void {
  if (state.availability[accelerator] === "down") return;
  state.availability[accelerator] = "draining";
  for (const request of state.requests.values()) {
    if (!holdsNothing(request) || !couldGoOnOn(state, request, accelerator)) continue;
    state.claims.remove(request);
    request.partition = null;
  }
  failHomeless(state, nowNs);
}

/** Placed, with nothing anywhere: an open request without limits between two instances. */
function holdsNothing({ limits, instances }: RequestNode): boolean {
  return limits === null && instances.size === 0;
}

/** Whether an instance of some template would be laid there, were it submitted to the request. */
function couldGoOnOn(state: GraphState, { partition }: RequestNode, accelerator: AcceleratorIndex): boolean {
  if (partition === null) return false;
  for (const template of state.templates.values()) {
    if (partitionNamed(template, partition)?.used.includes(accelerator)) return true;
  }
  return false;
}

/** It can be placed on: it was drained, or it is there (again), empty but for the weights, which this takes memory for. */
export function returnAccelerator(state: GraphState, accelerator: AcceleratorIndex): WeightLoad[] {
  const wasDown = state.availability[accelerator] === "down";
  state.availability[accelerator] = "up";
  state.claims.changed();
  if (!wasDown) return [];
  const loads = [...registeredWeights(state, new Set([accelerator])).values()];
  for (const { name, bytes } of loads) state.ledger.loadWeights(accelerator, name, bytes);
  // Requests that wait may have been told of partitions that were all there were then.
  for (const request of state.requests.values()) {
    if (request.partition !== null || request.relocating) continue;
    for (const instance of request.instances) {
      if (instance.state === "live") instance.allowedPartitions = partitionsLeft(state, instance);
    }
  }
  return loads;
}

/** Whether nothing lies on it: a drained accelerator can be taken away then. O(1) while it has copies, else linear in the requests. */
export function isIdle(state: GraphState, accelerator: AcceleratorIndex): boolean {
  if (!state.ledger.isEmpty(accelerator)) return false;
  for (const request of state.requests.values()) {
    if (!holdsNothing(request) && liesOn(request, accelerator)) return false;
  }
  return true;
}

/** False, changing nothing, when it is so already. */
export function setAvoided(state: GraphState, accelerator: AcceleratorIndex, avoided: boolean): boolean {
  if (state.avoided.has(accelerator) === avoided) return false;
  if (avoided) state.avoided.add(accelerator);
  else state.avoided.delete(accelerator);
  state.claims.changed();
  return true;
}

/** An executor ran an issued operator in vain, and has it no longer. */
export function retryFailed(state: GraphState, operator: OperatorNode): void {
  const { accelerator, instance, index, startedNs } = operator;
  if (startedNs >= 0) state.ledger.endWorkspace(accelerator, instance.binding.workspaceBytes(index));
  unissueOperator(state, operator, startedNs < 0);
  beginRelocation(state, instance.request);
}

/** An executor that lost the accelerator has the operator no longer. */
function vanish(state: GraphState, operator: OperatorNode, nowNs: number): void {
  if (operator.state === "issued") {
    unissueOperator(state, operator, false);
    return;
  }
  endUses(state, operator);
  endOperator(state, operator, nowNs);
}

/** Requests that wait to be placed and can be no more. */
function failHomeless(state: GraphState, nowNs: number): void {
  for (const request of [...state.requests.values()]) {
    if (request.partition !== null || request.relocating) continue;
    const live = [...request.instances].filter((instance) => instance.state === "live");
    if (live.length === 0 || obstacleTo(state, request, request.usedBytes) === null) continue;
    const reason = "none of its partitions is left: their accelerators were lost or are being drained";
    for (const instance of live) settleInstance(state, instance, "failed", nowNs, reason);
  }
}
