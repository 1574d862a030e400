/** Issued → unscheduled: taking operators back from an executor, so that they can be issued again, perhaps elsewhere. */
import { copyOn, type GraphState } from "./graph-state.ts";
import type { OperatorNode, TensorNode } from "./nodes.ts";
import { stopWaiting } from "./progress.ts";

/**
 * Asks for an operator that has not started, and for everything issued that needs its results; what has started meanwhile ends as
 * usual. Until the executor has answered, nothing that reads their results is issued.
 * @param keepInputs Copies that they read were perhaps released with the last issue: they are held again first.
 */
export function recallOperator(state: GraphState, first: OperatorNode, keepInputs: boolean): void {
  const found = new Set([first]);
  for (const operator of found) {
    for (const tensor of operator.outputs) {
      for (const consumer of tensor.consumers) if (consumer.state === "issued") found.add(consumer);
    }
  }
  // Readers are issued after what they read, and so go back before it.
  for (const operator of [...found].sort((a, b) => b.issueNumber - a.issueNumber)) {
    if (operator.recalled || operator.startedNs >= 0 || operator.state !== "issued") continue;
    operator.recalled = true;
    if (keepInputs) for (const tensor of operator.inputs) holdAgain(state, tensor);
    state.effects.withdrawals.push(operator.issueNumber);
  }
}

/**
 * The executor has given a recalled operator back, has refused it or has lost it: it waits to be issued again.
 * @param refused It planned no transfer for it: those planned here that only it waits for end.
 */
export function unissueOperator(state: GraphState, operator: OperatorNode, refused: boolean): void {
  const { accelerator, inputs, outputs, reads } = operator;
  for (const tensor of outputs)
    if (state.ledger.has(tensor.id, accelerator)) state.ledger.abandon(tensor.id, accelerator);
  stopWaiting(state, operator, refused);
  inputs.forEach((tensor, i) => {
    tensor.unissuedConsumers += 1;
    if (copyOn(tensor, accelerator) === reads[i]) state.ledger.endUse(tensor.id, accelerator);
  });
  state.issued.delete(operator.issueNumber);
  state.issuedByClass.remove(operator);
  makeUnscheduled(operator);
  enterFrontier(state, operator);
  for (const tensor of outputs) for (const consumer of tensor.consumers) enterFrontier(state, consumer);
}

/** As if it had never been issued. */
export function makeUnscheduled(operator: OperatorNode): void {
  operator.state = "unscheduled";
  operator.recalled = false;
  operator.reads = [];
  operator.accelerator = -1;
  operator.issueNumber = -1;
  operator.missingInputs = 0;
  operator.issuedNs = -1;
  operator.readyNs = -1;
  operator.startedNs = -1;
  operator.doneNs = -1;
}

/** Counts again what an unscheduled operator waits for, and lets it into the frontier, or out. */
export function enterFrontier(state: GraphState, operator: OperatorNode): void {
  if (operator.state !== "unscheduled") return;
  operator.unscheduledInputs = operator.inputs.filter(({ producer }) => producer.state === "unscheduled").length;
  const isThere = state.frontier.has(operator);
  if (operator.unscheduledInputs > 0) {
    if (isThere) state.frontier.remove(operator);
  } else if (!isThere) state.frontier.add(operator);
}

function holdAgain(state: GraphState, tensor: TensorNode): void {
  for (const copy of tensor.copies) {
    if (copy.held) continue;
    copy.held = true;
    state.ledger.hold(tensor.id, copy.accelerator);
    state.effects.holds.push({ tensor: tensor.id, accelerator: copy.accelerator });
  }
}
