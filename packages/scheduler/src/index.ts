export { collectBatch } from "./batch.ts";
export { type BudgetOptions, IssueBudget } from "./budget.ts";
export { SchedulerError } from "./errors.ts";
export { firstFit, simulationGuided } from "./policies.ts";
export { Predictor } from "./predictor.ts";
export {
  type DurationModel,
  type PredictedShortage,
  Reconstruction,
  type ReconstructionOptions,
} from "./reconstruction.ts";
export { Scheduler, type SchedulerOptions, type UrgentLack } from "./scheduler.ts";
export type { SliceOptions } from "./slices.ts";
export type { QuotaReached, TenantOptions } from "./tenants.ts";
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
