export { type BoundInput, type BoundInstance, homeOf, instanceNeed, limitsNeed, type MemoryNeed } from "./bounds.ts";
export { addInto, maxInto } from "./byte-vectors.ts";
export type { SparseNeed } from "./claim-needs.ts";
export type { ClaimingInstance, ClaimingRequest, SharedBuffer } from "./claimants.ts";
export { type Claim, ClaimBook, type MemorySafety } from "./claims.ts";
export type { Moment } from "./cover-order.ts";
export type { GrantHolder, Shortage } from "./grants.ts";
export {
  type LedgerBuffer,
  type LedgerOptions,
  ResidencyLedger,
  type ResidencyReasons,
  type ResidentCopy,
} from "./ledger.ts";
export {
  LedgerError,
  type LedgerErrorCode,
  LedgerStateInvalidError,
  MemoryExceededError,
  WeightsMismatchError,
} from "./ledger-errors.ts";
export type { LedgerAccelerator, TensorId } from "./ledger-memory.ts";
export type { LedgerAcceleratorState, LedgerState } from "./ledger-state.ts";
export { type Holder, type Stuck, safeOrder } from "./safe-order.ts";
