export type { Refusal } from "./application.ts";
export { assertAtRest, assertWithinCapacity } from "./at-rest.ts";
export { type ClusterOptions, clusters } from "./clusters.ts";
export { type Delays, delayedExecutor, delays } from "./delayed-executor.ts";
export { DeviceBooks } from "./device-books.ts";
export { type DurationOptions, type Durations, durations, operatorNs } from "./durations.ts";
export { type Faults, faults, InjectedFault, noFaults } from "./faults.ts";
export { InvariantViolation } from "./invariant-violation.ts";
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
