import type { Evaluation } from "./evaluation.ts";
import { forEach, INPUTS } from "./nodes.ts";
import type { Planned } from "./planned.ts";
import { doneNs, presentNs, raisedNs, startNs, transferNumber } from "./results.ts";
import type { SimOperator, SimTensor, Waiter } from "./types.ts";

/** Operators in the order of their issue numbers, then transfers. */
export function waitersOf(planned: Planned, evaluation: Evaluation): readonly Waiter[] {
  const waiters: Waiter[] = [];
  for (let place = 0; place < planned.operators; place++) {
    const operator = planned.order[place] as SimOperator;
    const node = planned.operatorNode[operator] as number;
    if (Number.isNaN(doneNs(planned, evaluation, node)))
      waiters.push(waitingOperator(planned, evaluation, operator, node));
  }
  for (let transfer = 0; transfer < planned.transfers; transfer++) {
    const node = planned.transferNode[transfer] as number;
    if (Number.isNaN(doneNs(planned, evaluation, node)))
      waiters.push(waitingTransfer(planned, evaluation, transfer, node));
  }
  return waiters;
}

function waitingOperator(planned: Planned, evaluation: Evaluation, operator: SimOperator, node: number): Waiter {
  const accelerator = planned.accelerator(node);
  const tensors: SimTensor[] = [];
  const reasons: string[] = [];
  forEach(planned.nodes, INPUTS, node, (copy) => {
    if (!Number.isNaN(presentNs(planned, evaluation, copy))) return;
    const tensor = planned.tensorOf[copy] as SimTensor;
    const transfer = transferNumber(planned, copy);
    tensors.push(tensor);
    reasons.push(`tensor ${tensor} (${transfer === -1 ? "produced here" : `brought by transfer ${transfer}`})`);
  });
  const waits = `operator ${operator} on accelerator ${accelerator}`;
  const words =
    tensors.length > 0
      ? `${waits} waits for ${reasons.join(", ")}`
      : `${waits} ${Number.isNaN(startNs(planned, node)) ? "is ready and was not started" : "runs"}`;
  return { operator, transfer: -1, accelerator, tensors, words };
}

function waitingTransfer(planned: Planned, evaluation: Evaluation, transfer: number, node: number): Waiter {
  const tensor = planned.tensorOf[node] as SimTensor;
  const source = planned.accelerator(planned.nodes.i32[(node << 4) + INPUTS] as number);
  const isPlanned = Number.isNaN(raisedNs(planned, evaluation, node));
  const isIntent = Number.isNaN(startNs(planned, node));
  const why = isPlanned
    ? `waits until tensor ${tensor} is produced`
    : isIntent
      ? "waits for ports or links"
      : "is in flight";
  return {
    operator: -1,
    transfer,
    accelerator: source,
    tensors: isPlanned ? [tensor] : [],
    words: `transfer ${transfer} from accelerator ${source} to ${planned.accelerator(node)} ${why}`,
  };
}
