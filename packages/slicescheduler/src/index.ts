export { type CoreCounts, type CoreOptions, MasterCore } from "./core.ts";
export {
  InstanceCancelledError,
  InstanceFailedError,
  InvalidOptionsError,
  type OverdueTransfer,
  SliceSchedulerError,
  TimedOutError,
  TransferOverdueError,
} from "./errors.ts";
export type { ApplicationEvent, MasterEvent, Notice, Notices, Reaction } from "./events.ts";
export type { Explanation, OperatorExplanation } from "./explain.ts";
export type {
  InputsOf,
  InstanceHandle,
  InstanceResult,
  OpenRequestOptions,
  OutputHandle,
  OutputsOf,
  RequestHandle,
  RequestOptions,
  SubmitOptions,
  SymbolsOf,
  TemplateHandle,
} from "./handles.ts";
export type { HealthOptions } from "./health.ts";
export { METRICS } from "./metrics-catalogue.ts";
export type {
  HistogramDefinition,
  MetricDefinition,
  MetricsOptions,
  MetricsSink,
  Recorder,
  Series,
} from "./metrics-sink.ts";
export type { SliceSchedulerOptions } from "./options.ts";
export type {
  Overview,
  OverviewAccelerator,
  OverviewOptions,
  OverviewTransfer,
  QueuedOperator,
  WaitingOperator,
} from "./overview.ts";
export { SliceScheduler } from "./slice-scheduler.ts";
export type { MasterStats } from "./stats.ts";
export {
  type AffectedInstance,
  type Plan,
  type PlanOptions,
  type PredictedInstance,
  planAhead,
  type Refusal,
  type WhatIf,
  whatIf,
} from "./what-if.ts";
