export { type BatchedOutcome, type BatchedReplayOptions, replayBatched } from "./batched/driver.ts";
export { type BatchedComparison, compareBatched, type Interference, type SliceFigures } from "./batched/figures.ts";
export {
  type BatchedLane,
  type BatchedLaneGroup,
  type BatchedPolicy,
  type BatchedPolicyTerms,
  batchedPolicy,
  batchedPolicyNames,
} from "./batched/policies.ts";
export type { SequenceLengths } from "./batched/sequence.ts";
export { type ColocationClusterOptions, colocationCluster } from "./colocation/cluster.ts";
export {
  type ColocationDurations,
  type ColocationDurationsOptions,
  colocationDurations,
  operatorNoiseCv,
  transferNoiseCv,
} from "./colocation/durations.ts";
export {
  calibratedEfficiency,
  type Efficiency,
  type RooflineDurations,
  type RooflineDurationsOptions,
  rooflineDurations,
  rooflineSerialPasses,
} from "./colocation/roofline.ts";
export {
  type CheckFailure,
  EmptyWorkloadError,
  InvalidOptionError,
  LinksMissingError,
  ModelDoesNotFitError,
  ReplayCheckError,
  TraceError,
  type TraceFault,
  TraceFaultsError,
  UnknownPolicyError,
  WorkloadError,
  type WorkloadErrorCode,
} from "./errors.ts";
export { pipelinePartitions, spreadPartitions } from "./llama/partitions.ts";
export { type LlamaShape, llama3_8b } from "./llama/shape.ts";
export {
  type DecodeSpec,
  type ExtendSpec,
  type LlamaOptions,
  llamaDecode,
  llamaExtend,
  llamaPrefill,
  type PrefillSpec,
} from "./llama/templates.ts";
export { type Comparison, comparePolicies, type Ratios, type SloThreshold } from "./metrics/compare.ts";
export { medianComparison, type Range, type SeedsComparison, type Spread } from "./metrics/median.ts";
export { type Percentiles, percentileOfSorted, percentiles } from "./metrics/percentile.ts";
export { type PolicyResult, policyResult } from "./metrics/result.ts";
export { azureAttribution } from "./profiles/attribution.ts";
export { azure2023Profile } from "./profiles/azure-2023.ts";
export { type GeneratedTraces, generateTraces } from "./profiles/generate.ts";
export { measureProfile } from "./profiles/measure.ts";
export {
  type ProfileOptions,
  parseWorkloadProfile,
  profileTraceFile,
  readWorkloadProfile,
} from "./profiles/profile-trace.ts";
export type { ArrivalProfile, LengthProfile, WorkloadProfile } from "./profiles/types.ts";
export { fmix32, type Random, seededRandom } from "./random.ts";
export { colocationShare, idleSlicesShare, recipeB, recipeB48 } from "./recipes/b48.ts";
export { colocationOffline, type OfflineLoad, offlineRequests } from "./recipes/offline.ts";
export { type RecipeCOptions, recipeC, recipeCShare } from "./recipes/recipe-c.ts";
export { requestsByArrival, shortened, type Workload, type WorkloadRequest } from "./recipes/types.ts";
export { assertReplaySound, replayFailures } from "./replay/checks.ts";
export type { Disturbance } from "./replay/disturbance.ts";
export {
  type OpenReplay,
  openReplay,
  type ReplayDurations,
  type ReplayOptions,
  replay,
  type TenantNames,
} from "./replay/driver.ts";
export type { EngineListener, EngineRequest, EngineRequestOptions, ReplayEngine } from "./replay/engine.ts";
export { assertModelFits, type FitDemand } from "./replay/fit.ts";
export {
  assertPolicyRuns,
  fittingInstanceAccelerators,
  instanceSizes,
  type OfferedRequests,
} from "./replay/instance-size.ts";
export type { AcceleratorOutcome, ReplayOutcome } from "./replay/outcome.ts";
export { partitionNames } from "./replay/passes.ts";
export {
  assertPolicyKnown,
  type Lane,
  type LaneGroup,
  nearest,
  type PolicyTerms,
  policyNames,
  type ReplayPolicy,
  type ReplayScheduling,
  type RequestClass,
  replayPolicy,
} from "./replay/policy.ts";
export type { RequestOutcome, RequestRecord } from "./replay/records.ts";
export { type ReplayProgress, type RunnerOptions, runReplay, scheduleReplay } from "./replay/runner.ts";
export {
  type IdleSlices,
  type Interval,
  idleIntervals,
  idleOverlap,
  idleSlices,
  type SerialResult,
  type SerialServerOptions,
  serialTtftMs,
  serialUtilization,
  serveSerially,
} from "./serial/serial-server.ts";
export { parseAzureTrace, readAzureTrace } from "./traces/azure.ts";
export {
  type ConversionReport,
  type ConversionTarget,
  convertServeGen,
  convertTraceFile,
  type ServeGenConversion,
  type TraceConversion,
  type TraceSpelling,
  traceLines,
} from "./traces/convert.ts";
export { detectTraceFormat, type TraceColumns, type TraceFormat, traceFormats } from "./traces/formats.ts";
export { type TimeUnit, timeUnits } from "./traces/instant.ts";
export { type MooncakeRow, parseMooncakeTrace, readMooncakeTrace } from "./traces/mooncake.ts";
export { hasAzureTraces, readTracePair, type TracePair } from "./traces/pair.ts";
export { openTrace, parseTrace, type TraceCounts, type TraceReading } from "./traces/read-trace.ts";
export {
  type LengthDistribution,
  parseServeGenLengths,
  parseServeGenWindows,
  readServeGenLengths,
  readServeGenWindows,
  type ServeGenLengths,
  type ServeGenWindow,
} from "./traces/servegen.ts";
export { type ServeGenDraw, serveGenRequests } from "./traces/servegen-requests.ts";
export { type TraceWorkload, type TraceWorkloadOptions, traceWorkload } from "./traces/trace-workload.ts";
export type { TraceRequest, TraceRow } from "./traces/types.ts";
