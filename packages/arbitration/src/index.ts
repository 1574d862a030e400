export { Arbiter } from "./arbiter.ts";
export { ArbitrationError, type ArbitrationErrorCode, type ArbitrationErrorDetails } from "./errors.ts";
export { IntentQueue, MAX_PENDING_INTENTS } from "./intent-queue.ts";
export {
  DEFAULT_AGING_NS,
  DEFAULT_DEADLINE_FACTOR,
  DEFAULT_DEADLINE_MIN_NS,
  DEFAULT_RESERVE_NS,
} from "./options.ts";
export { PortTable } from "./port-table.ts";
export type { PortKind, PortName } from "./routes.ts";
export type {
  ArbiterState,
  ArbitrationOptions,
  Intent,
  LiveState,
  MoveRecord,
  Quarantined,
  Selection,
  Topology,
  TransferMove,
  TransferState,
  TransferView,
  WaitingFor,
  WaitingReport,
} from "./types.ts";
