/** The shape of a Llama-like decoder, as far as scheduling needs it. */
export interface LlamaShape {
  readonly name: string;
  readonly layers: number;
  readonly hidden: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly intermediate: number;
  readonly vocabulary: number;
}

/** Llama 3 8B. In bfloat16: 436,224,000 B of weights a layer, embedding and head 1,050,673,152 B each, KV 4,096 B a token and layer. */
export const llama3_8b: LlamaShape = {
  name: "llama3-8b",
  layers: 32,
  hidden: 4096,
  kvHeads: 8,
  headDim: 128,
  intermediate: 14336,
  vocabulary: 128256,
};

const elementBytes = 2;

/** Weights of one decoder layer: attention, MLP and two norms. */
export function layerWeightBytes(shape: LlamaShape): number {
  const kvWidth = shape.kvHeads * shape.headDim;
  const attention = 2 * shape.hidden * shape.hidden + 2 * shape.hidden * kvWidth;
  const mlp = 3 * shape.hidden * shape.intermediate;
  return (attention + mlp + 2 * shape.hidden) * elementBytes;
}

/** Weights of the embedding, and as many of the head. */
export function embeddingBytes(shape: LlamaShape): number {
  return shape.vocabulary * shape.hidden * elementBytes;
}

/** Bytes one token adds to the KV cache of one layer. */
export function kvBytesPerTokenLayer(shape: LlamaShape): number {
  return 2 * shape.kvHeads * shape.headDim * elementBytes;
}

/** Bytes of one token's activation between operators. */
export function activationBytesPerToken(shape: LlamaShape): number {
  return shape.hidden * elementBytes;
}

/** Intermediate results one token needs while an operator runs: gate and up projections of one layer. */
export function workspaceBytesPerToken(shape: LlamaShape): number {
  return 2 * shape.intermediate * elementBytes;
}

/** Floating-point operations of one token in one layer, attention over the cache apart. */
export function layerFlopsPerToken(shape: LlamaShape): number {
  return layerWeightBytes(shape);
}

/** Floating-point operations of one token attending to one cached token in one layer: scores and values. */
export function attentionFlopsPerPair(shape: LlamaShape): number {
  return 4 * shape.hidden;
}
