export { type CoreBackend, ExecutorCore, type StartedTransfer } from "./core.ts";
export { ExecutorError, type ExecutorErrorCode } from "./errors.ts";
export { AcceleratorQueue, type QueuedOperator, type QueueStart } from "./queue.ts";
export type { AcceleratorStats, ExecutorLeftovers, ExecutorStats, IgnoredCounts } from "./report.ts";
export { SimulatedTime, type SimulatedTimeOptions, type TimeOrder } from "./simulated-time.ts";
export { QUEUE_MOVES, type QueueState, TRANSFER_MOVES, type TransferState } from "./states.ts";
export type * from "./types.ts";
export {
  VirtualExecutor,
  type VirtualExecutorOptions,
  type VirtualOperator,
  type VirtualTransfer,
  virtualExecutor,
} from "./virtual-executor.ts";
