/** What a graph relies on beyond `validateGraph`: that its nodes, its ledger and its counters speak of the same things. */
import type { ResidentCopy } from "@slicescheduler/memory";
import type { CompiledAccelerator } from "@slicescheduler/templates";
import { copyOn, type GraphState, nameOf } from "./graph-state.ts";
import type { BufferNode, InstanceNode, OperatorNode, TensorCopy, TensorNode } from "./nodes.ts";
import { contradicts } from "./restore-read.ts";

/** Throws GRAPH_STATE_INVALID. Linear in the graph. */
export function checkRestored(state: GraphState, instances: readonly InstanceNode[]): void {
  const issueNumbers = new Set<number>();
  for (const instance of instances) {
    checkInstance(state, instance);
    for (const operator of instance.operators) {
      if (operator.issueNumber >= 0) checkIssueNumber(state, operator, issueNumbers);
    }
  }
  for (const { id, closed, instances: own } of state.requests.values()) {
    if (closed && own.size === 0) contradicts("requests.closed", `request ${id} is closed and has no instance`);
  }
  for (const operator of state.issued.values()) checkIssued(operator);
  checkTransfers(state);
  checkBuffers(state);
  const uses = countUses(state);
  for (const accelerator of state.cluster.accelerators) {
    checkFixed(state, accelerator);
    for (const copy of state.ledger.copies(accelerator.index)) checkCopy(state, accelerator.index, copy, uses);
  }
}

function checkInstance(state: GraphState, instance: InstanceNode): void {
  const { id, request, partition, unfinishedOperators: unfinished, liveTensors, inputs, template } = instance;
  const isLive = instance.state === "live";
  if (isLive && unfinished === 0)
    contradicts("instances.state", `instance ${id} is live, and all operators of it have ended`);
  const isHere = state.instances.get(id) === instance;
  if (isHere !== (isLive || unfinished > 0 || liveTensors > 0)) {
    contradicts("departed", `instance ${id} with ${liveTensors} tensors ${isHere ? "has" : "has not"} left the graph`);
  }
  if (inputs.length !== (unfinished === 0 ? 0 : template.inputSlots)) {
    contradicts(
      "instances.inputs",
      `instance ${id} has ${inputs.length} inputs, and ${unfinished} operators have not ended`,
    );
  }
  if (partition !== null && isLive && (partition.name !== request.partition || instance.needBytes === null)) {
    contradicts(
      "instances.partition",
      `instance ${id} has begun on ${partition.name}, and its request has nothing there`,
    );
  }
}

function checkIssueNumber(state: GraphState, operator: OperatorNode, issueNumbers: Set<number>): void {
  const { issueNumber } = operator;
  if (issueNumbers.has(issueNumber) || issueNumber >= state.nextIssue || operator.state === "unscheduled") {
    contradicts("operators.history", `issue number ${issueNumber} cannot be that of ${nameOf(operator)}`);
  }
  issueNumbers.add(issueNumber);
}

function checkIssued(operator: OperatorNode): void {
  const { instance, index, accelerator, missingInputs, inputs, outputs } = operator;
  if (instance.partition?.acceleratorOf[index] !== accelerator) {
    contradicts("operators.history", `${nameOf(operator)} cannot be on accelerator ${accelerator}`);
  }
  if (missingInputs > inputs.length) {
    contradicts("operators.missingInputs", `${nameOf(operator)} misses ${missingInputs} of ${inputs.length} inputs`);
  }
  if (outputs.some((tensor) => copyOn(tensor, accelerator) === undefined)) {
    contradicts("tensors.copies", `an output of ${nameOf(operator)} is not expected where an executor has it`);
  }
}

function checkTransfers(state: GraphState): void {
  for (const { number, tensor, source, destination, waiting } of state.transfers.values()) {
    const isThere = state.tensors.get(tensor.id) === tensor && copyOn(tensor, destination) !== undefined;
    const isWanted = waiting.every(
      (operator) =>
        state.issued.get(operator.issueNumber) === operator &&
        operator.accelerator === destination &&
        operator.inputs.includes(tensor),
    );
    if (isThere && isWanted && source !== destination && new Set(waiting).size === waiting.length) continue;
    contradicts(
      "transfers",
      `transfer ${number} of tensor ${tensor.id} has no copy to fill, or not for those that wait`,
    );
  }
}

function checkBuffers(state: GraphState): void {
  const buffers = new Set<BufferNode>();
  for (const { copies } of state.tensors.values()) for (const { buffer } of copies) buffers.add(buffer);
  for (const { accelerator, bytes, shares, endedBytes } of buffers) {
    let caused = endedBytes;
    for (const [instance, share] of shares) {
      caused += share;
      if (instance.needBytes === null)
        contradicts("instances.shares", `instance ${instance.id} holds bytes and was granted none`);
    }
    if (caused === bytes) continue;
    contradicts("buffers", `a buffer of ${bytes} bytes on accelerator ${accelerator} has causes for ${caused}`);
  }
}

/** Issued readers of each copy. */
function countUses(state: GraphState): ReadonlyMap<TensorCopy, number> {
  const uses = new Map<TensorCopy, number>();
  for (const { reads } of state.issued.values()) for (const copy of reads) uses.set(copy, (uses.get(copy) ?? 0) + 1);
  return uses;
}

function checkCopy(
  state: GraphState,
  accelerator: number,
  resident: ResidentCopy,
  uses: ReadonlyMap<TensorCopy, number>,
): void {
  const { tensor: id, allocated, producing, bytes, sharedWith } = resident;
  const tensor = state.tensors.get(id);
  const copy = tensor === undefined ? undefined : copyOn(tensor, accelerator);
  if (tensor === undefined || copy === undefined) {
    contradicts(`ledger[${accelerator}].copies`, `tensor ${id} has no copy there in the graph`);
  }
  const step = stepOf(state, tensor, accelerator);
  const isAsFar = allocated === (step !== "expected") && producing === (step !== "present");
  const sends = tensor.transfers.filter(({ source }) => source === accelerator).length;
  if (
    !isAsFar ||
    (allocated && bytes !== tensor.bytes) ||
    resident.uses !== (uses.get(copy) ?? 0) ||
    resident.sends > sends
  ) {
    contradicts(
      `ledger[${accelerator}].copies`,
      `tensor ${id} is ${step} there with ${tensor.bytes} bytes, ${uses.get(copy) ?? 0} uses and at most ${sends} sends`,
    );
  }
  for (const other of sharedWith) {
    const shared = state.tensors.get(other);
    if (shared !== undefined && copyOn(shared, accelerator)?.buffer === copy.buffer) continue;
    contradicts(
      `ledger[${accelerator}].buffers`,
      `tensors ${id} and ${other} share a buffer that the graph does not know`,
    );
  }
}

/** How far a copy has come. */
function stepOf(state: GraphState, tensor: TensorNode, accelerator: number): "expected" | "allocated" | "present" {
  const { producer } = tensor;
  const transfer = tensor.transfers.find(({ destination }) => destination === accelerator);
  if (transfer?.state === "quarantined") {
    // It may have got stuck before its receive buffer was there.
    return state.ledger.bufferOf(tensor.id, accelerator) === null ? "expected" : "allocated";
  }
  if (transfer !== undefined) {
    return transfer.state === "receiving" || transfer.state === "sending" ? "allocated" : "expected";
  }
  if (producer.accelerator !== accelerator || state.issued.get(producer.issueNumber) !== producer) return "present";
  return producer.startedNs < 0 ? "expected" : "allocated";
}

/** Weights of all templates are there, and the workspace of what runs. */
function checkFixed(state: GraphState, { index, baselineBytes, name }: CompiledAccelerator): void {
  const weights = new Map<string, number>();
  for (const { partitions } of state.availability[index] === "down" ? [] : state.templates.values()) {
    for (const partition of partitions) {
      for (const weight of partition.weights) if (weight.accelerator === index) weights.set(weight.name, weight.bytes);
    }
  }
  let fixedBytes = baselineBytes;
  for (const bytes of weights.values()) fixedBytes += state.cluster.roundBytes(index, bytes);
  const isLoaded = [...weights.keys()].every((weight) => state.ledger.hasWeights(index, weight));
  if (!isLoaded || fixedBytes !== state.ledger.fixedBytes(index)) {
    contradicts(`ledger[${index}].weights`, `${name} has other weights than the templates lay there`);
  }
  let workspaceBytes = 0;
  for (const { accelerator, startedNs, instance, index: operator } of state.issued.values()) {
    if (accelerator !== index || startedNs < 0) continue;
    workspaceBytes += state.cluster.roundBytes(index, instance.binding.workspaceBytes(operator));
  }
  if (workspaceBytes === state.ledger.workspaceBytes(index)) return;
  contradicts(
    `ledger[${index}].workspaceBytes`,
    `is ${state.ledger.workspaceBytes(index)}, and what runs there takes ${workspaceBytes} bytes`,
  );
}
