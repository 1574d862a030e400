/**
 * A batching engine as graph templates. `pool` makes the key-value cache of an engine, once; every step then continues it in
 * place, so the steps of an engine are a chain at each stage, in the order of their composition, and overlap between stages.
 *
 * There are four templates of a step. *Light* ones take the time in which the weights are read, *heavy* ones time by their tokens:
 * two laws, so two duration models. And a step that *awaits* another one's tokens takes them as an input.
 */
import type { OperatorSpec, PartitionSpec, TemplateSpec, TensorSpec } from "@slicescheduler/gmg";
import { InvalidOptionError } from "../errors.ts";
import {
  activationBytesPerToken,
  attentionFlopsPerPair,
  embeddingBytes,
  kvBytesPerTokenLayer,
  type LlamaShape,
  layerFlopsPerToken,
  layerWeightBytes,
  llama3_8b,
  workspaceBytesPerToken,
} from "../llama/shape.ts";

export interface BatchedTemplatesOptions {
  /** Tokens that the pool of one engine holds, at least 1. */
  readonly poolTokens: number;
  /** Where engines lie: pipelines for this many operators. */
  readonly partitions: readonly PartitionSpec[];
  /** Layers in one operator, a divisor of the shape's layers. */
  readonly layersPerOperator: number;
  /** Default Llama 3 8B. */
  readonly shape?: LlamaShape;
}

export type PoolSpec = TemplateSpec<never, never, "kv">;
/** `tokens`: new ones; `cachedTokens`: those of its sequences that the pool has already. */
export type StepSpec = TemplateSpec<"tokens" | "cachedTokens", "kv" | "token", "kv" | "token">;

export interface BatchedTemplates {
  readonly pool: PoolSpec;
  readonly light: StepVariants;
  readonly heavy: StepVariants;
}

interface StepVariants {
  /** All its tokens are known; `token` is no input of it. */
  readonly free: StepSpec;
  readonly awaiting: StepSpec;
}

/** The templates of all engines with so many layers in an operator. Errors: INVALID_OPTION. */
export function batchedTemplates(options: BatchedTemplatesOptions): BatchedTemplates {
  const { layersPerOperator, poolTokens, partitions, shape = llama3_8b } = options;
  if (!Number.isInteger(layersPerOperator) || layersPerOperator < 1 || shape.layers % layersPerOperator !== 0) {
    throw new InvalidOptionError("layersPerOperator", layersPerOperator, `a divisor of ${shape.layers} layers`);
  }
  if (!(Number.isSafeInteger(poolTokens) && poolTokens >= 1)) {
    throw new InvalidOptionError("poolTokens", poolTokens, "a whole number from 1");
  }
  const operators = shape.layers / layersPerOperator;
  const plan: Plan = { shape, layersPerOperator, poolTokens, operators };
  const prefix = `${shape.name}/batched${layersPerOperator}`;
  const step = (weight: "light" | "heavy", awaits: boolean): StepSpec => ({
    name: `${prefix}/${weight}${awaits ? "-awaiting" : ""}`,
    symbols: ["tokens", "cachedTokens"],
    inputs: {
      kv: stages(plan).map(() => poolTensor(plan)),
      ...(awaits ? { token: tokenTensor } : {}),
    } as NonNullable<StepSpec["inputs"]>,
    operators: stages(plan).map((stage) => stepOperator(plan, stage, `${prefix}/${weight}`, awaits)),
    outputs: { kv: poolOutputs(plan), token: `${nameOf(plan, operators - 1)}.token` },
    partitions,
  });
  return {
    pool: {
      name: `${prefix}/pool`,
      symbols: [],
      operators: stages(plan).map((stage) => ({ name: nameOf(plan, stage), outputs: { kv: poolTensor(plan) } })),
      outputs: { kv: poolOutputs(plan) },
      partitions,
    },
    light: { free: step("light", false), awaiting: step("light", true) },
    heavy: { free: step("heavy", false), awaiting: step("heavy", true) },
  };
}

/** The five of them, in the order of registration. */
export function allTemplates({ pool, light, heavy }: BatchedTemplates): readonly [PoolSpec, ...StepSpec[]] {
  return [pool, light.free, light.awaiting, heavy.free, heavy.awaiting];
}

interface Plan {
  readonly shape: LlamaShape;
  readonly layersPerOperator: number;
  readonly poolTokens: number;
  readonly operators: number;
}

/** The tokens a step made, as one number: they travel together, and what their journey takes is its latency. */
const tokenTensor: TensorSpec = { shape: [1], dtype: "int64" };

function stages({ operators }: Plan): number[] {
  return Array.from({ length: operators }, (_, index) => index);
}

function nameOf({ layersPerOperator }: Plan, index: number): string {
  return `layers${index * layersPerOperator}-${(index + 1) * layersPerOperator - 1}`;
}

function poolOutputs(plan: Plan): string[] {
  return stages(plan).map((index) => `${nameOf(plan, index)}.kv`);
}

/** Keys and values of one operator's layers. */
function poolTensor({ shape, layersPerOperator, poolTokens }: Plan): TensorSpec {
  return { shape: [poolTokens, layersPerOperator, 2, shape.kvHeads, shape.headDim], dtype: "bfloat16" };
}

function stepOperator(plan: Plan, index: number, durationModel: string, awaits: boolean): OperatorSpec {
  const { shape, layersPerOperator, operators } = plan;
  const isFirst = index === 0;
  const isLast = index === operators - 1;
  const name = nameOf(plan, index);
  const kvInput = `kv[${index}]`;
  const before = isFirst ? (awaits ? ["token"] : []) : [`${nameOf(plan, index - 1)}.hidden`];
  const weights = weightsOf(plan, index);
  // The embedding is a lookup of a few rows: it is resident, but not read through.
  const readBytes = Object.values(weights).reduce((a, b) => a + b, 0) - (isFirst ? embeddingBytes(shape) : 0);
  const linearFlops = layersPerOperator * layerFlopsPerToken(shape);
  const attentionFlops = layersPerOperator * attentionFlopsPerPair(shape);
  const logitsBytes = isLast ? shape.vocabulary * 4 : 0;
  return {
    name,
    inputs: [...before, kvInput],
    outputs: {
      ...(isLast ? { token: tokenTensor } : { hidden: { shape: ["tokens", shape.hidden], dtype: "bfloat16" } }),
      kv: { ...poolTensor(plan), aliases: kvInput },
    },
    workspaceBytes: `tokens * ${workspaceBytesPerToken(shape) + logitsBytes}`,
    weights,
    flops: `tokens * ${linearFlops} + cachedTokens * ${attentionFlops}`,
    movedBytes: `${readBytes} + cachedTokens * ${layersPerOperator * kvBytesPerTokenLayer(shape)} + tokens * ${2 * activationBytesPerToken(shape)}`,
    durationModel: `${durationModel}/${name}`,
  };
}

/** By layer, so that engines of different operators share one residency where they lie on the same accelerator. */
function weightsOf({ shape, layersPerOperator, operators }: Plan, index: number): Record<string, number> {
  const layers = Array.from({ length: layersPerOperator }, (_, layer) => index * layersPerOperator + layer);
  return {
    ...Object.fromEntries(layers.map((layer) => [`${shape.name}/layer${layer}`, layerWeightBytes(shape)])),
    ...(index === 0 ? { [`${shape.name}/embedding`]: embeddingBytes(shape) } : {}),
    ...(index === operators - 1 ? { [`${shape.name}/head`]: embeddingBytes(shape) } : {}),
  };
}
