import { type Dtype, dtypeBytes } from "@slicescheduler/templates";
import { elements, embeddingTensor, headTensors, type LlamaShape, layerTensors, type WeightTensor } from "./shape.ts";
import { Size } from "./size.ts";

/** The layers of one operator. */
export interface Group {
  readonly index: number;
  /** The operator's name. */
  readonly name: string;
  readonly layers: readonly number[];
  /** It begins with the embedding. */
  readonly isFirst: boolean;
  /** It ends with the head. */
  readonly isLast: boolean;
}

/** The operators of a model, in order; `layersPerOperator` divides its layers. */
export function groupsOf(shape: LlamaShape, layersPerOperator: number): Group[] {
  const count = shape.layers / layersPerOperator;
  return Array.from({ length: count }, (_group, index) => {
    const first = index * layersPerOperator;
    const layers = Array.from({ length: layersPerOperator }, (_layer, i) => first + i);
    const name = layersPerOperator === 1 ? `layer${first}` : `layers${first}-${first + layersPerOperator - 1}`;
    return { index, name, layers, isFirst: index === 0, isLast: index === count - 1 };
  });
}

/** What is resident together under one name: a layer, the embedding or the head, so that all templates and groupings of a model share it. */
export interface WeightsUnit {
  readonly name: string;
  readonly tensors: readonly WeightTensor[];
  readonly bytes: number;
}

/** The weights of a group, in the order in which they are read. */
export function weightsOf(shape: LlamaShape, group: Group): WeightsUnit[] {
  const unit = (name: string, tensors: readonly WeightTensor[]): WeightsUnit => ({
    name: `${shape.name}/${name}`,
    tensors,
    bytes: elements(tensors) * dtypeBytes(dtypeOf(shape)),
  });
  return [
    ...(group.isFirst ? [unit("embedding", [embeddingTensor(shape)])] : []),
    ...group.layers.map((layer) => unit(`layer${layer}`, Object.values<WeightTensor>(layerTensors(shape, layer)))),
    ...(group.isLast ? [unit("head", Object.values<WeightTensor>(headTensors(shape)))] : []),
  ];
}

export function dtypeOf(shape: LlamaShape): Dtype {
  return shape.dtype ?? "float32";
}

/** One pass over the model: what differs between a prefill, its continuation and a decode step. */
export interface Pass {
  readonly kind: "prefill" | "extend" | "decode";
  /** Tokens that go through, at least 1. */
  readonly tokens: Size;
  /** Tokens that are in the KV cache before. */
  readonly past: Size;
}

export const PASSES: Readonly<Record<Pass["kind"], Pass>> = {
  prefill: { kind: "prefill", tokens: Size.of("tokens"), past: Size.of(0) },
  extend: { kind: "extend", tokens: Size.of("tokens"), past: Size.of("past") },
  decode: { kind: "decode", tokens: Size.of(1), past: Size.of("past") },
};
