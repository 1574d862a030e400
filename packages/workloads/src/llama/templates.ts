/**
 * One forward pass of a Llama-like model as graph templates: a prefill of `tokens`, its continuation by a further piece of the
 * prompt, and a decode step after `past` tokens.
 */
import type { ClusterSpec, OperatorSpec, TemplateSpec, TensorSpec } from "@slicescheduler/gmg";
import { InvalidOptionError } from "../errors.ts";
import { pipelinePartitions } from "./partitions.ts";
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
} from "./shape.ts";

export interface LlamaOptions {
  /** Whose accelerators the partitions name. */
  readonly cluster: ClusterSpec;
  /** Default Llama 3 8B. */
  readonly shape?: LlamaShape;
  /** Layers in one operator, a divisor of the shape's layers. Default 8. */
  readonly layersPerOperator?: number;
  /** Accelerators per candidate pipeline. Default pairs and quads, `[2, 4]`. */
  readonly partitionSizes?: readonly number[];
  /** Default `"llama3-8b/prefill"`, `"…/extend"` or `"…/decode"`; two templates of one scheduler need two names. */
  readonly name?: string;
}

export type PrefillSpec = TemplateSpec<"tokens", never, "kv" | "token">;
export type ExtendSpec = TemplateSpec<"tokens" | "past", "kv", "kv" | "token">;
export type DecodeSpec = TemplateSpec<"past", "kv" | "token", "kv" | "token">;

/**
 * Prefill of `tokens` prompt tokens (at least 1). Outputs: `kv`, one tensor per operator, and `token`, the first output
 * token. Its prompt comes with the request, from outside the graph. Errors: INVALID_OPTION.
 */
export function llamaPrefill(options: LlamaOptions): PrefillSpec {
  const plan = planOf(options);
  return {
    name: options.name ?? `${plan.shape.name}/prefill`,
    symbols: ["tokens"],
    operators: plan.groups.map((group) => operatorOf(plan, group, prefillPass)),
    outputs: outputsOf(plan),
    partitions: pipelinePartitions(options.cluster, plan.groups.length, options.partitionSizes),
  };
}

/**
 * Prefill of `tokens` further prompt tokens (at least 1) after `past` that are in the KV cache (at least 1), so that a long prompt is
 * worked off in pieces. Input `kv` is that of the piece before, continued in place. Its `token` counts after the last piece only.
 * Errors: INVALID_OPTION.
 */
export function llamaExtend(options: LlamaOptions): ExtendSpec {
  const plan = planOf(options);
  return {
    name: options.name ?? `${plan.shape.name}/extend`,
    symbols: ["tokens", "past"],
    inputs: { kv: plan.groups.map(() => kvTensor(plan, "past")) },
    operators: plan.groups.map((group) => operatorOf(plan, group, extendPass)),
    outputs: outputsOf(plan),
    partitions: pipelinePartitions(options.cluster, plan.groups.length, options.partitionSizes),
  };
}

/**
 * One decode step with `past` tokens in the KV cache (at least 1). Inputs `kv` and `token` are the same outputs of the
 * prefill or of the step before; each operator continues its part of `kv` in place by one token. Errors: INVALID_OPTION.
 */
export function llamaDecode(options: LlamaOptions): DecodeSpec {
  const plan = planOf(options);
  return {
    name: options.name ?? `${plan.shape.name}/decode`,
    symbols: ["past"],
    inputs: { kv: plan.groups.map(() => kvTensor(plan, "past")), token: tokenTensor },
    operators: plan.groups.map((group) => operatorOf(plan, group, decodePass)),
    outputs: outputsOf(plan),
    partitions: pipelinePartitions(options.cluster, plan.groups.length, options.partitionSizes),
  };
}

interface Plan {
  readonly shape: LlamaShape;
  readonly layersPerOperator: number;
  readonly groups: readonly Group[];
}

/** The layers of one operator. */
interface Group {
  readonly index: number;
  readonly name: string;
  readonly firstLayer: number;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** What differs between the templates: expressions over their symbols. */
interface Pass {
  readonly newTokens: string;
  readonly cachedTokens: string;
  readonly continuesKv: boolean;
  /** Whether it starts from the token of the pass before; a prompt comes from outside the graph. */
  readonly readsToken: boolean;
  /** Pairs of tokens that attend, new to cached; of a prefill each token sees half of the prompt on average. */
  readonly attentionPairs: string;
}

const prefillPass: Pass = {
  newTokens: "tokens",
  cachedTokens: "tokens",
  continuesKv: false,
  readsToken: false,
  attentionPairs: "ceilDiv(tokens * tokens, 2)",
};
const extendPass: Pass = {
  newTokens: "tokens",
  cachedTokens: "(past + tokens)",
  continuesKv: true,
  readsToken: false,
  attentionPairs: "(tokens * past + ceilDiv(tokens * tokens, 2))",
};
const decodePass: Pass = {
  newTokens: "1",
  cachedTokens: "(past + 1)",
  continuesKv: true,
  readsToken: true,
  attentionPairs: "(past + 1)",
};

const tokenTensor: TensorSpec = { shape: [1], dtype: "int64" };

function planOf(options: LlamaOptions): Plan {
  const { shape = llama3_8b, layersPerOperator = 8 } = options;
  if (!Number.isInteger(layersPerOperator) || layersPerOperator < 1 || shape.layers % layersPerOperator !== 0) {
    throw new InvalidOptionError("layersPerOperator", layersPerOperator, `a divisor of ${shape.layers} layers`);
  }
  const count = shape.layers / layersPerOperator;
  const groups = Array.from({ length: count }, (_, index) => ({
    index,
    name: `layers${index * layersPerOperator}-${(index + 1) * layersPerOperator - 1}`,
    firstLayer: index * layersPerOperator,
    isFirst: index === 0,
    isLast: index === count - 1,
  }));
  return { shape, layersPerOperator, groups };
}

function operatorOf(plan: Plan, group: Group, pass: Pass): OperatorSpec {
  const { shape, layersPerOperator } = plan;
  const before = plan.groups[group.index - 1];
  const inputs: string[] = [];
  if (before !== undefined) inputs.push(`${before.name}.hidden`);
  if (before === undefined && pass.readsToken) inputs.push("token");
  const kvInput = `kv[${group.index}]`;
  if (pass.continuesKv) inputs.push(kvInput);
  const kv = kvTensor(plan, pass.cachedTokens);
  const weights = weightsOf(plan, group);
  const weightBytes = Object.values(weights).reduce((a, b) => a + b, 0);
  const logitsBytes = group.isLast ? shape.vocabulary * 4 : 0;
  const headFlops = group.isLast ? embeddingBytes(shape) : 0;
  const kvBytes = layersPerOperator * kvBytesPerTokenLayer(shape);
  const linearFlops = layersPerOperator * layerFlopsPerToken(shape);
  const attentionFlops = layersPerOperator * attentionFlopsPerPair(shape);
  // The embedding is a lookup of a few rows: it is resident, but not read through.
  const readBytes = weightBytes - (group.isFirst ? embeddingBytes(shape) : 0);
  return {
    name: group.name,
    inputs,
    outputs: {
      ...(group.isLast
        ? { token: tokenTensor }
        : { hidden: { shape: [pass.newTokens, shape.hidden], dtype: "bfloat16" } }),
      kv: pass.continuesKv ? { ...kv, aliases: kvInput } : kv,
    },
    workspaceBytes: `${pass.newTokens} * ${workspaceBytesPerToken(shape)} + ${logitsBytes}`,
    weights,
    flops: `${pass.newTokens} * ${linearFlops} + ${pass.attentionPairs} * ${attentionFlops} + ${headFlops}`,
    movedBytes: `${readBytes} + ${pass.cachedTokens} * ${kvBytes} + ${pass.newTokens} * ${2 * activationBytesPerToken(shape)}`,
  };
}

/** Keys and values of one operator's layers. */
function kvTensor(plan: Plan, tokens: string): TensorSpec {
  const { shape, layersPerOperator } = plan;
  return { shape: [tokens, layersPerOperator, 2, shape.kvHeads, shape.headDim], dtype: "bfloat16" };
}

/**
 * Named after the model and the single layer only, so that all templates and partitions share one residency, those with other
 * numbers of layers per operator included.
 */
function weightsOf(plan: Plan, group: Group): Record<string, number> {
  const { shape, layersPerOperator } = plan;
  const layers = Array.from({ length: layersPerOperator }, (_, i) => group.firstLayer + i);
  return {
    ...Object.fromEntries(layers.map((layer) => [`${shape.name}/layer${layer}`, layerWeightBytes(shape)])),
    ...(group.isFirst ? { [`${shape.name}/embedding`]: embeddingBytes(shape) } : {}),
    ...(group.isLast ? { [`${shape.name}/head`]: embeddingBytes(shape) } : {}),
  };
}

function outputsOf(plan: Plan): { kv: string[]; token: string } {
  const last = plan.groups[plan.groups.length - 1];
  return { kv: plan.groups.map((group) => `${group.name}.kv`), token: `${last?.name}.token` };
}
