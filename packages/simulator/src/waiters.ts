import type { Problem } from "./problem.ts";
import type { RunState } from "./run-state.ts";
import type { SimOperator, SimTensor, Waiter } from "./types.ts";

/** Operators in the order of their issue numbers, then transfers. */
export function waitersOf(problem: Problem, run: RunState): readonly Waiter[] {
  const waiters: Waiter[] = [];
  for (let place = 0; place < run.operators; place++) {
    if (Number.isNaN(run.doneNs[place])) waiters.push(waitingOperator(problem, run, place));
  }
  for (let transfer = 0; transfer < run.transfers; transfer++) {
    if (Number.isNaN(run.transferDoneNs[transfer])) waiters.push(waitingTransfer(problem, run, transfer));
  }
  return waiters;
}

function waitingOperator(problem: Problem, run: RunState, place: number): Waiter {
  const operator = run.operatorAt[place] as SimOperator;
  const accelerator = run.accelerator[place] as number;
  const tensors: SimTensor[] = [];
  const reasons: string[] = [];
  const firstInput = problem.operatorFirstInput[operator] as number;
  for (let input = firstInput; input !== -1; input = problem.inputNext[input] as number) {
    const copy = run.inputCopy[input] as number;
    if (copy === -1 || run.present[copy] === 1) continue;
    const arrival = run.arrival[copy] as number;
    tensors.push(problem.inputTensor[input] as SimTensor);
    reasons.push(
      `tensor ${problem.inputTensor[input]} (${arrival === -1 ? "produced here" : `brought by transfer ${arrival}`})`,
    );
  }
  const waits = `operator ${operator} on accelerator ${accelerator}`;
  const words =
    tensors.length > 0
      ? `${waits} waits for ${reasons.join(", ")}`
      : `${waits} ${Number.isNaN(run.startNs[place]) ? "is ready and was not started" : "runs"}`;
  return { operator, transfer: -1, accelerator, tensors, words };
}

function waitingTransfer(problem: Problem, run: RunState, transfer: number): Waiter {
  const tensor = run.transferTensor[transfer] as SimTensor;
  const source = problem.copyAccelerator[run.transferSource[transfer] as number] as number;
  const destination = problem.copyAccelerator[run.transferDestination[transfer] as number] as number;
  const isPlanned = Number.isNaN(run.transferRaisedNs[transfer]);
  const isIntent = Number.isNaN(run.transferStartNs[transfer]);
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
    words: `transfer ${transfer} from accelerator ${source} to ${destination} ${why}`,
  };
}
