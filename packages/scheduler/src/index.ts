export { collectBatch } from "./batch.ts";
export { type BudgetOptions, IssueBudget } from "./budget.ts";
export { firstFit, simulationGuided } from "./policies.ts";
export { Predictor } from "./predictor.ts";
export { Scheduler, type SchedulerOptions } from "./scheduler.ts";
export type { SliceOptions } from "./slices.ts";
export type {
  Candidate,
  CandidateReport,
  Choice,
  Decision,
  NamedShortage,
  Placement,
  Round,
  SchedulingPolicy,
  WaitingReason,
} from "./types.ts";
