export type { Refusal } from "./application.ts";
export { assertAtRest, assertWithinCapacity } from "./at-rest.ts";
export { CHAOS_KINDS, type ChaosKind, type ChaosWorld, chaosWorld } from "./chaos/chaos-world.ts";
export { CHAOS_PLANTS, type ChaosPlant, type ChaosReport, isChaosPlant, runChaos } from "./chaos/run-chaos.ts";
export { type ClusterOptions, clusters } from "./clusters.ts";
export { ConformanceFailure, type Finding } from "./conformance/failure.ts";
export { runExecutorConformance } from "./conformance/suite.ts";
export type { ConformanceBackend, ConformanceContext, ConformanceOptions } from "./conformance/types.ts";
export { type Delays, delayedExecutor, delays } from "./delayed-executor.ts";
export { DeviceBooks } from "./device-books.ts";
export { type DurationOptions, type Durations, durations, operatorNs } from "./durations.ts";
export { faults } from "./faults.ts";
export { InvariantViolation } from "./invariant-violation.ts";
export type { ArbiterLike, NewArbiter } from "./modelcheck/arbiter-twin.ts";
export { type WorldSet, worldChoices } from "./modelcheck/choices.ts";
export { type Exploration, type ExploreOptions, explore, type Found } from "./modelcheck/explore.ts";
export { MODEL_PLANTS, type ModelPlant } from "./modelcheck/model-plants.ts";
export { modelPlants, plantedWorld } from "./modelcheck/planted-worlds.ts";
export type { Channel, ModelFault, SmallWorld } from "./modelcheck/small-world.ts";
export { smallWorldOf, type WorldChoice } from "./modelcheck/small-worlds.ts";
export { canAllEnd, peakOverOrders, type SearchedInstance, type SearchedState } from "./orders.ts";
export { isPlant, PLANTS, type Plant } from "./plants.ts";
export { runSafety, type SafetyCounts, type SafetyReport } from "./run-safety.ts";
export { type Outcome, RunWatcher, type RunWatcherOptions } from "./run-watcher.ts";
export {
  type LogEntry,
  type QuietWorld,
  type RecordedEvent,
  type RunOptions,
  type RunReport,
  runWorkload,
} from "./run-workload.ts";
export { safetyWorld, safetyWorlds } from "./safety-world.ts";
export { judgeSmallCase, type SmallCaseReport } from "./small-cases.ts";
export { type Surprises, surprises } from "./surprises.ts";
export { type TemplateOptions, templates } from "./templates.ts";
export type { Violation, ViolationKind } from "./violation.ts";
export {
  type Workload,
  type WorkloadInstance,
  type WorkloadOptions,
  type WorkloadRequest,
  workloads,
} from "./workloads.ts";
export { arbitrations, schedulings, type WorldOptions, worlds } from "./worlds.ts";
