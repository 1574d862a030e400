import type { Dtype } from "@slicescheduler/templates";

/** Sizes of a Llama-like decoder: grouped-query attention, rotary embedding, SwiGLU, no biases. */
export interface LlamaShape {
  /** Prefix of the names of its templates and weights. */
  readonly name: string;
  readonly layers: number;
  readonly hidden: number;
  /** Query heads, a multiple of `kvHeads`. */
  readonly heads: number;
  readonly kvHeads: number;
  /** Elements of a head, even. */
  readonly headDim: number;
  readonly intermediate: number;
  readonly vocabulary: number;
  /** Base of the rotary embedding's wavelengths. Default 10,000. */
  readonly ropeTheta?: number;
  /** Default 1e-5. */
  readonly normEpsilon?: number;
  /** Of weights, activations and KV cache. Default float32. */
  readonly dtype?: Extract<Dtype, "float32" | "float16" | "bfloat16">;
}

/** One of the weight matrices or norms of a model, by the name that it has in a checkpoint. */
export interface WeightTensor {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Of one decoder layer, by role. */
export type LayerTensors = {
  readonly attentionNorm: WeightTensor;
  readonly query: WeightTensor;
  readonly key: WeightTensor;
  readonly value: WeightTensor;
  readonly attentionOutput: WeightTensor;
  readonly mlpNorm: WeightTensor;
  readonly gate: WeightTensor;
  readonly up: WeightTensor;
  readonly down: WeightTensor;
};

/** The tensors of a layer; matrices are [outputs, inputs]. */
export function layerTensors(shape: LlamaShape, layer: number): LayerTensors {
  const { hidden, intermediate, headDim } = shape;
  const queries = shape.heads * headDim;
  const keys = shape.kvHeads * headDim;
  const tensor = (name: string, ...sizes: number[]): WeightTensor => ({
    name: `model.layers.${layer}.${name}.weight`,
    shape: sizes,
  });
  return {
    attentionNorm: tensor("input_layernorm", hidden),
    query: tensor("self_attn.q_proj", queries, hidden),
    key: tensor("self_attn.k_proj", keys, hidden),
    value: tensor("self_attn.v_proj", keys, hidden),
    attentionOutput: tensor("self_attn.o_proj", hidden, queries),
    mlpNorm: tensor("post_attention_layernorm", hidden),
    gate: tensor("mlp.gate_proj", intermediate, hidden),
    up: tensor("mlp.up_proj", intermediate, hidden),
    down: tensor("mlp.down_proj", hidden, intermediate),
  };
}

export function embeddingTensor(shape: LlamaShape): WeightTensor {
  return { name: "model.embed_tokens.weight", shape: [shape.vocabulary, shape.hidden] };
}

export function headTensors(shape: LlamaShape): { readonly norm: WeightTensor; readonly head: WeightTensor } {
  return {
    norm: { name: "model.norm.weight", shape: [shape.hidden] },
    head: { name: "lm_head.weight", shape: [shape.vocabulary, shape.hidden] },
  };
}

export function elements(tensors: Iterable<WeightTensor>): number {
  let sum = 0;
  for (const { shape } of tensors) sum += shape.reduce((product, size) => product * size, 1);
  return sum;
}
