import { addInto, maxInto, safeOrder } from "@slicescheduler/memory";
import { InvariantBrokenError } from "@slicescheduler/templates";
import type { GraphState } from "./graph-state.ts";
import { isDisplaceable } from "./issued-by-class.ts";
import type { BufferNode, OperatorNode, RequestNode } from "./nodes.ts";
import { isPending } from "./snapshot-layout.ts";
import { isToBeSelected, urgencyOf } from "./urgency.ts";

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
  validateIssued(state);
  validateClaims(state);
}

/** By class, and transfers that are to be selected as urgent as who waits for them. */
function validateIssued(state: GraphState): void {
  const counts = new Map<number, number>();
  const displaceable: OperatorNode[] = [];
  for (const operator of state.issued.values()) {
    counts.set(operator.rank, (counts.get(operator.rank) ?? 0) + 1);
    if (isDisplaceable(operator)) displaceable.push(operator);
  }
  for (const [rank, count] of counts) {
    const counted = state.issuedByClass.countOf(rank);
    if (counted !== count) broken(`class ${rank} counts ${counted} issued operators and has ${count}`);
  }
  displaceable.sort((a, b) => b.rank - a.rank || b.issueNumber - a.issueNumber);
  const listed = [...state.issuedByClass.displaceable(-1)];
  if (listed.length !== displaceable.length || listed.some((operator, i) => operator !== displaceable[i])) {
    broken(`${listed.length} operators can be displaced, by recount ${displaceable.length}, or in another order`);
  }
  for (const transfer of state.transfers.values()) {
    const { number, state: step, rank, waiting } = transfer;
    const least = Math.min(...waiting.map((operator) => operator.rank));
    if (isToBeSelected(transfer) && waiting.length > 0 && rank !== least)
      broken(`transfer ${number} is ${step} in class ${rank}, and ${least} waits for it`);
  }
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
  const own = { rank: operator.ownRank, deadlineNs: operator.instance.deadlineNs };
  const { rank, deadlineNs } = isPending(state, operator) ? urgencyOf(operator) : own;
  if (operator.rank !== rank || operator.deadlineNs !== deadlineNs) {
    broken(
      `operator ${operator.index} of instance ${operator.instance.id} has class ${operator.rank} and deadline ${operator.deadlineNs} ns, ` +
        `by its readers ${rank} and ${deadlineNs} ns`,
    );
  }
  if (operator.state === "issued" && state.issued.get(operator.issueNumber) !== operator) {
    broken(`operator ${operator.index} of instance ${operator.instance.id} is issued and not among the issued`);
  }
}

/** Per accelerator: what requests use fits their claims, what is granted fits the accelerator, and all can end. */
function validateClaims(state: GraphState): void {
  const count = state.cluster.accelerators.length;
  const reserved = new Float64Array(count);
  const taken = new Float64Array(count);
  const workspace = new Float64Array(count);
  const growing: RequestNode[] = [];
  for (const request of state.requests.values()) {
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
    }
    validatePlace(request);
    addInto(reserved, request.reservedBytes);
    addInto(taken, request.growing ? used : request.reservedBytes);
    maxInto(workspace, request.workspaceBytes);
    if (request.growing) growing.push(request);
  }
  const free = new Float64Array(count);
  for (let a = 0; a < count; a++) {
    const counted = [state.claims.reservedBytes(a), state.claims.takenBytes(a), state.claims.workspaceBytes(a)];
    const recounted = [reserved[a], taken[a], workspace[a]];
    if (counted.some((bytes, i) => bytes !== recounted[i])) {
      broken(`accelerator ${a} has ${counted} bytes reserved, taken and of workspace; the requests have ${recounted}`);
    }
    const capacityBytes = state.cluster.accelerators[a]?.capacityBytes ?? 0;
    if (state.availability[a] !== "down" && state.claims.roomBytes(a) + state.ledger.fixedBytes(a) !== capacityBytes)
      broken(
        `accelerator ${a} has room for ${state.claims.roomBytes(a)} bytes, and ${state.ledger.fixedBytes(a)} fixed`,
      );
    const covered = (taken[a] as number) + (workspace[a] as number);
    free[a] = state.claims.roomBytes(a) - covered;
    if (state.claims.memorySafety === "predicted") continue;
    if ((free[a] as number) < 0)
      broken(`accelerator ${a} has ${covered} bytes granted of ${state.claims.roomBytes(a)}`);
    const resident = state.ledger.usedBytes(a) - state.ledger.fixedBytes(a);
    if (resident > covered) broken(`accelerator ${a} holds ${resident} bytes, more than the ${covered} granted`);
  }
  if (state.claims.memorySafety === "predicted") return;
  const { stuck } = safeOrder(growing, free, () => true);
  if (stuck !== null)
    broken(`requests ${stuck.holders.map(({ id }) => id)} could come to wait for each other's memory`);
}

/** Nobody waits to be placed while he holds memory. */
function validatePlace({ id, partition, relocating, usedBytes, instances }: RequestNode): void {
  if (partition !== null || relocating || !usedBytes.some((bytes) => bytes > 0)) return;
  for (const instance of instances)
    if (instance.state === "live")
      broken(`request ${id} holds ${usedBytes} bytes, and instance ${instance.id} of it waits to be placed`);
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
