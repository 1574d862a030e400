export type { ExecutorAction, StartedTransfer } from "./actions.ts";
export { type PresentOperator, type PresentTransfer, type PresentWork, presentWork } from "./adopt.ts";
export { ExecutorCore } from "./core.ts";
export type { ExecutorCoreOptions, LostWork } from "./core-options.ts";
export {
  DEFAULT_FLOPS_PER_SECOND,
  DEFAULT_HBM_BYTES_PER_SECOND,
  linkTransferNs,
  rooflineOperatorNs,
  type VirtualOperator,
  type VirtualTransfer,
} from "./durations.ts";
export { ExecutorError, type ExecutorErrorCode } from "./errors.ts";
export type { EventOrder, EventTime, SimulatedTimer } from "./event-time.ts";
export type { SlowLink, VirtualFaults } from "./faults.ts";
export { FaultyLine, type MessageFaults, type StrikeByEvent } from "./faults-messages.ts";
export type { FaultCounts, FaultKind, FaultyTime, Strike } from "./faults-strike.ts";
export { Noise } from "./noise.ts";
export type { Outage } from "./outages.ts";
export { AcceleratorQueue, type QueuedOperator, type QueueStart } from "./queue.ts";
export { type HostTimers, RealTime, type RealTimeOptions } from "./real-time.ts";
export { EVENT_KIND, SimulatedTime, type SimulatedTimeOptions } from "./simulated-time.ts";
export { QUEUE_MOVES, type QueueState, TRANSFER_MOVES, type TransferState } from "./states.ts";
export type { AcceleratorStats, ExecutorStats, Leftovers } from "./stats.ts";
export { type PendingTransfer, TransferTable } from "./transfers.ts";
export type * from "./types.ts";
export { type VirtualExecutor, type VirtualExecutorOptions, virtualExecutor } from "./virtual.ts";
