/** Requests that lost an accelerator: what they lost is made again, elsewhere, or they fail. */
import { partitionNamed } from "@slicescheduler/templates";
import { missingFrom, obstacleTo, usesAvoided } from "./feasible.ts";
import { SubmissionError } from "./graph-errors.ts";
import { type GraphState, giveUpCopies, nameOf, partitionIsUp } from "./graph-state.ts";
import type { InstanceNode, OperatorNode, RequestNode, TensorNode } from "./nodes.ts";
import { possiblePartitions, sharedPartitions } from "./partitions.ts";
import { recallOperator } from "./recall.ts";
import { reviveLost } from "./recover.ts";
import { forgetInstanceIfGone, forgetTensorIfGone, settleInstance } from "./settle.ts";

/** Asks back what the request has issued; it is laid anew once all of that has come back or ended. */
export function beginRelocation(state: GraphState, request: RequestNode): void {
  request.relocating = true;
  state.relocating.add(request);
  for (const { operators } of request.instances) {
    for (const operator of operators) if (operator.state === "issued") recallOperator(state, operator, false);
  }
}

/** Whether the request lies on an accelerator; one that is placed and has nothing anywhere is told to lie everywhere. */
export function liesOn(request: RequestNode, accelerator: number): boolean {
  const { partition } = request;
  if (partition === null) return false;
  if (request.limits === null && request.instances.size === 0) return true;
  const templates = new Set([
    ...Array.from(request.instances, ({ template }) => template),
    ...(request.limits ?? []).map(({ template }) => template),
  ]);
  return [...templates].some((template) => partitionNamed(template, partition)?.used.includes(accelerator));
}

/** Frees from their partition the relocating requests that executors have nothing of any more. */
export function finishRelocations(state: GraphState, nowNs: number): void {
  for (const request of [...state.relocating]) if (isBack(state, request)) relocate(state, request, nowNs);
}

function isBack(state: GraphState, request: RequestNode): boolean {
  for (const { operators } of request.instances) {
    for (const { issueNumber, outputs } of operators) {
      if (state.issued.has(issueNumber) || outputs.some(({ transfers }) => transfers.length > 0)) return false;
    }
  }
  return true;
}

/**
 * Results that the application retains and that are still there stay where they are; all others are given up, since what reads
 * them may be laid elsewhere, and made again from those.
 */
function relocate(state: GraphState, request: RequestNode, nowNs: number): void {
  state.relocating.delete(request);
  request.relocating = false;
  layNowhere(request);
  giveUpAllBut(
    state,
    request,
    (tensor) => tensor.retained && tensor.copies[0]?.accelerator === tensor.producer.accelerator,
  );
  state.claims.keepOnlyHeld(request);
  if (tryToRelocate(state, request, nowNs) && keepsItsPlace(state, request)) return;
  makeAllAgain(state, request, nowNs);
}

/**
 * To be called when an instance was submitted to a request that is not placed: one that keeps results of an earlier place is placed with
 * them at once, or gives them up. Linear in the request.
 */
export function placeWithResults(state: GraphState, request: RequestNode, nowNs: number): void {
  if (request.partition !== null || request.relocating || keepsItsPlace(state, request)) return;
  makeAllAgain(state, request, nowNs);
}

/** It cannot go on at once with what stayed, and must not wait while it holds anything: all of it is made again, in its turn. */
function makeAllAgain(state: GraphState, request: RequestNode, nowNs: number): void {
  giveUpAllBut(state, request, () => false);
  if (tryToRelocate(state, request, nowNs)) return;
  const reason = "an accelerator of it was lost, and what is left has no room for it, or no partition";
  for (const instance of [...request.instances]) settleInstance(state, instance, "failed", nowNs, reason);
}

/** It has no partition any more, nor has any instance of it. */
export function layNowhere(request: RequestNode): void {
  request.partition = null;
  for (const instance of request.instances) {
    instance.partition = null;
    instance.need = null;
  }
}

/**
 * A request that holds results is placed where it can begin at once; without any it waits its turn like all others. Whoever
 * only keeps results for the application has nothing to wait for.
 */
function keepsItsPlace(state: GraphState, request: RequestNode): boolean {
  if (!holdsMemory(request)) return true;
  const live = [...request.instances].filter((instance) => instance.state === "live");
  const first = live.find(({ inputs }) => inputs.every((tensor) => tensor?.producer.instance.state !== "live"));
  if (first === undefined) return live.length === 0;
  for (const name of sharedPartitions(request)) {
    const claim = state.claims.claimOn(request, name);
    if (claim === undefined || missingFrom(state, request, name).length > 0) continue;
    if (usesAvoided(state, request, name)) continue;
    if (state.claims.lackToPlace(first, name, claim) !== null) continue;
    state.claims.place(request, name, claim);
    return true;
  }
  return false;
}

/** Of a request that is not placed: its claim is what it holds. */
function holdsMemory({ accelerators }: RequestNode): boolean {
  return accelerators.length > 0;
}

/** False when it fits nowhere beside what it still holds. */
function tryToRelocate(state: GraphState, request: RequestNode, nowNs: number): boolean {
  for (const operator of reviveLost(state, request)) abandonHope(state, operator, nowNs);
  const live = [...request.instances].filter((instance) => instance.state === "live");
  for (const instance of live) {
    if (instance.state !== "live") continue;
    instance.allowedPartitions = partitionsLeft(state, instance);
    if (instance.allowedPartitions.length > 0) continue;
    settleInstance(
      state,
      instance,
      "failed",
      nowNs,
      "an accelerator of it was lost, and none of its partitions is left",
    );
  }
  if (!live.some((instance) => instance.state === "live")) return true;
  return obstacleTo(state, request, request.usedBytes) === null;
}

/** Names of partitions, all there, that an instance may be laid on now. */
export function partitionsLeft(state: GraphState, instance: InstanceNode): string[] {
  const { template, request, inputs, origin } = instance;
  try {
    const asked = { id: instance.id, allowedPartitions: origin.restriction };
    return possiblePartitions(state, template, asked, request, inputs).filter((name) => {
      const partition = partitionNamed(template, name);
      return partition !== undefined && partitionIsUp(state, partition);
    });
  } catch (error) {
    if (error instanceof SubmissionError) return [];
    throw error;
  }
}

/** Lost, wanted, and not to be made again: what reads it fails, and it cannot be referred to any more. */
function abandonHope(state: GraphState, operator: OperatorNode, nowNs: number): void {
  const reason = `results of ${nameOf(operator)} were lost with an accelerator and cannot be made again`;
  operator.state = "failed";
  for (const tensor of operator.outputs) {
    tensor.retained = false;
    for (const { instance } of [...tensor.consumers]) settleInstance(state, instance, "failed", nowNs, reason);
    forgetTensorIfGone(state, tensor);
  }
  forgetInstanceIfGone(state, operator.instance);
}

function giveUpAllBut(state: GraphState, request: RequestNode, stays: (tensor: TensorNode) => boolean): void {
  for (const { operators } of [...request.instances]) {
    for (const tensor of operators.flatMap(({ outputs }) => outputs)) {
      if (stays(tensor)) continue;
      giveUpCopies(state, tensor);
      forgetTensorIfGone(state, tensor);
    }
  }
}
