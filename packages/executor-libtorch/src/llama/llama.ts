export { llamaDirectSteps } from "./direct-steps.ts";
export { defineLlama, type LlamaModel, llamaModel, type ProgramRegistry } from "./model.ts";
export { llamaPartitions } from "./partitions.ts";
export { type BuiltProgram, type Extent, type Operand, ProgramBuilder, type Value } from "./program-builder.ts";
export type { LlamaShape } from "./shape.ts";
export { Size } from "./size.ts";
export {
  type LlamaDecodeSpec,
  type LlamaExtendSpec,
  type LlamaOptions,
  type LlamaPass,
  type LlamaPrefillSpec,
  llamaDecode,
  llamaExtend,
  llamaPrefill,
} from "./templates.ts";
export { type LlamaCheckpoint, safetensorsLlamaWeights, seededLlamaWeights } from "./weights.ts";
