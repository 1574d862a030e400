/** From a declared problem to the state at its beginning: what the master issued before, in the order of issue numbers. */
import { SimulatorError } from "./errors.ts";
import { allocateOutputs, operatorReady, raiseIntent, sample } from "./kernel.ts";
import { EXPECTED, PRESENT, type Problem } from "./problem.ts";
import type { RunState } from "./run-state.ts";

/** Appends to the problem the copies that transfers will bring; the caller cuts them off after the run. */
export function plan(problem: Problem, run: RunState, keepsTimeline: boolean): void {
  run.reserve(problem, keepsTimeline);
  reset(problem, run);
  planOrder(problem, run);
  for (let place = 0; place < run.operators; place++) planOperator(problem, run, place);
  for (let copy = 0; copy < problem.copies; copy++) {
    if (problem.copySource[copy] !== -1 && run.arrival[copy] === -1)
      planTransfer(problem, run, copy, 0, problem.copySource[copy] as number);
  }
  allocateInitial(problem, run);
  for (let place = 0; place < run.operators; place++) enterOperator(problem, run, place);
  for (let transfer = 0; transfer < run.transfers; transfer++) enterTransfer(problem, run, transfer);
  for (let a = 0; a < run.accelerators; a++) checkInitial(run, a);
}

function reset(problem: Problem, run: RunState): void {
  run.nowNs = run.beginNs;
  run.endNs = run.beginNs;
  run.operatorsDone = 0;
  run.outOfMemory = null;
  run.operators = problem.operators;
  run.transfers = 0;
  run.targetsLeft = problem.operators - run.firstTarget;
  run.targetsDoneNs = 0;
  run.samples = 0;
  run.intents.clear();
  run.busyNs.fill(0);
  run.running.fill(-1);
  run.usedBytes.set(run.fixedBytes);
  run.missing.fill(0, 0, run.operators);
  run.startNs.fill(Number.NaN, 0, run.operators);
  run.doneNs.fill(Number.NaN, 0, run.operators);
  for (let copy = 0; copy < problem.copies; copy++) resetCopy(problem, run, copy);
}

function resetCopy(problem: Problem, run: RunState, copy: number): void {
  run.present[copy] = problem.copyKind[copy] === PRESENT ? 1 : 0;
  run.held[copy] = problem.copyHeld[copy] as number;
  run.uses[copy] = 0;
  run.sends[copy] = 0;
  run.firstConsumer[copy] = -1;
  run.lastConsumer[copy] = -1;
  run.firstTransfer[copy] = -1;
  run.lastTransfer[copy] = -1;
  run.arrival[copy] = -1;
  run.bufferBytes[copy] = 0;
  run.bufferCopies[copy] = 0;
}

/** Operators usually come in the order of their issue numbers; others are sorted. */
function planOrder(problem: Problem, run: RunState): void {
  const { operatorIssueNumber: issueNumber } = problem;
  const at = run.operatorAt;
  let sorted = true;
  for (let operator = 0; operator < run.operators; operator++) {
    at[operator] = operator;
    if (operator > 0 && (issueNumber[operator] as number) < (issueNumber[operator - 1] as number)) sorted = false;
  }
  if (!sorted) {
    // Handles break the tie of equal issue numbers, which a correct master never gives.
    at.subarray(0, run.operators).sort((a, b) => (issueNumber[a] as number) - (issueNumber[b] as number) || a - b);
  }
  for (let place = 0; place < run.operators; place++) {
    const operator = at[place] as number;
    run.placeOf[operator] = place;
    run.accelerator[place] = problem.operatorAccelerator[operator] as number;
    const remainingNs = problem.operatorRemainingNs[operator] as number;
    run.durationNs[place] = remainingNs > 0 ? remainingNs : (problem.operatorDurationNs[operator] as number);
  }
  run.ready.reserve(run.accelerators, run.operators, run.accelerator);
}

/** Registers its uses and plans the transfers that nobody planned before it. */
function planOperator(problem: Problem, run: RunState, place: number): void {
  const operator = run.operatorAt[place] as number;
  const accelerator = run.accelerator[place] as number;
  for (let input = problem.operatorFirstInput[operator] as number; input !== -1; ) {
    const tensor = problem.inputTensor[input] as number;
    let copy = problem.find(tensor, accelerator);
    if (copy === -1) {
      copy = problem.addCopy(tensor, accelerator, EXPECTED, false, roundedBytes(problem, run, tensor, accelerator), -1);
      resetCopy(problem, run, copy);
    }
    if (problem.copyKind[copy] === EXPECTED && run.arrival[copy] === -1)
      planTransfer(problem, run, copy, problem.operatorRank[operator] as number, problem.inputSource[input] as number);
    const last = run.lastConsumer[copy] as number;
    const named = last !== -1 && run.inputPlace[last] === place;
    run.inputCopy[input] = named ? -1 : copy;
    run.inputPlace[input] = place;
    run.inputNextConsumer[input] = -1;
    if (!named) {
      if (last === -1) run.firstConsumer[copy] = input;
      else run.inputNextConsumer[last] = input;
      run.lastConsumer[copy] = input;
      run.uses[copy] = (run.uses[copy] as number) + 1;
      if (run.present[copy] === 0) run.missing[place] = (run.missing[place] as number) + 1;
    }
    input = problem.inputNext[input] as number;
  }
}

function roundedBytes(problem: Problem, run: RunState, tensor: number, accelerator: number): number {
  const granularity = run.granularityBytes[accelerator] as number;
  return Math.ceil((problem.tensorBytes[tensor] as number) / granularity) * granularity;
}

/** @param from Where the operator wants it from, −1 = its home; a transfer in flight knows better. */
function planTransfer(problem: Problem, run: RunState, copy: number, rank: number, from: number): void {
  const tensor = problem.copyTensor[copy] as number;
  const destination = problem.copyAccelerator[copy] as number;
  const inFlight = problem.copySource[copy] as number;
  const wanted = inFlight === -1 ? from : inFlight;
  const source = wanted === -1 ? (problem.tensorHome[tensor] as number) : problem.find(tensor, wanted);
  if (source === -1 || problem.copyKind[source] === EXPECTED || (inFlight !== -1 && run.present[source] === 0))
    throw sourceMissing(tensor, wanted, destination);
  const sourceAccelerator = problem.copyAccelerator[source] as number;
  if (!run.intents.ports.hasRoute(sourceAccelerator, destination)) {
    throw new SimulatorError(
      "NO_ROUTE",
      `tensor ${tensor} is needed on accelerator ${destination}, and there is no way there from accelerator ${sourceAccelerator}`,
      { tensor, source: sourceAccelerator, destination },
    );
  }
  const transfer = run.transfers++;
  const bytes = problem.tensorBytes[tensor] as number;
  run.transferTensor[transfer] = tensor;
  run.transferSource[transfer] = source;
  run.transferDestination[transfer] = copy;
  run.transferRank[transfer] = rank;
  run.transferDurationNs[transfer] =
    inFlight === -1
      ? predictedNs(run, sourceAccelerator, destination, bytes)
      : (problem.copyRemainingNs[copy] as number);
  run.transferRaisedNs[transfer] = Number.NaN;
  run.transferStartNs[transfer] = Number.NaN;
  run.transferDoneNs[transfer] = Number.NaN;
  run.transferNext[transfer] = -1;
  const last = run.lastTransfer[source] as number;
  if (last === -1) run.firstTransfer[source] = transfer;
  else run.transferNext[last] = transfer;
  run.lastTransfer[source] = transfer;
  run.arrival[copy] = transfer;
  run.sends[source] = (run.sends[source] as number) + 1;
}

function predictedNs(run: RunState, source: number, destination: number, bytes: number): number {
  const durationNs = run.options.transferNs(source, destination, bytes);
  if (Number.isSafeInteger(durationNs) && durationNs >= 1) return durationNs;
  throw new SimulatorError(
    "INVALID_DURATION",
    `transferNs(${source}, ${destination}, ${bytes}) gave ${durationNs}; it must be whole nanoseconds, at least 1`,
    { source, destination, bytes, durationNs },
  );
}

function sourceMissing(tensor: number, source: number, destination: number): SimulatorError {
  const what = source === -1 ? "its home" : `accelerator ${source}`;
  return new SimulatorError(
    "INVALID_SOURCE",
    `tensor ${tensor} should go from ${what} to accelerator ${destination}, but is not there and nothing produces it there`,
    { tensor, source, destination },
  );
}

/** Buffers of what is present and needed. Aliases come after what they alias, since copies are declared in that order. */
function allocateInitial(problem: Problem, run: RunState): void {
  const { present, uses, sends, held, bufferBytes } = run;
  for (let copy = 0; copy < problem.copies; copy++) {
    if (present[copy] === 0) continue;
    const aliases = problem.copyAliases[copy] as number;
    const accelerator = problem.copyAccelerator[copy] as number;
    const buffer = aliases === -1 ? copy : (run.buffer[problem.find(aliases, accelerator)] as number);
    run.buffer[copy] = buffer;
    bufferBytes[buffer] = Math.max(bufferBytes[buffer] as number, problem.copyBytes[copy] as number);
    const needed = (uses[copy] as number) + (sends[copy] as number) + (held[copy] as number) > 0;
    if (needed) run.bufferCopies[buffer] = (run.bufferCopies[buffer] as number) + 1;
  }
  for (let copy = 0; copy < problem.copies; copy++) {
    if ((run.bufferCopies[copy] as number) === 0) continue;
    const accelerator = problem.copyAccelerator[copy] as number;
    run.usedBytes[accelerator] = (run.usedBytes[accelerator] as number) + (bufferBytes[copy] as number);
  }
}

/** Running ones occupy their accelerator and their memory; others are ready when nothing is missing. */
function enterOperator(problem: Problem, run: RunState, place: number): void {
  const operator = run.operatorAt[place] as number;
  const accelerator = run.accelerator[place] as number;
  const remainingNs = problem.operatorRemainingNs[operator] as number;
  const missing = run.missing[place] as number;
  const sinceNs = problem.operatorReadySinceNs[operator] as number;
  if (remainingNs === 0) {
    if (missing === 0) operatorReady(problem, run, place, Number.isNaN(sinceNs) ? run.beginNs : sinceNs);
    return;
  }
  if (missing > 0 || run.running[accelerator] !== -1) {
    const why = missing > 0 ? `misses ${missing} inputs` : "is the second that runs there";
    throw new SimulatorError("INVALID_RUNNING", `operator ${operator} on accelerator ${accelerator} ${why}`, {
      operator,
      accelerator,
      missing,
    });
  }
  run.running[accelerator] = place;
  run.startNs[place] = run.beginNs + remainingNs - (problem.operatorDurationNs[operator] as number);
  allocateOutputs(problem, run, operator);
  const workspaceBytes = problem.operatorWorkspaceBytes[operator] as number;
  run.usedBytes[accelerator] = (run.usedBytes[accelerator] as number) + workspaceBytes;
  run.events.push(run.beginNs + remainingNs, place);
}

/** Those in flight hold their ports and buffers; those whose tensor is at its source are intents. */
function enterTransfer(problem: Problem, run: RunState, transfer: number): void {
  const copy = run.transferDestination[transfer] as number;
  const raisedNs = problem.copyRaisedNs[copy] as number;
  if (problem.copySource[copy] === -1) {
    if (run.present[run.transferSource[transfer] as number] === 1)
      raiseIntent(problem, run, transfer, Number.isNaN(raisedNs) ? run.beginNs : raisedNs);
    return;
  }
  const source = problem.copySource[copy] as number;
  const accelerator = problem.copyAccelerator[copy] as number;
  if (!run.intents.ports.fits(source, accelerator)) {
    throw new SimulatorError(
      "PORTS_OVERCOMMITTED",
      `tensor ${run.transferTensor[transfer]} in flight to accelerator ${accelerator} needs a port or a link that others in flight take`,
      { transfer, destination: accelerator },
    );
  }
  run.intents.occupy(source, accelerator);
  run.transferRaisedNs[transfer] = Number.isNaN(raisedNs) ? run.beginNs : raisedNs;
  run.transferStartNs[transfer] = run.beginNs;
  const bytes = problem.copyBytes[copy] as number;
  run.buffer[copy] = copy;
  run.bufferBytes[copy] = bytes;
  run.bufferCopies[copy] = 1;
  run.usedBytes[accelerator] = (run.usedBytes[accelerator] as number) + bytes;
  run.events.push(run.beginNs + (run.transferDurationNs[transfer] as number), run.operators + transfer);
}

function checkInitial(run: RunState, accelerator: number): void {
  const usedBytes = run.usedBytes[accelerator] as number;
  const bytesOver = usedBytes - (run.capacityBytes[accelerator] as number);
  run.peakBytes[accelerator] = usedBytes;
  if (run.keepsTimeline) sample(run, accelerator);
  if (bytesOver > 0 && run.outOfMemory === null)
    run.outOfMemory = { accelerator, atNs: run.beginNs, operator: -1, transfer: -1, bytesOver };
}
