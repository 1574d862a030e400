/** How things end: operators, instances with their dependents, tensors and requests. */
import { countIssued, dropHolds, type GraphState } from "./graph-state.ts";
import type { InstanceNode, OperatorNode, RequestNode, TensorCopy, TensorNode } from "./nodes.ts";

/** The executor has the operator no longer. */
export function endOperator(state: GraphState, operator: OperatorNode, nowNs: number): void {
  const { instance } = operator;
  state.issued.delete(operator.issueNumber);
  countIssued(state, operator, -1);
  instance.unfinishedOperators -= 1;
  for (const tensor of operator.outputs) forgetTensorIfGone(state, tensor);
  if (instance.unfinishedOperators > 0) return;
  if (instance.state === "live") {
    instance.state = "done";
    instance.doneNs = nowNs;
    state.effects.settled.push(instance);
  }
  endInstance(state, instance);
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
): void {
  const pending: InstanceNode[] = [first];
  for (let instance = pending.pop(); instance !== undefined; instance = pending.pop()) {
    if (instance.state !== "live") continue;
    const ending = instance === first ? outcome : "failed";
    instance.state = ending;
    instance.doneNs = nowNs;
    state.effects.settled.push(instance);
    const dependents = new Set<InstanceNode>();
    for (const operator of instance.operators) {
      for (const tensor of operator.outputs) {
        tensor.retained = false;
        if (operator.state === "done") continue;
        for (const consumer of tensor.consumers) dependents.add(consumer.instance);
      }
      if (operator.state === "issued") {
        operator.state = ending;
        state.effects.withdrawals.push(operator.issueNumber);
      } else if (operator.state === "unscheduled") {
        dropUnscheduled(state, operator, ending);
      }
    }
    for (const operator of instance.operators) for (const tensor of operator.outputs) dropHolds(state, tensor);
    for (const operator of instance.operators) for (const tensor of operator.outputs) forgetTensorIfGone(state, tensor);
    if (instance.unfinishedOperators === 0) endInstance(state, instance);
    pending.push(...[...dependents].sort((a, b) => b.id - a.id));
  }
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
  if (tensor.producer.issueNumber >= 0 && state.issued.has(tensor.producer.issueNumber)) return;
  if (!state.tensors.delete(tensor.id)) return;
  const { instance } = tensor.producer;
  instance.liveTensors -= 1;
  forgetInstanceIfGone(state, instance);
}

/** The ledger freed or dropped a copy: its bytes go back to the claim, or on to the copy that continues its buffer. */
export function forgetCopy(state: GraphState, tensor: TensorNode, accelerator: number): void {
  const at = tensor.copies.findIndex((copy) => copy.accelerator === accelerator);
  const [copy] = tensor.copies.splice(at, 1);
  if (copy === undefined) return;
  const heir = tensor.continuedBy?.copies.find((candidate) => candidate.accelerator === accelerator);
  const counted = (copy.cause.needBytes === null ? copy.ownBytes : 0) + copy.inheritedBytes;
  const { request } = copy.cause;
  if (heir === undefined) {
    if (counted !== 0) state.claims.use(request, accelerator, -counted);
  } else {
    const left = copy.ownBytes + copy.inheritedBytes;
    heir.inheritedBytes += left;
    if (left !== counted) state.claims.use(request, accelerator, left - counted);
  }
}

/** The application needs the request no longer: it ends when its last instance has left the graph. */
export function forgetRequestIfGone(state: GraphState, request: RequestNode): void {
  if (!(request.closed || request.endsWithInstances) || request.instances.size > 0) return;
  if (!state.requests.delete(request.id)) return;
  state.claims.remove(request);
}

function endInstance(state: GraphState, instance: InstanceNode): void {
  state.claims.end(instance, copiesCausedBy(instance));
  forgetInstanceIfGone(state, instance);
}

/** Copies of its outputs and of its inputs that were made for it. */
function* copiesCausedBy(instance: InstanceNode): IterableIterator<TensorCopy> {
  const tensors = new Set<TensorNode>();
  for (const tensor of instance.inputs) if (tensor !== null) tensors.add(tensor);
  for (const operator of instance.operators) for (const tensor of operator.outputs) tensors.add(tensor);
  for (const tensor of tensors) for (const copy of tensor.copies) if (copy.cause === instance) yield copy;
}

function dropUnscheduled(state: GraphState, operator: OperatorNode, outcome: "cancelled" | "failed"): void {
  state.frontier.remove(operator);
  operator.state = outcome;
  operator.instance.unfinishedOperators -= 1;
  for (const tensor of operator.inputs) {
    tensor.consumers.delete(operator);
    tensor.unissuedConsumers -= 1;
    dropHolds(state, tensor);
    forgetTensorIfGone(state, tensor);
  }
}

/** Its claim ends before it leaves: with it may go the request that the claim is counted in. */
function forgetInstanceIfGone(state: GraphState, instance: InstanceNode): void {
  if (instance.state === "live" || instance.unfinishedOperators > 0 || instance.liveTensors > 0) return;
  state.claims.end(instance, copiesCausedBy(instance));
  if (!state.instances.delete(instance.id)) return;
  const { request } = instance;
  request.instances.delete(instance);
  forgetRequestIfGone(state, request);
}
