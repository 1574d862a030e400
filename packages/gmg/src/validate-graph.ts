import { addInto } from "./bounds.ts";
import { InvariantBrokenError } from "./errors.ts";
import type { GraphState } from "./graph-state.ts";
import type { InstanceNode, OperatorNode, RequestNode, TensorCopy } from "./nodes.ts";

/** Recounts frontier, consumers, holds and claims from what each node says of itself. Throws INVARIANT_BROKEN. */
export function validateGraph(state: GraphState): void {
  state.ledger.validate();
  const frontier = new Set(state.frontier);
  for (const instance of state.instances.values()) {
    for (const operator of instance.operators) validateOperator(state, operator, frontier);
  }
  if (frontier.size > 0) broken(`${frontier.size} operators are in the frontier that should not be`);
  for (const tensor of state.tensors.values()) {
    let unissued = 0;
    for (const consumer of tensor.consumers) if (consumer.state === "unscheduled") unissued += 1;
    if (unissued !== tensor.unissuedConsumers) {
      broken(`tensor ${tensor.id} counts ${tensor.unissuedConsumers} unissued consumers and has ${unissued}`);
    }
    for (const copy of tensor.copies) {
      if (!state.ledger.has(tensor.id, copy.accelerator)) broken(`tensor ${tensor.id} has a copy the ledger lacks`);
      if (state.ledger.isHeld(tensor.id, copy.accelerator) !== copy.held)
        broken(`tensor ${tensor.id} disagrees on its hold`);
    }
  }
  validateClaims(state);
}

function validateOperator(state: GraphState, operator: OperatorNode, frontier: Set<OperatorNode>): void {
  const unscheduled = operator.inputs.filter((tensor) => tensor.producer.state === "unscheduled").length;
  if (operator.state === "unscheduled") {
    if (unscheduled !== operator.unscheduledInputs) {
      broken(
        `operator ${operator.index} of instance ${operator.instance.id} counts ${operator.unscheduledInputs} unscheduled inputs and has ${unscheduled}`,
      );
    }
    if (frontier.delete(operator) !== (unscheduled === 0)) {
      broken(`operator ${operator.index} of instance ${operator.instance.id} is on the wrong side of the frontier`);
    }
  }
  if (operator.state === "issued" && state.issued.get(operator.issueNumber) !== operator) {
    broken(`operator ${operator.index} of instance ${operator.instance.id} is issued and not among the issued`);
  }
}

/** Per accelerator: what requests use fits their claims, and the claims fit the accelerator. */
function validateClaims(state: GraphState): void {
  const count = state.cluster.accelerators.length;
  const reserved = new Float64Array(count);
  const workspace = new Float64Array(count);
  for (const request of state.requests.values()) {
    if (request.partition === null) continue;
    const used = recountUse(request, count);
    for (let a = 0; a < count; a++) {
      if (used[a] !== request.usedBytes[a]) {
        broken(
          `request ${request.id} counts ${request.usedBytes[a]} bytes in use on accelerator ${a} and uses ${used[a]}`,
        );
      }
      reserved[a] = (reserved[a] as number) + (request.reservedBytes[a] as number);
      workspace[a] = Math.max(workspace[a] as number, request.workspaceBytes[a] as number);
    }
  }
  for (let a = 0; a < count; a++) {
    if (reserved[a] !== state.claims.reservedBytes(a)) {
      broken(`accelerator ${a} has ${state.claims.reservedBytes(a)} bytes reserved and the requests ${reserved[a]}`);
    }
    const capacity = state.cluster.accelerators[a]?.capacityBytes ?? 0;
    const resident = state.ledger.usedBytes(a);
    const covered = state.ledger.fixedBytes(a) + (reserved[a] as number) + (workspace[a] as number);
    if (resident > covered)
      broken(`accelerator ${a} holds ${resident} bytes, more than the ${covered} that are claimed`);
    if (resident > capacity) broken(`accelerator ${a} holds ${resident} bytes of ${capacity}`);
  }
}

function recountUse(request: RequestNode, count: number): Float64Array {
  const used = new Float64Array(count);
  const seen = new Set<TensorCopy>();
  for (const instance of request.instances) {
    if (instance.needBytes !== null) addInto(used, instance.needBytes);
    for (const copy of copiesAround(instance)) {
      if (seen.has(copy)) continue;
      seen.add(copy);
      add(used, copy.accelerator, copy.inheritedBytes + (copy.cause.needBytes === null ? copy.ownBytes : 0));
    }
  }
  return used;
}

function* copiesAround(instance: InstanceNode): IterableIterator<TensorCopy> {
  for (const operator of instance.operators) for (const tensor of operator.outputs) yield* tensor.copies;
  for (const tensor of instance.inputs) if (tensor !== null) yield* tensor.copies;
}

function add(target: Float64Array, at: number, bytes: number): void {
  target[at] = (target[at] as number) + bytes;
}

function broken(message: string): never {
  throw new InvariantBrokenError(message, {});
}
