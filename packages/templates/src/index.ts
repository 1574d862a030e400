export type { Binding } from "./binding.ts";
export {
  InvalidSymbolValueError,
  NegativeDimensionError,
  UnboundSymbolError,
  UndefinedDimensionError,
  UnknownSymbolError,
} from "./binding-errors.ts";
export { type Cluster, type CompiledAccelerator, compileCluster, roundUpBytes } from "./cluster.ts";
export { DTYPES, dtypeBytes, isDtype } from "./dtype.ts";
export {
  BytesOverflowError,
  ClusterInvalidError,
  type Fault,
  GmgError,
  InvariantBrokenError,
  NoRouteError,
  TemplateInvalidError,
  UnknownAcceleratorError,
  ValidationError,
} from "./errors.ts";
export { compileExpression, EXPRESSION_DEPTH_MAX, EXPRESSION_FUNCTIONS, EXPRESSION_LENGTH_MAX } from "./expression.ts";
export { ExpressionError, type ExpressionValueCode, ExpressionValueError } from "./expression-errors.ts";
export type { Program } from "./expression-program.ts";
export {
  type CompiledOperator,
  type CompiledOutput,
  type CompiledPartition,
  compileTemplate,
  defineTemplate,
  type OperatorInput,
  partitionNamed,
  partitionsNamed,
  type Template,
  type TemplateInput,
  type TemplateOutput,
  type TemplateTensor,
} from "./template.ts";
export type * from "./types.ts";
