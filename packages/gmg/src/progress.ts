/**
 * What executors report: operators started, done, failed or withdrawn, transfers on their way. Events about what the graph
 * does not have any more are late; the callers of these functions count them.
 */
import { dropHolds, type GraphState, illegalMove } from "./graph-state.ts";
import type { OperatorNode, TensorNode, TransferNode } from "./nodes.ts";
import { endOperator, forgetTensorIfGone, settleInstance } from "./settle.ts";

/** Issued → running. */
export function startOperator(state: GraphState, operator: OperatorNode, nowNs: number): void {
  if (operator.startedNs >= 0) illegalMove(operator, "started again");
  const { accelerator, instance, index } = operator;
  for (const tensor of operator.outputs) {
    state.ledger.allocate(tensor.id, accelerator, tensor.bytes, tensor.aliases?.id ?? -1);
  }
  state.ledger.beginWorkspace(accelerator, instance.binding.workspaceBytes(index));
  operator.startedNs = nowNs;
}

/** Running → done, or → gone when it was cancelled meanwhile. Its transfers become intents: the executor says so itself. */
export function completeOperator(state: GraphState, operator: OperatorNode, nowNs: number): void {
  if (operator.startedNs < 0) illegalMove(operator, "completed before it started");
  const { accelerator, instance, index } = operator;
  state.ledger.endWorkspace(accelerator, instance.binding.workspaceBytes(index));
  operator.doneNs = nowNs;
  if (operator.state === "issued") operator.state = "done";
  endUses(state, operator);
  for (const tensor of operator.outputs) {
    state.ledger.markPresent(tensor.id, accelerator);
    for (const consumer of tensor.consumers) arrive(consumer, accelerator, nowNs);
  }
  endOperator(state, operator, nowNs);
}

/** Its outputs will never exist: it failed, with its instance, or it was withdrawn after its instance had ended. */
export function abortOperator(state: GraphState, operator: OperatorNode, nowNs: number): void {
  const { accelerator, instance, index } = operator;
  if (operator.startedNs >= 0) state.ledger.endWorkspace(accelerator, instance.binding.workspaceBytes(index));
  for (const tensor of operator.outputs) {
    for (const transfer of [...tensor.transfers]) dropTransfer(state, transfer);
    state.ledger.abandon(tensor.id, accelerator);
  }
  endUses(state, operator);
  if (operator.state === "issued") {
    operator.state = "failed";
    settleInstance(state, instance, "failed", nowNs);
  }
  endOperator(state, operator, nowNs);
}

/** Its receive buffer is there. */
export function beginReceiving(state: GraphState, transfer: TransferNode): void {
  state.ledger.allocate(transfer.tensor.id, transfer.destination, transfer.tensor.bytes);
  transfer.state = "receiving";
}

export function completeTransfer(state: GraphState, transfer: TransferNode, nowNs: number): void {
  const { tensor, source, destination } = transfer;
  removeTransfer(state, transfer);
  state.ledger.endSend(tensor.id, source);
  state.ledger.markPresent(tensor.id, destination);
  for (const consumer of transfer.waiting) arrive(consumer, destination, nowNs);
  forgetTensorIfGone(state, tensor);
}

/** A planned transfer that nobody waits for any more, or whose tensor will never exist. */
function dropTransfer(state: GraphState, transfer: TransferNode): void {
  const { tensor, source, destination } = transfer;
  removeTransfer(state, transfer);
  state.ledger.endSend(tensor.id, source);
  state.ledger.abandon(tensor.id, destination);
  if (transfer.state !== "planned") state.effects.droppedTransfers.push(transfer);
}

function removeTransfer(state: GraphState, transfer: TransferNode): void {
  state.transfers.delete(transfer.number);
  transfer.tensor.transfers.splice(transfer.tensor.transfers.indexOf(transfer), 1);
}

/** An operator that ended without running leaves the transfers that only it waited for and that have not begun. */
function endUses(state: GraphState, operator: OperatorNode): void {
  for (const tensor of operator.inputs) {
    tensor.consumers.delete(operator);
    // A planned transfer of an abandoned producer has taken its copy, and the use with it.
    if (state.ledger.has(tensor.id, operator.accelerator)) {
      state.ledger.endUse(tensor.id, operator.accelerator);
      leaveTransfer(state, operator, tensor);
    }
    forgetTensorIfGone(state, tensor);
  }
}

function leaveTransfer(state: GraphState, operator: OperatorNode, tensor: TensorNode): void {
  if (operator.doneNs >= 0) return;
  const transfer = tensor.transfers.find((candidate) => candidate.destination === operator.accelerator);
  if (transfer === undefined) return;
  transfer.waiting.splice(transfer.waiting.indexOf(operator), 1);
  if (transfer.waiting.length > 0 || transfer.state !== "planned") return;
  dropTransfer(state, transfer);
  dropHolds(state, tensor);
}

function arrive(consumer: OperatorNode, accelerator: number, nowNs: number): void {
  if (consumer.issueNumber < 0 || consumer.accelerator !== accelerator || consumer.startedNs >= 0) return;
  consumer.missingInputs -= 1;
  if (consumer.missingInputs === 0) consumer.readyNs = nowNs;
}
