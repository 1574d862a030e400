export type { Binding } from "./binding.ts";
export {
  InvalidSymbolValueError,
  NegativeDimensionError,
  UnboundSymbolError,
  UndefinedDimensionError,
  UnknownSymbolError,
} from "./binding-errors.ts";
export type { MemoryNeed } from "./bounds.ts";
export { ClaimBook, type MemorySafety } from "./claims.ts";
export { type Cluster, type CompiledAccelerator, compileCluster, roundUpBytes } from "./cluster.ts";
export { DTYPES, dtypeBytes, isDtype } from "./dtype.ts";
export {
  BytesOverflowError,
  ClusterInvalidError,
  type Fault,
  GmgError,
  InvariantBrokenError,
  LedgerStateInvalidError,
  NoRouteError,
  TemplateInvalidError,
  UnknownAcceleratorError,
  ValidationError,
} from "./errors.ts";
export { compileExpression, EXPRESSION_DEPTH_MAX, EXPRESSION_FUNCTIONS, EXPRESSION_LENGTH_MAX } from "./expression.ts";
export { ExpressionError, type ExpressionValueCode, ExpressionValueError } from "./expression-errors.ts";
export type { Program } from "./expression-program.ts";
export { compareUrgency, Frontier } from "./frontier.ts";
export type { Shortage } from "./grants.ts";
export { GlobalMappingGraph } from "./graph.ts";
export { IllegalMoveError, SubmissionError, type SubmissionErrorCode } from "./graph-errors.ts";
export {
  type Availability,
  type GraphCounts,
  type GraphEffects,
  isInDoubt,
  type Outcome,
  type PlacementOption,
} from "./graph-state.ts";
export type { OutputReference, Submission } from "./insert.ts";
export type { IssuedOperator } from "./issue.ts";
export {
  type LedgerBuffer,
  type LedgerOptions,
  ResidencyLedger,
  type ResidencyReasons,
  type ResidentCopy,
} from "./ledger.ts";
export { LedgerError, type LedgerErrorCode, MemoryExceededError, WeightsMismatchError } from "./ledger-errors.ts";
export type { LedgerAccelerator } from "./ledger-memory.ts";
export type { LedgerAcceleratorState, LedgerState } from "./ledger-state.ts";
export type {
  InstanceNode,
  OperatorNode,
  RequestId,
  RequestNode,
  TensorCopy,
  TensorNode,
  TransferNode,
} from "./nodes.ts";
export type { RequestOpening } from "./opening.ts";
export { instancesBehind } from "./quarantine.ts";
export type {
  BufferRow,
  Columns,
  CopyRow,
  GraphSnapshot,
  HistoryRow,
  InstanceRow,
  LedgerCopyRow,
  LedgerRow,
  OperatorsSnapshot,
  OriginRow,
  RequestRow,
  Runs,
  SnapshotCounters,
  SymbolRow,
  TensorsSnapshot,
  TransferRow,
} from "./snapshot.ts";
export { EffectsPendingError, GraphStateInvalidError } from "./snapshot-errors.ts";
export {
  type CompiledOperator,
  type CompiledOutput,
  type CompiledPartition,
  compileTemplate,
  defineTemplate,
  type OperatorInput,
  type Template,
  type TemplateInput,
  type TemplateOutput,
  type TemplateTensor,
} from "./template.ts";
export type * from "./types.ts";
