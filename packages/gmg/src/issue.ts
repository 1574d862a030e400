import type { AcceleratorIndex, CompiledPartition } from "@slicescheduler/templates";
import { addCopy } from "./buffers.ts";
import { copyOn, dropHolds, type GraphState } from "./graph-state.ts";
import type { OperatorNode, TensorCopy, TensorNode, TransferNode } from "./nodes.ts";
import { followWaiting } from "./urgency.ts";

/** An issued operator as an executor needs to know it. */
export interface IssuedOperator {
  readonly issueNumber: number;
  readonly accelerator: AcceleratorIndex;
  readonly instance: number;
  readonly template: string;
  readonly operator: number;
  readonly symbols: Readonly<Record<string, number>>;
  readonly rank: number;
  /** Distinct tensors in declared order; `transfer` is null for what is present or produced on the accelerator. */
  readonly inputs: readonly { readonly tensor: number; readonly transfer: number | null; readonly source: number }[];
  readonly outputs: readonly { readonly tensor: number; readonly bytes: number; readonly aliases: number | null }[];
  readonly workspaceBytes: number;
}

/**
 * Unscheduled → issued, which the caller has seen to be legal, on the partition's accelerator: registers its uses, plans the transfers it needs, expects its
 * outputs, and lets its successors into the frontier.
 */
export function issueOperator(
  state: GraphState,
  operator: OperatorNode,
  partition: CompiledPartition,
  nowNs: number,
): IssuedOperator {
  const { instance } = operator;
  const accelerator = partition.acceleratorOf[operator.index] as AcceleratorIndex;
  state.frontier.remove(operator);
  operator.state = "issued";
  operator.accelerator = accelerator;
  operator.issueNumber = state.nextIssue++;
  operator.issuedNs = nowNs;
  state.issued.set(operator.issueNumber, operator);
  state.issuedByClass.add(operator);
  const inputs = operator.inputs.map((tensor) => useInput(state, operator, tensor));
  operator.reads = operator.inputs.map((tensor) => copyOn(tensor, accelerator) as TensorCopy);
  operator.readyNs = operator.missingInputs === 0 ? nowNs : -1;
  for (const tensor of operator.outputs) expectOutput(state, tensor, accelerator);
  for (const tensor of operator.inputs) dropHolds(state, tensor);
  return {
    issueNumber: operator.issueNumber,
    accelerator,
    instance: instance.id,
    template: instance.template.name,
    operator: operator.index,
    symbols: instance.binding.symbols,
    rank: operator.rank,
    inputs,
    outputs: operator.outputs.map((tensor) => ({
      tensor: tensor.id,
      bytes: tensor.bytes,
      aliases: tensor.aliases?.id ?? null,
    })),
    workspaceBytes: instance.binding.workspaceBytes(operator.index),
  };
}

function useInput(state: GraphState, operator: OperatorNode, tensor: TensorNode): IssuedOperator["inputs"][number] {
  const { accelerator } = operator;
  tensor.unissuedConsumers -= 1;
  if (copyOn(tensor, accelerator) === undefined) planTransfer(state, operator, tensor);
  state.ledger.addUse(tensor.id, accelerator);
  if (!state.ledger.isPresent(tensor.id, accelerator)) operator.missingInputs += 1;
  const transfer = tensor.transfers.find((candidate) => candidate.destination === accelerator);
  if (transfer === undefined) return { tensor: tensor.id, transfer: null, source: -1 };
  transfer.waiting.push(operator);
  if (transfer.waiting.length === 1 || operator.rank < transfer.rank) followWaiting(state, transfer);
  return { tensor: tensor.id, transfer: transfer.number, source: transfer.source };
}

/** From the producer's accelerator, which is known: a producer is issued before its consumers. */
function planTransfer(state: GraphState, operator: OperatorNode, tensor: TensorNode): void {
  const transfer: TransferNode = {
    number: state.nextTransfer++,
    tensor,
    source: tensor.producer.accelerator,
    destination: operator.accelerator,
    rank: operator.rank,
    state: "planned",
    intendedNs: -1,
    sendingNs: -1,
    waiting: [],
  };
  state.transfers.set(transfer.number, transfer);
  tensor.transfers.push(transfer);
  state.ledger.addSend(tensor.id, transfer.source);
  state.ledger.expect(tensor.id, transfer.destination);
  const bytes = state.cluster.roundBytes(transfer.destination, tensor.bytes);
  addCopy(tensor, transfer.destination, operator.instance, bytes, null);
}

function expectOutput(state: GraphState, tensor: TensorNode, accelerator: AcceleratorIndex): void {
  state.ledger.expect(tensor.id, accelerator);
  const continued = tensor.aliases === null ? undefined : copyOn(tensor.aliases, accelerator);
  const bytes = state.cluster.roundBytes(accelerator, tensor.bytes);
  addCopy(tensor, accelerator, tensor.producer.instance, bytes, continued?.buffer ?? null);
  for (const consumer of tensor.consumers) {
    if (consumer.state !== "unscheduled") continue;
    consumer.unscheduledInputs -= 1;
    if (consumer.unscheduledInputs === 0) state.frontier.add(consumer);
  }
  dropHolds(state, tensor);
}
