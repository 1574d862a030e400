import { addInto } from "./bounds.ts";
import { InvariantBrokenError } from "./errors.ts";
import type { GraphState } from "./graph-state.ts";
import type { BufferNode, OperatorNode, RequestNode } from "./nodes.ts";

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
      if ((used[a] as number) > (request.reservedBytes[a] as number)) {
        broken(
          `request ${request.id} uses ${used[a]} bytes on accelerator ${a} and has ${request.reservedBytes[a]} reserved`,
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
    if (covered > capacity) broken(`accelerator ${a} has ${covered} bytes claimed of ${capacity}`);
    if (resident > covered)
      broken(`accelerator ${a} holds ${resident} bytes, more than the ${covered} that are claimed`);
    if (resident > capacity) broken(`accelerator ${a} holds ${resident} bytes of ${capacity}`);
  }
}

function recountUse(request: RequestNode, count: number): Float64Array {
  const used = new Float64Array(count);
  const buffers = new Set<BufferNode>();
  for (const instance of request.instances) {
    if (instance.needBytes !== null) addInto(used, instance.needBytes);
    for (const { outputs } of instance.operators) {
      for (const tensor of outputs) for (const { buffer } of tensor.copies) buffers.add(buffer);
    }
  }
  for (const { accelerator, endedBytes } of buffers) used[accelerator] = (used[accelerator] as number) + endedBytes;
  return used;
}

function broken(message: string): never {
  throw new InvariantBrokenError(message, {});
}
