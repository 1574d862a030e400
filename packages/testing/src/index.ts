export type { Refusal } from "./application.ts";
export { assertAtRest, assertWithinCapacity } from "./at-rest.ts";
export { type ClusterOptions, clusters } from "./clusters.ts";
export { type DurationOptions, type Durations, durations, operatorNs } from "./durations.ts";
export { type Faults, faults, InjectedFault, noFaults } from "./faults.ts";
export { InvariantViolation } from "./invariant-violation.ts";
export { type Outcome, RunWatcher } from "./run-watcher.ts";
export {
  type LogEntry,
  type QuietWorld,
  type RecordedEvent,
  type RunOptions,
  type RunReport,
  runWorkload,
} from "./run-workload.ts";
export { type TemplateOptions, templates } from "./templates.ts";
export {
  type Workload,
  type WorkloadInstance,
  type WorkloadOptions,
  type WorkloadRequest,
  workloads,
} from "./workloads.ts";
export { arbitrations, schedulings, type WorldOptions, worlds } from "./worlds.ts";
