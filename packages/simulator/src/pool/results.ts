/** Results of candidates, in memory that threads share: one record of doubles per candidate. */
import { SimulatorError, type SimulatorErrorCode } from "../errors.ts";
import type { Simulator } from "../simulator.ts";
import type { OutOfMemory, SimOperator, SimulationResult } from "../types.ts";

/** What one candidate comes to. */
export interface CandidateResult {
  /** "failed" when it could not be simulated; `error` says why. */
  readonly outcome: SimulationResult["outcome"] | "failed";
  /** As in `SimulationResult`; null for one that was abandoned or failed, since how far it came is no result. */
  readonly scoreNs: number | null;
  readonly makespanNs: number | null;
  readonly simulatedOperators: number | null;
  /** Null unless the outcome is "outOfMemory". */
  readonly outOfMemory: OutOfMemory | null;
  /** Null unless the outcome is "failed". */
  readonly error: SimulatorError | null;
}

export interface RoundResult {
  /** In the order of the round. */
  readonly candidates: readonly CandidateResult[];
  /** The finished candidate with the least score, of equal ones the first; −1 when none has finished with a score. */
  readonly best: number;
}

/** An error as data. */
export interface WrittenError {
  readonly code: SimulatorErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export const RECORD = 9;
const OUTCOMES = ["finished", "outOfMemory", "standstill", "abandoned", "failed"] as const;
const OUTCOME = 0;
const SCORE = 1;
const MAKESPAN = 2;
const OPERATORS = 3;
const OOM_ACCELERATOR = 4;
const OOM_AT = 5;
const OOM_OPERATOR = 6;
const OOM_TRANSFER = 7;
const OOM_OVER = 8;

/** The simulator has just run it. */
export function writeResult(records: Float64Array, candidate: number, result: SimulationResult, from: Simulator): void {
  const at = RECORD * candidate;
  records[at + OUTCOME] = OUTCOMES.indexOf(result.outcome);
  records[at + SCORE] = result.scoreNs;
  records[at + MAKESPAN] = result.makespanNs;
  records[at + OPERATORS] = result.simulatedOperators;
  const outOfMemory = from.outOfMemory();
  if (outOfMemory === null) return;
  records[at + OOM_ACCELERATOR] = outOfMemory.accelerator;
  records[at + OOM_AT] = outOfMemory.atNs;
  records[at + OOM_OPERATOR] = outOfMemory.operator;
  records[at + OOM_TRANSFER] = outOfMemory.transfer;
  records[at + OOM_OVER] = outOfMemory.bytesOver;
}

export function writeFailure(records: Float64Array, candidate: number): void {
  records[RECORD * candidate + OUTCOME] = OUTCOMES.indexOf("failed");
}

/** @param errors By candidate, of those that failed. */
export function readResults(
  records: Float64Array,
  count: number,
  errors: ReadonlyMap<number, WrittenError>,
): RoundResult {
  const candidates: CandidateResult[] = [];
  let best = -1;
  let bestNs = Number.POSITIVE_INFINITY;
  for (let candidate = 0; candidate < count; candidate++) {
    const result = readResult(records, RECORD * candidate, errors.get(candidate));
    candidates.push(result);
    const { outcome, scoreNs } = result;
    if (outcome !== "finished" || scoreNs === null || !(scoreNs < bestNs)) continue;
    best = candidate;
    bestNs = scoreNs;
  }
  return { candidates, best };
}

function readResult(records: Float64Array, at: number, written: WrittenError | undefined): CandidateResult {
  const word = (index: number) => records[at + index] as number;
  const outcome = OUTCOMES[word(OUTCOME)] ?? "failed";
  const error = written === undefined ? null : readError(written);
  const hasResult = outcome !== "abandoned" && outcome !== "failed";
  return {
    outcome,
    scoreNs: hasResult ? word(SCORE) : null,
    makespanNs: hasResult ? word(MAKESPAN) : null,
    simulatedOperators: hasResult ? word(OPERATORS) : null,
    outOfMemory:
      outcome !== "outOfMemory"
        ? null
        : {
            accelerator: word(OOM_ACCELERATOR),
            atNs: word(OOM_AT),
            operator: word(OOM_OPERATOR) as SimOperator | -1,
            transfer: word(OOM_TRANSFER),
            bytesOver: word(OOM_OVER),
          },
    error,
  };
}

/** Of an error of another kind only the words can be told. */
export function writtenError(error: unknown): WrittenError {
  if (error instanceof SimulatorError) return { code: error.code, message: error.message, details: error.details };
  const { name, message } = error instanceof Error ? error : { name: typeof error, message: String(error) };
  return {
    code: "CANDIDATE_FAILED",
    message: `the simulator could not go on: ${name}: ${message}; this is a fault of the simulator`,
    details: { name },
  };
}

export function readError({ code, message, details }: WrittenError): SimulatorError {
  return new SimulatorError(code, message, details);
}
