/**
 * What the pool and its workers say to each other. A round's life:
 *
 * 1. the pool writes the round into an arena and posts a `WorkerTurn` to each worker it wants;
 * 2. each worker takes candidates from the counter until none is left, or the round is cancelled, and writes their records;
 * 3. it answers with one `WorkerAnswer`, and does not look at the arena again;
 * 4. the round is over when the answers account for all candidates; its arena is free when every worker has answered.
 */
import type { EvaluatorOptions } from "./evaluator.ts";
import type { WrittenError } from "./results.ts";
import type { WrittenRound } from "./round.ts";

/** Words of `WorkerTurn.control`. */
export const NEXT_CANDIDATE = 0;
export const CANCELLED = 1;
export const CONTROL_WORDS = 2;

export type WorkerOptions = EvaluatorOptions;

export interface WorkerTurn {
  readonly round: number;
  /** In shared memory, as is everything below. */
  readonly written: WrittenRound;
  readonly records: Float64Array;
  readonly control: Int32Array;
  readonly abandonAboveScore: number;
}

export interface WorkerAnswer {
  readonly round: number;
  /** Candidates whose records were written. */
  readonly taken: number;
  readonly errors: readonly (readonly [candidate: number, error: WrittenError])[];
  /** What is wrong with the base; no candidate was taken then. */
  readonly baseError: WrittenError | null;
}
