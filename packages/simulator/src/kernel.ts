/**
 * The event loop: docs/execution-model.md, sections "Events", "Transfers" and "Memory", on the arrays of a planned run.
 * It allocates nothing while it runs, except that the queue of intents doubles when more are pending than ever before.
 */
import type { Problem } from "./problem.ts";
import type { RunState } from "./run-state.ts";
import type { SimOperator } from "./types.ts";

/**
 * Runs to the end, the first out-of-memory, or until the score must be above `abandonAboveScore`; true when abandoned.
 * @param abandonAboveScore `Infinity` for never.
 */
export function advance(problem: Problem, run: RunState, abandonAboveScore: number): boolean {
  if (run.outOfMemory !== null) return false;
  selectTransfers(problem, run);
  for (let a = 0; a < run.accelerators && run.outOfMemory === null; a++) startNext(problem, run, a);
  const { events, operators } = run;
  while (events.size > 0 && run.outOfMemory === null) {
    run.nowNs = events.firstNs;
    const key = events.pop();
    if (key < operators) endOperator(problem, run, key);
    else endTransfer(problem, run, key - operators);
    run.endNs = run.nowNs;
    if (scoreBound(run, problem.operators) > abandonAboveScore) return true;
  }
  return false;
}

/** No target that has not ended can end before now. Equals the score once all have ended; NaN without targets. */
export function scoreBound(run: RunState, operators: number): number {
  const relativeNs = run.targetsDoneNs + run.targetsLeft * (run.nowNs - run.beginNs);
  return run.beginNs + relativeNs / (operators - run.firstTarget);
}

function endOperator(problem: Problem, run: RunState, place: number): void {
  const operator = run.operatorAt[place] as number;
  const accelerator = run.accelerator[place] as number;
  run.running[accelerator] = -1;
  run.doneNs[place] = run.nowNs;
  run.busyNs[accelerator] = (run.busyNs[accelerator] as number) + (run.durationNs[place] as number);
  run.operatorsDone++;
  if (operator >= run.firstTarget) {
    run.targetsLeft--;
    run.targetsDoneNs += run.nowNs - run.beginNs;
  }
  run.usedBytes[accelerator] =
    (run.usedBytes[accelerator] as number) - (problem.operatorWorkspaceBytes[operator] as number);
  for (let input = problem.operatorFirstInput[operator] as number; input !== -1; ) {
    const copy = run.inputCopy[input] as number;
    if (copy !== -1) {
      run.uses[copy] = (run.uses[copy] as number) - 1;
      freeIfUnneeded(problem, run, copy);
    }
    input = problem.inputNext[input] as number;
  }
  const firstOutput = problem.operatorFirstOutput[operator] as number;
  for (let copy = firstOutput; copy !== -1; copy = problem.copyNextOutput[copy] as number) {
    run.present[copy] = 1;
    freeIfUnneeded(problem, run, copy);
  }
  if (run.keepsTimeline) sample(run, accelerator);
  for (let copy = firstOutput; copy !== -1; copy = problem.copyNextOutput[copy] as number) {
    inputArrived(problem, run, copy);
    let transfer = run.firstTransfer[copy] as number;
    for (; transfer !== -1; transfer = run.transferNext[transfer] as number)
      raiseIntent(problem, run, transfer, run.nowNs);
  }
  selectTransfers(problem, run);
  if (run.outOfMemory === null) startNext(problem, run, accelerator);
}

function endTransfer(problem: Problem, run: RunState, transfer: number): void {
  const sent = run.transferSource[transfer] as number;
  const received = run.transferDestination[transfer] as number;
  const source = problem.copyAccelerator[sent] as number;
  const destination = problem.copyAccelerator[received] as number;
  run.transferDoneNs[transfer] = run.nowNs;
  run.sends[sent] = (run.sends[sent] as number) - 1;
  freeIfUnneeded(problem, run, sent);
  run.present[received] = 1;
  freeIfUnneeded(problem, run, received);
  if (run.keepsTimeline) {
    sample(run, source);
    sample(run, destination);
  }
  inputArrived(problem, run, received);
  run.intents.release(source, destination);
  selectTransfers(problem, run);
  if (run.outOfMemory === null && run.running[destination] === -1) startNext(problem, run, destination);
}

/** Consumers miss one input less; those with none left are ready now. */
function inputArrived(problem: Problem, run: RunState, copy: number): void {
  let input = run.firstConsumer[copy] as number;
  for (; input !== -1; input = run.inputNextConsumer[input] as number) {
    const place = run.inputPlace[input] as number;
    const missing = (run.missing[place] as number) - 1;
    run.missing[place] = missing;
    if (missing === 0) operatorReady(problem, run, place, run.nowNs);
  }
}

export function operatorReady(problem: Problem, run: RunState, place: number, atNs: number): void {
  const rank = problem.operatorRank[run.operatorAt[place] as number] as number;
  run.ready.push(run.accelerator[place] as number, place, rank, atNs);
}

export function raiseIntent(problem: Problem, run: RunState, transfer: number, atNs: number): void {
  const source = problem.copyAccelerator[run.transferSource[transfer] as number] as number;
  const destination = problem.copyAccelerator[run.transferDestination[transfer] as number] as number;
  run.transferRaisedNs[transfer] = atNs;
  run.intents.add(transfer, source, destination, run.transferRank[transfer] as number, atNs);
}

function selectTransfers(problem: Problem, run: RunState): void {
  if (run.intents.size === 0) return;
  const count = run.intents.select(run.nowNs);
  for (let at = 0; at < count && run.outOfMemory === null; at++) {
    const transfer = run.intents.selected[at] as number;
    const copy = run.transferDestination[transfer] as number;
    const accelerator = problem.copyAccelerator[copy] as number;
    const bytes = problem.copyBytes[copy] as number;
    run.buffer[copy] = copy;
    run.bufferBytes[copy] = bytes;
    run.bufferCopies[copy] = 1;
    run.usedBytes[accelerator] = (run.usedBytes[accelerator] as number) + bytes;
    if (!accountFits(run, accelerator, -1, transfer)) return;
    run.transferStartNs[transfer] = run.nowNs;
    run.events.push(run.nowNs + (run.transferDurationNs[transfer] as number), run.operators + transfer);
  }
}

/** Starts the first in order on an accelerator, unless it is busy or none is activated. */
function startNext(problem: Problem, run: RunState, accelerator: number): void {
  if (run.running[accelerator] !== -1) return;
  const place = run.ready.pop(accelerator);
  if (place === -1) return;
  const operator = run.operatorAt[place] as number;
  allocateOutputs(problem, run, operator);
  run.usedBytes[accelerator] =
    (run.usedBytes[accelerator] as number) + (problem.operatorWorkspaceBytes[operator] as number);
  if (!accountFits(run, accelerator, operator, -1)) return;
  run.running[accelerator] = place;
  run.startNs[place] = run.nowNs;
  run.events.push(run.nowNs + (run.durationNs[place] as number), place);
}

/** Takes the memory of all outputs of an operator that starts. */
export function allocateOutputs(problem: Problem, run: RunState, operator: number): void {
  const accelerator = problem.operatorAccelerator[operator] as number;
  let addedBytes = 0;
  for (let copy = problem.operatorFirstOutput[operator] as number; copy !== -1; ) {
    const bytes = problem.copyBytes[copy] as number;
    const aliases = problem.copyAliases[copy] as number;
    const buffer = aliases === -1 ? copy : (run.buffer[problem.find(aliases, accelerator)] as number);
    run.buffer[copy] = buffer;
    run.bufferCopies[buffer] = (run.bufferCopies[buffer] as number) + 1;
    const before = run.bufferBytes[buffer] as number;
    if (bytes > before) {
      run.bufferBytes[buffer] = bytes;
      addedBytes += bytes - before;
    }
    copy = problem.copyNextOutput[copy] as number;
  }
  run.usedBytes[accelerator] = (run.usedBytes[accelerator] as number) + addedBytes;
}

function freeIfUnneeded(problem: Problem, run: RunState, copy: number): void {
  if ((run.uses[copy] as number) + (run.sends[copy] as number) + (run.held[copy] as number) > 0) return;
  if (run.present[copy] === 0) return;
  const buffer = run.buffer[copy] as number;
  const copies = (run.bufferCopies[buffer] as number) - 1;
  run.bufferCopies[buffer] = copies;
  if (copies > 0) return;
  const accelerator = problem.copyAccelerator[copy] as number;
  run.usedBytes[accelerator] = (run.usedBytes[accelerator] as number) - (run.bufferBytes[buffer] as number);
}

/** After an allocation: the peak, or the out-of-memory that ends the run. */
function accountFits(run: RunState, accelerator: number, operator: number, transfer: number): boolean {
  const usedBytes = run.usedBytes[accelerator] as number;
  const bytesOver = usedBytes - (run.capacityBytes[accelerator] as number);
  if (bytesOver > 0) {
    run.outOfMemory = { accelerator, atNs: run.nowNs, operator: operator as SimOperator, transfer, bytesOver };
    return false;
  }
  if (usedBytes > (run.peakBytes[accelerator] as number)) run.peakBytes[accelerator] = usedBytes;
  if (run.keepsTimeline) sample(run, accelerator);
  return true;
}

export function sample(run: RunState, accelerator: number): void {
  const at = run.samples++;
  run.sampleNs[at] = run.nowNs;
  run.sampleBytes[at] = run.usedBytes[accelerator] as number;
  run.sampleAccelerator[at] = accelerator;
}
