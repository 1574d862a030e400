import type { Dtype } from "@slicescheduler/templates";
import { LibtorchError } from "../programs/errors.ts";
import type { WeightsSource } from "../weights/types.ts";
import { checkShape } from "./check.ts";
import { dtypeOf, groupsOf, type WeightsUnit, weightsOf } from "./plan.ts";
import type { LlamaShape } from "./shape.ts";

/**
 * Random weights for a model of that shape: equal seeds make equal weights. Matrices have a standard deviation of 1 ÷ √inputs, so that activations neither grow
 * nor vanish; norms are 1. Errors: INVALID_OPTION.
 * @returns By the names that the templates declare.
 */
export function seededLlamaWeights(shape: LlamaShape, seed: number): Record<string, WeightsSource> {
  return sources(shape, ({ tensors }, index) => ({
    seed: seed * 65_536 + index,
    tensors: Object.fromEntries(tensors.map(({ name, shape: sizes }) => [name, drawn(sizes, dtypeOf(shape))])),
  }));
}

function drawn(
  sizes: readonly number[],
  dtype: Dtype,
): { shape: readonly number[]; dtype: Dtype; std?: number; fill?: number } {
  const [, inputs] = sizes;
  return inputs === undefined ? { shape: sizes, dtype, fill: 1 } : { shape: sizes, dtype, std: 1 / Math.sqrt(inputs) };
}

/** Where a checkpoint has its tensors, which are asked for by their names in the published checkpoints of the family: `model.layers.0.self_attn.q_proj.weight`, … */
export interface LlamaCheckpoint {
  /** The safetensors file that has a tensor; of a layer all are in one file. */
  readonly fileOf: (tensor: string) => string;
  /** A tensor's name in its file. Default: the same. A model whose head is its embedding says so here. */
  readonly nameOf?: (tensor: string) => string;
}

/**
 * Weights of a checkpoint. Errors: INVALID_OPTION, also where a layer is spread over several files.
 * @returns By the names that the templates declare.
 */
export function safetensorsLlamaWeights(shape: LlamaShape, checkpoint: LlamaCheckpoint): Record<string, WeightsSource> {
  const { fileOf, nameOf = (tensor) => tensor } = checkpoint;
  return sources(shape, ({ name, tensors }) => {
    const files = [...new Set(tensors.map((tensor) => fileOf(tensor.name)))];
    const [file] = files;
    if (file === undefined || files.length > 1) {
      const message = `the weights ${JSON.stringify(name)} are spread over ${files.join(", ")}; put those of a layer into one file`;
      throw new LibtorchError("INVALID_OPTION", message);
    }
    return { safetensors: file, tensors: Object.fromEntries(tensors.map((it) => [it.name, nameOf(it.name)])) };
  });
}

function sources(
  shape: LlamaShape,
  sourceOf: (unit: WeightsUnit, index: number) => WeightsSource,
): Record<string, WeightsSource> {
  checkShape(shape);
  const units = groupsOf(shape, 1).flatMap((group) => weightsOf(shape, group));
  return Object.fromEntries(units.map((unit, index) => [unit.name, sourceOf(unit, index)]));
}
