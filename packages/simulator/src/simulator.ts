import { roundedUp } from "./bytes.ts";
import { criticalPathOf } from "./critical-path.ts";
import { failWhole, requireBelow, requireWhole, SimulatorError } from "./errors.ts";
import { Plans } from "./plans.ts";
import { EXPECTED, PRESENT, PRODUCED, Problem } from "./problem.ts";
import { doneNs, hbmTimelineOf, outOfMemoryOf, startNs, transfersOf } from "./results.ts";
import type {
  AcceleratorState,
  CriticalStep,
  HbmSample,
  OutOfMemory,
  RunLimit,
  SimOperator,
  SimTensor,
  SimulatedTransfer,
  SimulationResult,
  SimulatorOptions,
  Waiter,
} from "./types.ts";
import { waitersOf } from "./waiters.ts";

/**
 * Plays issued operators and their transfers forward by the rules of docs/execution-model.md (paper §3.3.2–3.3.3). Declare
 * the state with `begin` and the adders, then `run` as often as you like: a run changes nothing that was declared. After
 * `mark`, what is added is a candidate laid over the base, and its operators are the targets of the score; `rewind` drops it.
 *
 * Every adder costs O(1) amortised, except O(copies of the tensor) where it names an accelerator. Handles, accelerators, times and
 * bytes are checked before anything changes; the errors are `SimulatorError`s.
 */
export class Simulator {
  readonly #problem = new Problem();
  readonly #plans: Plans;
  #begun = false as boolean;
  #hasResult = false as boolean;

  /** Throws the arbitration package's INVALID_TOPOLOGY and INVALID_OPTIONS. O(accelerators²), once. */
  constructor(options: SimulatorOptions) {
    this.#plans = new Plans(options, this.#problem);
  }

  /** Forgets everything and starts anew at `nowNs`, with one state per accelerator of the topology. */
  begin(nowNs: number, accelerators: readonly AcceleratorState[]): void {
    requireWhole(nowNs, 0, "nowNs", "INVALID_TIME");
    const { base } = this.#plans;
    if (accelerators.length !== base.accelerators) {
      throw new SimulatorError(
        "UNKNOWN_ACCELERATOR",
        `${accelerators.length} accelerator states given for a topology of ${base.accelerators}; give one for each`,
        { found: accelerators.length, expected: base.accelerators },
      );
    }
    for (let index = 0; index < accelerators.length; index++)
      checkState(accelerators[index] as AcceleratorState, index);
    this.#plans.edit();
    this.#problem.clear();
    base.begin(nowNs, accelerators);
    this.#plans.mark = null;
    this.#hasResult = false;
    this.#begun = true;
  }

  /**
   * A tensor present on an accelerator, in a buffer of its own or, with `aliases`, in that of another one present there.
   * @param held The master holds it: it stays without pending uses and sends.
   */
  addTensor(accelerator: number, bytes: number, held: boolean, aliases: SimTensor | -1 = -1): SimTensor {
    this.#edit();
    this.#checkAccelerator(accelerator);
    const rounded = this.#rounded(accelerator, bytes, "bytes of a tensor");
    this.#checkAlias(aliases, accelerator);
    const tensor = this.#problem.addTensor(bytes);
    this.#problem.addCopy(tensor, accelerator, PRESENT, held, rounded, aliases);
    return tensor as SimTensor;
  }

  /** A further copy present elsewhere, in a buffer of its own or, with `aliases`, in that of another tensor present there. Throws COPY_EXISTS. */
  addCopy(tensor: SimTensor, accelerator: number, held: boolean, aliases: SimTensor | -1 = -1): void {
    this.#edit();
    this.#checkTensor(tensor);
    this.#checkAccelerator(accelerator);
    this.#checkAlias(aliases, accelerator);
    this.#newCopy(tensor, accelerator, PRESENT, held, aliases);
  }

  /** An issued, activated operator, by default ready at begin. @param rank Priority class, 0 is the most urgent. */
  addOperator(
    accelerator: number,
    durationNs: number,
    rank: number,
    issueNumber: number,
    workspaceBytes: number,
  ): SimOperator {
    this.#edit();
    this.#checkAccelerator(accelerator);
    requireWhole(durationNs, 1, "durationNs", "INVALID_DURATION");
    requireWhole(rank, 0, "rank", "INVALID_RANK");
    requireWhole(issueNumber, 0, "issueNumber", "INVALID_ISSUE_NUMBER");
    const workspace = this.#rounded(accelerator, workspaceBytes, "workspaceBytes");
    return this.#problem.addOperator(accelerator, durationNs, rank, issueNumber, workspace) as SimOperator;
  }

  /**
   * The operator reads a tensor; naming it twice changes nothing. A transfer is planned when the tensor is neither present
   * on, nor produced on, nor on its way to the operator's accelerator.
   * @param source Where that transfer comes from; by default the accelerator the tensor was declared on.
   */
  addInput(operator: SimOperator, tensor: SimTensor, source = -1): void {
    this.#edit();
    this.#checkNewOperator(operator);
    this.#checkTensor(tensor);
    if (source !== -1) this.#checkAccelerator(source);
    this.#problem.addInput(operator, tensor, source);
  }

  /**
   * The operator writes a tensor.
   * @param held The master holds it: it stays without pending uses and sends.
   * @param aliases An input of the operator, whose buffer it continues and grows to its own size, or −1.
   */
  addOutput(operator: SimOperator, bytes: number, held: boolean, aliases: SimTensor | -1 = -1): SimTensor {
    this.#edit();
    this.#checkNewOperator(operator);
    const problem = this.#problem;
    const accelerator = problem.operatorAccelerator[operator] as number;
    const rounded = this.#rounded(accelerator, bytes, "bytes of an output");
    if (aliases !== -1 && !this.#isInput(operator, aliases))
      throw new SimulatorError("INVALID_ALIAS", `tensor ${aliases} is no input of operator ${operator}; add it first`, {
        operator,
        aliases,
      });
    const tensor = problem.addTensor(bytes);
    problem.appendOutput(operator, this.#problem.addCopy(tensor, accelerator, PRODUCED, held, rounded, aliases));
    return tensor as SimTensor;
  }

  /**
   * The operator started before begin and has so much left. Its outputs and workspace are allocated from the start. More left than
   * it lasts is legal, for one that is late: it counts as started at begin then.
   */
  setRunning(operator: SimOperator, remainingNs: number): void {
    this.#edit();
    this.#checkNewOperator(operator);
    this.#problem.operatorRemainingNs[operator] = requireWhole(remainingNs, 1, "remainingNs", "INVALID_DURATION");
  }

  /** When it became ready, for its order among other ready ones; without effect while an input is missing. */
  setReadySince(operator: SimOperator, sinceNs: number): void {
    this.#edit();
    this.#checkNewOperator(operator);
    this.#problem.operatorReadySinceNs[operator] = this.#past(sinceNs, "sinceNs");
  }

  /**
   * A transfer that is planned at begin, whoever reads what it brings. Transfers declared so, or by `setTransferring`, are numbered in the
   * order of their declaration, before all that operators ask for. Throws COPY_EXISTS, INVALID_SOURCE unless the tensor is present or
   * produced at the source.
   * @param rank Of the operator it was planned for.
   */
  addTransfer(tensor: SimTensor, source: number, destination: number, rank: number): void {
    this.#edit();
    requireWhole(rank, 0, "rank", "INVALID_RANK");
    this.#checkTensor(tensor);
    this.#checkAccelerator(source);
    const sent = this.#problem.find(tensor, source);
    if (sent === -1 || this.#problem.copyKind[sent] === EXPECTED)
      failSource(tensor, source, destination, "nor produced ");
    const copy = this.#expectedCopy(tensor, destination);
    if (this.#problem.copySource[copy] !== -1) failTransferExists(tensor, destination);
    this.#problem.addTransfer(copy, source, rank);
  }

  /**
   * A transfer is in flight at begin and has so much left; one that was declared by `addTransfer` from the same source, or a further one. Throws
   * COPY_EXISTS, INVALID_SOURCE unless the tensor is present there.
   */
  setTransferring(tensor: SimTensor, source: number, destination: number, remainingNs: number): void {
    this.#edit();
    this.#checkAccelerator(source);
    requireWhole(remainingNs, 1, "remainingNs", "INVALID_DURATION");
    this.#checkTensor(tensor);
    const problem = this.#problem;
    const sent = problem.find(tensor, source);
    if (sent === -1 || problem.copyKind[sent] !== PRESENT) failSource(tensor, source, destination, "");
    const copy = this.#expectedCopy(tensor, destination);
    const declared = problem.copySource[copy] as number;
    if (declared !== -1 && declared !== source) failTransferExists(tensor, destination);
    if (declared === -1) problem.addTransfer(copy, source, 0);
    problem.copyRemainingNs[copy] = remainingNs;
  }

  /** When the transfer that brings a tensor here became an intent, for its order among others; by default at begin. */
  setIntentSince(tensor: SimTensor, destination: number, sinceNs: number): void {
    this.#edit();
    const since = this.#past(sinceNs, "sinceNs");
    this.#problem.copyRaisedNs[this.#expectedCopy(tensor, destination)] = since;
  }

  /** Whether the master holds a copy, also one that a transfer is still to bring; legal on the base after `mark`. */
  setHeld(tensor: SimTensor, accelerator: number, held: boolean): void {
    this.#edit();
    this.#checkTensor(tensor);
    this.#checkAccelerator(accelerator);
    const problem = this.#problem;
    const copy = problem.find(tensor, accelerator);
    if (copy === -1) {
      this.#newCopy(tensor, accelerator, EXPECTED, held, -1);
      return;
    }
    if (copy < (this.#plans.mark?.copies ?? 0)) problem.noteHold(copy);
    problem.copyHeld[copy] = held ? 1 : 0;
  }

  /** What was added so far is the base; operators added from now on are the targets. A second call moves the mark. */
  mark(): void {
    this.#edit();
    this.#problem.changedHolds = 0;
    this.#plans.mark = this.#problem.mark();
  }

  /** Drops everything added since `mark`. O(what is dropped). Throws NOT_MARKED. */
  rewind(): void {
    this.#edit();
    const { mark } = this.#plans;
    if (mark === null)
      throw new SimulatorError("NOT_MARKED", "rewind needs a mark; call mark() after the base is added");
    this.#problem.truncate(mark);
  }

  /**
   * Plays everything forward. Results can be read until the next change. Throws what only shows when all is declared, before it
   * simulates: NO_ROUTE, INVALID_SOURCE, INVALID_RUNNING (an input missing, or two on one accelerator), PORTS_OVERCOMMITTED,
   * BYTES_OVERFLOW, INVALID_DURATION from `transferNs`; and when it simulates: TIME_OVERFLOW and BYTES_OVERFLOW where a time, or the bytes
   * on an accelerator, go past 2^53 − 1, RUN_FAILED where the queue of intents is full. The next run is right again. O(n log n) in operators and transfers.
   */
  run(limit: RunLimit = {}): SimulationResult {
    this.#requireBegun();
    this.#hasResult = false;
    const { abandonAboveScore = Number.POSITIVE_INFINITY, timeline = false } = limit;
    if (Number.isNaN(abandonAboveScore)) throw new SimulatorError("INVALID_OPTION", "abandonAboveScore is NaN");
    this.#plans.run(abandonAboveScore, timeline);
    this.#hasResult = true;
    const { outcome, endNs, operatorsDone, scoreNs } = this.#plans.evaluation;
    return { outcome, makespanNs: endNs - this.#plans.base.beginNs, simulatedOperators: operatorsDone, scoreNs };
  }

  /** Average completion of the targets in ns; `Infinity` when not all of them ended, `NaN` when there are none. */
  score(): number {
    this.#result();
    return this.#plans.evaluation.scoreNs;
  }

  /** NaN when it did not start. For one that ran at begin: when it must have started, by its duration, at begin at the latest. */
  startNs(operator: SimOperator): number {
    return startNs(this.#plans.planned, this.#node(operator));
  }

  /** NaN when it did not end. */
  doneNs(operator: SimOperator): number {
    return doneNs(this.#plans.planned, this.#plans.evaluation, this.#node(operator));
  }

  /** The most bytes in use, from begin on; an allocation that did not fit is not counted, an overfull start is. */
  peakBytes(accelerator: number): number {
    this.#details();
    this.#checkAccelerator(accelerator);
    return this.#plans.evaluation.run.peakBytes[accelerator] as number;
  }

  /** Time taken, since begin, by operators that ended. */
  busyNs(accelerator: number): number {
    this.#details();
    this.#checkAccelerator(accelerator);
    return this.#plans.evaluation.run.busyNs[accelerator] as number;
  }

  /** Null unless the outcome is "outOfMemory". */
  outOfMemory(): OutOfMemory | null {
    this.#result();
    // What ran out of memory was run in full detail; for anything else nothing has to be run again to say so.
    if (this.#plans.evaluation.outcome !== "outOfMemory") return null;
    return outOfMemoryOf(this.#plans.planned, this.#plans.evaluation);
  }

  /** Everything that has not ended, and what it waits for; for a standstill, but legal after any run. O(n). */
  waiters(): readonly Waiter[] {
    this.#details();
    return waitersOf(this.#plans.planned, this.#plans.evaluation);
  }

  /** All planned transfers, by number. O(n). */
  transfers(): readonly SimulatedTransfer[] {
    this.#details();
    return transfersOf(this.#plans.planned, this.#plans.evaluation);
  }

  /**
   * Why the makespan, or one operator's completion, is what it is: the chain of operators and transfers that led there, first to
   * last, each with what it waited for. Empty when that operator, or nothing, ended. O(n).
   */
  criticalPath(operator: SimOperator | -1 = -1): readonly CriticalStep[] {
    this.#details();
    return criticalPathOf(this.#plans.planned, this.#plans.evaluation, operator === -1 ? -1 : this.#node(operator));
  }

  /** Every change of the bytes in use, in order, the state at begin first; empty unless the run was asked for a timeline. */
  hbmTimeline(accelerator: number): readonly HbmSample[] {
    this.#details();
    this.#checkAccelerator(accelerator);
    return hbmTimelineOf(this.#plans.evaluation, accelerator);
  }

  #requireBegun(): void {
    if (!this.#begun) throw new SimulatorError("NOT_BEGUN", "nothing is declared yet; call begin() first");
  }

  /** Before every change: results go, and what was planned of it. */
  #edit(): void {
    this.#requireBegun();
    this.#hasResult = false;
    this.#plans.edit();
  }

  #result(): void {
    if (!this.#hasResult)
      throw new SimulatorError("NO_RESULT", "there is no result to read; call run() after the last change");
  }

  /** Before times and bytes are read. */
  #details(): void {
    this.#result();
    try {
      this.#plans.settle();
    } catch (error) {
      this.#hasResult = false;
      throw error;
    }
  }

  #node(operator: SimOperator): number {
    this.#details();
    requireBelow(operator, this.#problem.operators, "operator", "UNKNOWN_OPERATOR");
    return this.#plans.planned.operatorNode[operator] as number;
  }

  #checkAccelerator(accelerator: number): void {
    requireBelow(accelerator, this.#plans.base.accelerators, "accelerator", "UNKNOWN_ACCELERATOR");
  }

  #checkTensor(tensor: number): void {
    requireBelow(tensor, this.#problem.tensors, "tensor", "UNKNOWN_TENSOR");
  }

  /** An operator of the base cannot change once the mark is set. */
  #checkNewOperator(operator: number): void {
    requireBelow(operator, this.#problem.operators, "operator", "UNKNOWN_OPERATOR");
    if (operator < (this.#plans.mark?.operators ?? 0))
      throw new SimulatorError("FROZEN", `operator ${operator} was added before mark() and cannot change now`, {
        operator,
      });
  }

  #isInput(operator: number, tensor: number): boolean {
    const { operatorFirstInput, inputNext, inputTensor } = this.#problem;
    let input = operatorFirstInput[operator] as number;
    while (input !== -1 && inputTensor[input] !== tensor) input = inputNext[input] as number;
    return input !== -1;
  }

  #rounded(accelerator: number, bytes: number, what: string): number {
    requireWhole(bytes, 0, what, "INVALID_BYTES");
    const granularity = this.#plans.base.granularityBytes[accelerator] as number;
    const rounded = roundedUp(bytes, granularity);
    if (rounded > Number.MAX_SAFE_INTEGER) failWhole(rounded, 0, `${what}, rounded,`, "INVALID_BYTES");
    return rounded;
  }

  #past(ns: number, what: string): number {
    requireWhole(ns, 0, what, "INVALID_TIME");
    if (ns > this.#plans.base.beginNs)
      throw new SimulatorError("INVALID_TIME", `${what} is ${ns}, after the begin at ${this.#plans.base.beginNs} ns`, {
        ns,
      });
    return ns;
  }

  /** A copy that a transfer is to bring, and is not bringing yet. */
  #expectedCopy(tensor: SimTensor, accelerator: number): number {
    this.#checkTensor(tensor);
    this.#checkAccelerator(accelerator);
    const problem = this.#problem;
    const copy = problem.find(tensor, accelerator);
    if (copy === -1) return this.#newCopy(tensor, accelerator, EXPECTED, false, -1);
    if (problem.copyKind[copy] !== EXPECTED || (problem.copyRemainingNs[copy] as number) > 0)
      failTransferExists(tensor, accelerator);
    if (copy < (this.#plans.mark?.copies ?? 0))
      throw new SimulatorError(
        "FROZEN",
        `the transfer of tensor ${tensor} to accelerator ${accelerator} belongs to the base`,
        {
          tensor,
          accelerator,
        },
      );
    return copy;
  }

  #checkAlias(aliases: SimTensor | -1, accelerator: number): void {
    if (aliases === -1) return;
    this.#checkTensor(aliases);
    const copy = this.#problem.find(aliases, accelerator);
    if (copy === -1 || this.#problem.copyKind[copy] !== PRESENT)
      throw new SimulatorError("INVALID_ALIAS", `tensor ${aliases} is not present on accelerator ${accelerator}`, {
        aliases,
        accelerator,
      });
  }

  #newCopy(tensor: SimTensor, accelerator: number, kind: number, held: boolean, aliases: SimTensor | -1): number {
    if (this.#problem.find(tensor, accelerator) !== -1)
      throw new SimulatorError("COPY_EXISTS", `tensor ${tensor} is declared on accelerator ${accelerator} already`, {
        tensor,
        accelerator,
      });
    const bytes = this.#rounded(accelerator, this.#problem.tensorBytes[tensor] as number, "bytes of a copy");
    return this.#problem.addCopy(tensor, accelerator, kind, held, bytes, aliases);
  }
}

function checkState({ capacityBytes, fixedBytes, granularityBytes = 1 }: AcceleratorState, index: number): void {
  if (!isBytes(capacityBytes, 0)) failWhole(capacityBytes, 0, `capacityBytes of accelerator ${index}`, "INVALID_BYTES");
  if (!isBytes(fixedBytes, 0)) failWhole(fixedBytes, 0, `fixedBytes of accelerator ${index}`, "INVALID_BYTES");
  if (!isBytes(granularityBytes, 1))
    failWhole(granularityBytes, 1, `granularityBytes of accelerator ${index}`, "INVALID_BYTES");
}

function isBytes(value: number, min: number): boolean {
  return Number.isSafeInteger(value) && value >= min;
}

function failSource(tensor: number, source: number, destination: number, made: string): never {
  throw new SimulatorError("INVALID_SOURCE", `tensor ${tensor} is not present ${made}on accelerator ${source}`, {
    tensor,
    source,
    destination,
  });
}

function failTransferExists(tensor: number, accelerator: number): never {
  throw new SimulatorError("COPY_EXISTS", `tensor ${tensor} needs no further transfer to accelerator ${accelerator}`, {
    tensor,
    accelerator,
  });
}
