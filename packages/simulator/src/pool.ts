/** Candidates evaluated on worker threads; the one part of this package that needs Node.js. */
export type { CandidateResult, RoundResult } from "./pool/results.ts";
export { Round } from "./pool/round.ts";
export { RoundEvaluator, type RoundLimit } from "./pool/round-evaluator.ts";
export { type PoolLimit, SimulatorPool, type SimulatorPoolOptions } from "./pool/simulator-pool.ts";
