/** How things end: operators, instances with their dependents, tensors and requests. */
import { dropHolds, type GraphState, type Outcome } from "./graph-state.ts";
import type { InstanceNode, OperatorNode, RequestNode, TensorNode } from "./nodes.ts";
import { fallBack, forgetUrgency, noteDebtors } from "./urgency.ts";

const NONE: readonly never[] = [];

/** The executor has the operator no longer. */
export function endOperator(state: GraphState, operator: OperatorNode, nowNs: number): void {
  const { instance } = operator;
  state.issued.delete(operator.issueNumber);
  state.issuedByClass.remove(operator);
  forgetUrgency(operator);
  instance.unfinishedOperators -= 1;
  for (const tensor of operator.outputs) forgetTensorIfGone(state, tensor);
  forgetReferences(operator);
  if (instance.unfinishedOperators > 0) return;
  if (instance.state === "live") {
    instance.state = "done";
    tell(state, instance, "done", nowNs);
  }
  endInstance(state, instance);
}

/** Each outcome once. */
function tell(state: GraphState, instance: InstanceNode, outcome: Outcome, nowNs: number): void {
  if (instance.told) return;
  instance.told = true;
  instance.doneNs = nowNs;
  state.effects.settled.push({ instance, outcome });
}

/**
 * Gives an instance its outcome at once, and every instance that waits for results it will not have: unscheduled operators
 * end here, issued ones are withdrawn and end when the executor says so.
 */
export function settleInstance(
  state: GraphState,
  first: InstanceNode,
  outcome: "cancelled" | "failed",
  nowNs: number,
  reason: string | null = null,
): void {
  const pending: InstanceNode[] = [first];
  const debtors = new Set<OperatorNode>();
  for (let instance = pending.pop(); instance !== undefined; instance = pending.pop()) {
    if (instance.state !== "live") continue;
    const ending = instance === first ? outcome : "failed";
    instance.state = ending;
    if (instance === first) instance.failure = reason;
    tell(state, instance, ending, nowNs);
    const dependents = new Set<InstanceNode>();
    for (const operator of instance.operators) {
      noteDebtors(debtors, operator);
      for (const tensor of operator.outputs) {
        tensor.retained = false;
        if (operator.state === "done") continue;
        for (const consumer of tensor.consumers) dependents.add(consumer.instance);
      }
      if (operator.state === "issued") {
        operator.state = ending;
        // One that was lost is not wanted any more.
        for (const tensor of operator.inputs) forgetTensorIfGone(state, tensor);
        if (!operator.recalled) state.effects.withdrawals.push(operator.issueNumber);
      } else if (operator.state === "unscheduled") {
        dropUnscheduled(state, operator, ending);
      }
    }
    for (const operator of instance.operators) for (const tensor of operator.outputs) dropHolds(state, tensor);
    for (const operator of instance.operators) for (const tensor of operator.outputs) forgetTensorIfGone(state, tensor);
    if (instance.unfinishedOperators === 0) endInstance(state, instance);
    for (const dependent of [...dependents].sort((a, b) => b.id - a.id)) pending.push(dependent);
  }
  if (debtors.size > 0) fallBack(state, debtors);
}

/** The application gave an output back. */
export function dropReleasedHolds(state: GraphState, tensor: TensorNode): void {
  dropHolds(state, tensor);
  forgetTensorIfGone(state, tensor);
}

/** A tensor is forgotten when it is nowhere, will not be anywhere, and nobody will read it. */
export function forgetTensorIfGone(state: GraphState, tensor: TensorNode): void {
  const producer = tensor.producer.state;
  if (tensor.copies.length > 0 || producer === "unscheduled") return;
  // It was lost, and is wanted: it can perhaps be made again.
  if (producer === "done" && (tensor.retained || isStillRead(tensor))) return;
  if (tensor.producer.issueNumber >= 0 && state.issued.has(tensor.producer.issueNumber)) return;
  if (!state.tensors.delete(tensor.id)) return;
  const { instance } = tensor.producer;
  instance.liveTensors -= 1;
  forgetInstanceIfGone(state, instance);
}

/** By operators that are to be issued, or were and have to be again. */
function isStillRead({ unissuedConsumers, consumers }: TensorNode): boolean {
  if (unissuedConsumers > 0) return true;
  for (const { state } of consumers) if (state === "issued") return true;
  return false;
}

/** The application needs the request no longer: it ends when its last instance has left the graph. */
export function forgetRequestIfGone(state: GraphState, request: RequestNode): void {
  if (!(request.closed || request.endsWithInstances) || request.instances.size > 0) return;
  if (!state.requests.delete(request.id)) return;
  state.relocating.delete(request);
  state.claims.remove(request);
}

function endInstance(state: GraphState, instance: InstanceNode): void {
  state.claims.end(instance);
  instance.inputs = NONE;
  forgetInstanceIfGone(state, instance);
}

function dropUnscheduled(state: GraphState, operator: OperatorNode, outcome: "cancelled" | "failed"): void {
  state.frontier.remove(operator);
  operator.state = outcome;
  forgetUrgency(operator);
  operator.instance.unfinishedOperators -= 1;
  letContinue(operator);
  for (const tensor of operator.inputs) {
    tensor.consumers.delete(operator);
    tensor.unissuedConsumers -= 1;
    dropHolds(state, tensor);
    forgetTensorIfGone(state, tensor);
  }
  forgetReferences(operator);
}

/** An operator that never started continued nothing: what it was to continue in place can be continued by another one. */
export function letContinue(operator: OperatorNode): void {
  for (const { aliases } of operator.outputs) if (aliases !== null) aliases.continued = false;
}

/** Results that live on must not keep everything that they were ever made from. */
function forgetReferences(operator: OperatorNode): void {
  operator.inputs = NONE;
  operator.reads = NONE;
  for (const tensor of operator.outputs) tensor.aliases = null;
}

/** Its claim ends before it leaves: with it may go the request that the claim is counted in. */
export function forgetInstanceIfGone(state: GraphState, instance: InstanceNode): void {
  if (instance.state === "live" || instance.unfinishedOperators > 0 || instance.liveTensors > 0) return;
  state.claims.end(instance);
  if (!state.instances.delete(instance.id)) return;
  instance.origin.node = null;
  const { request } = instance;
  request.instances.delete(instance);
  forgetRequestIfGone(state, request);
}
