/**
 * What executors report: operators started, done, failed or withdrawn, transfers on their way. Events about what the graph
 * does not have any more are late; the callers of these functions count them.
 */
import { copyOn, dropHolds, type GraphState, illegalMove } from "./graph-state.ts";
import type { OperatorNode, TransferNode } from "./nodes.ts";
import { endOperator, forgetTensorIfGone, letContinue, settleInstance } from "./settle.ts";
import { debtorsOf, fallBack, followWaiting } from "./urgency.ts";

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

/**
 * Its outputs will never exist: it failed, with its instance, or it was withdrawn after its instance had ended. An executor
 * that refuses an operator plans no transfer for it and so cancels none: what only that operator waited for ends here. One
 * that gives an operator back has cancelled what nobody else waits for, as long as it was not an intent: what is left then
 * takes place.
 */
export function abortOperator(
  state: GraphState,
  operator: OperatorNode,
  nowNs: number,
  reported: "failed" | "withdrawn",
): void {
  const { accelerator, instance, index } = operator;
  if (operator.startedNs >= 0) state.ledger.endWorkspace(accelerator, instance.binding.workspaceBytes(index));
  else letContinue(operator);
  for (const tensor of operator.outputs) state.ledger.abandon(tensor.id, accelerator);
  stopWaiting(state, operator, reported === "failed");
  endUses(state, operator);
  if (operator.state === "issued") {
    operator.state = "failed";
    settleInstance(state, instance, "failed", nowNs);
  }
  endOperator(state, operator, nowNs);
}

/** Its tensor is at its source, or it waits anew after its receive buffer did not fit: its time as an intent counts from now. */
export function intendTransfer(transfer: TransferNode, nowNs: number): void {
  transfer.state = "intended";
  transfer.intendedNs = nowNs;
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

/** It will not take place: its last waiting operator was withdrawn, its tensor will never exist, or its data were lost. */
export function cancelTransfer(state: GraphState, transfer: TransferNode): void {
  const { tensor, source, destination } = transfer;
  removeTransfer(state, transfer);
  if (state.ledger.has(tensor.id, source)) state.ledger.endSend(tensor.id, source);
  if (state.ledger.has(tensor.id, destination)) state.ledger.abandon(tensor.id, destination);
  forgetTensorIfGone(state, tensor);
}

function removeTransfer(state: GraphState, transfer: TransferNode): void {
  state.transfers.delete(transfer.number);
  transfer.tensor.transfers.splice(transfer.tensor.transfers.indexOf(transfer), 1);
}

/** A copy that was lost before the operator ended has taken the operator's use with it; a later copy is not its own. */
export function endUses(state: GraphState, operator: OperatorNode): void {
  const { accelerator, inputs, reads, recalled } = operator;
  const debtors = debtorsOf(operator);
  operator.recalled = false;
  inputs.forEach((tensor, i) => {
    tensor.consumers.delete(operator);
    if (copyOn(tensor, accelerator) === reads[i]) state.ledger.endUse(tensor.id, accelerator);
    if (recalled) dropHolds(state, tensor);
    forgetTensorIfGone(state, tensor);
  });
  if (debtors.length > 0) fallBack(state, debtors);
}

/** It waits for no transfer any more; `drop` ends those planned ones that then nobody waits for. */
export function stopWaiting(state: GraphState, operator: OperatorNode, drop: boolean): void {
  for (const tensor of operator.inputs) {
    const transfer = tensor.transfers.find(({ destination }) => destination === operator.accelerator);
    const at = transfer?.waiting.indexOf(operator) ?? -1;
    if (transfer === undefined || at < 0) continue;
    transfer.waiting.splice(at, 1);
    followWaiting(state, transfer);
    if (drop && transfer.state === "planned" && transfer.waiting.length === 0) cancelTransfer(state, transfer);
  }
}

function arrive(consumer: OperatorNode, accelerator: number, nowNs: number): void {
  if (consumer.issueNumber < 0 || consumer.accelerator !== accelerator || consumer.startedNs >= 0) return;
  consumer.missingInputs -= 1;
  if (consumer.missingInputs === 0) consumer.readyNs = nowNs;
}
