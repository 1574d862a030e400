/** One pass of a Llama-like model as a graph template, with the programs of its operators. */
import {
  type Dimension,
  dtypeBytes,
  type OperatorSpec,
  type PartitionSpec,
  type TemplateSpec,
} from "@slicescheduler/templates";
import type { Program } from "../programs/types.ts";
import { checkLlamaOptions } from "./check.ts";
import { kvShape, passProgram } from "./pass-program.ts";
import { dtypeOf, type Group, groupsOf, PASSES, type Pass, weightsOf } from "./plan.ts";
import type { LlamaShape } from "./shape.ts";
import type { Size } from "./size.ts";

export interface LlamaOptions {
  readonly shape: LlamaShape;
  /** Layers in one operator, a divisor of the shape's layers. Default 1. */
  readonly layersPerOperator?: number;
  /** Where it may be laid; see `llamaPartitions`. */
  readonly partitions: readonly PartitionSpec[];
  /**
   * Added to the workspace of each operator, an expression over its symbols or a number. In float16 and bfloat16 matrix products may take scratch of their
   * own (on CPUs copies of what they multiply, padded), which `onObserved` tells; in float32 on CPUs they take none. Default 0.
   */
  readonly extraWorkspaceBytes?: Dimension;
  /** Hand out the logits of the last token as `logits` beside `token`. Default false. */
  readonly fetchLogits?: boolean;
}

/** A template and the program of each of its operators by name. */
export interface LlamaPass<Spec extends TemplateSpec> {
  readonly template: Spec;
  readonly programs: Readonly<Record<string, Program>>;
}

export type LlamaPrefillSpec = TemplateSpec<"tokens" | "capacity", never, "kv" | "token">;
export type LlamaExtendSpec = TemplateSpec<"tokens" | "past" | "capacity", "kv", "kv" | "token">;
export type LlamaDecodeSpec = TemplateSpec<"past" | "capacity", "kv" | "token", "kv" | "token">;

/**
 * Prefill of `tokens` prompt tokens (at least 1), which the host feeds as `prompt`, int64 [tokens]. Outputs: `kv`, the KV cache with room for `capacity`
 * tokens (at least `tokens`), one tensor per operator, and `token`, int64 [1], the token with the largest logit; it is also fetched as `token`. An instance of more tokens than its
 * capacity fails with OPERATOR_FAILED. Errors: INVALID_OPTION.
 */
export function llamaPrefill(options: LlamaOptions): LlamaPass<LlamaPrefillSpec> {
  const { operators, programs, common } = passOf(options, PASSES.prefill);
  return {
    template: { ...common, symbols: ["tokens", "capacity"], external: prompt, operators },
    programs,
  };
}

/**
 * Prefill of `tokens` further prompt tokens after `past` that are in the cache, so that a long prompt is worked off in pieces; `past + tokens` is at most
 * `capacity`, which stays what it was. The `token` of a piece before the last one means nothing. Over the
 * capacity an instance fails with OPERATOR_FAILED. Errors: INVALID_OPTION.
 */
export function llamaExtend(options: LlamaOptions): LlamaPass<LlamaExtendSpec> {
  const { operators, programs, common, kv } = passOf(options, PASSES.extend);
  return {
    template: { ...common, symbols: ["tokens", "past", "capacity"], inputs: { kv }, external: prompt, operators },
    programs,
  };
}

/**
 * One decode step after `past` tokens in the cache, of which there is room for `capacity`, more than `past`. Inputs `kv` and `token` are outputs of the pass
 * before, so that the token never goes by way of the host; the cache is written in place. A full one fails the instance with OPERATOR_FAILED. Errors: INVALID_OPTION.
 */
export function llamaDecode(options: LlamaOptions): LlamaPass<LlamaDecodeSpec> {
  const { operators, programs, common, kv } = passOf(options, PASSES.decode);
  return {
    template: { ...common, symbols: ["past", "capacity"], inputs: { kv, token: tokenTensor }, operators },
    programs,
  };
}

const tokenTensor = { shape: [1], dtype: "int64" } as const;
const prompt = { prompt: { shape: ["tokens"], dtype: "int64" } } as const;

function passOf(options: LlamaOptions, pass: Pass) {
  checkLlamaOptions(options);
  const { shape, layersPerOperator = 1, partitions, fetchLogits = false, extraWorkspaceBytes = 0 } = options;
  const groups = groupsOf(shape, layersPerOperator);
  const built = groups.map((group) => ({ group, ...passProgram({ shape, group, pass, fetchLogits }) }));
  const whole = (own: string) => (extraWorkspaceBytes === 0 ? own : `${own} + ${extraWorkspaceBytes}`);
  const last = groups[groups.length - 1] as Group;
  return {
    operators: built.map(({ group, workspaceBytes }) => operatorOf(shape, groups, group, pass, whole(workspaceBytes))),
    programs: Object.fromEntries(built.map(({ group, program }) => [group.name, program])),
    kv: groups.map((group) => ({ shape: kvShape(shape, group), dtype: dtypeOf(shape) })),
    common: {
      name: `${shape.name}/${pass.kind}`,
      outputs: { kv: groups.map(({ name }) => `${name}.kv`), token: `${last.name}.token` },
      partitions,
    },
  };
}

function operatorOf(
  shape: LlamaShape,
  groups: readonly Group[],
  group: Group,
  pass: Pass,
  workspaceBytes: string,
): OperatorSpec {
  const dtype = dtypeOf(shape);
  const before = groups[group.index - 1];
  const kvInput = `kv[${group.index}]`;
  const inputs = [
    ...(before === undefined ? [] : [`${before.name}.hidden`]),
    ...(pass.kind === "prefill" ? [] : [kvInput]),
    ...(group.isFirst ? [pass.kind === "decode" ? "token" : "prompt"] : []),
  ];
  const kv = { shape: kvShape(shape, group), dtype };
  const units = weightsOf(shape, group);
  // Alike in everything but which layers they are: they take equally long.
  const isInner = !(group.isFirst || group.isLast);
  return {
    name: group.name,
    inputs,
    outputs: {
      ...(group.isLast ? { token: tokenTensor } : { hidden: { shape: [dimension(pass.tokens), shape.hidden], dtype } }),
      kv: pass.kind === "prefill" ? kv : { ...kv, aliases: kvInput },
    },
    workspaceBytes,
    weights: Object.fromEntries(units.map(({ name, bytes }) => [name, bytes])),
    ...costOf(shape, group, pass),
    ...(isInner ? { durationModel: `${shape.name}/${pass.kind}/${group.layers.length} layers` } : {}),
  };
}

/** Two operations per weight and token, four per pair of tokens that attend and element of the heads; weights and cache are read once. */
function costOf(shape: LlamaShape, group: Group, { tokens, past }: Pass): { flops: string; movedBytes: string } {
  const elementBytes = dtypeBytes(dtypeOf(shape));
  const units = weightsOf(shape, group);
  // Of the embedding a few rows are looked up, and the head works on one token.
  const bytesOf = (kind: "layer" | "head") =>
    units.reduce((sum, { name, bytes }) => sum + (name.startsWith(`${shape.name}/${kind}`) ? bytes : 0), 0);
  const layers = group.layers.length;
  const pairs = tokens.times(past.plus(tokens)).times(4 * layers * shape.heads * shape.headDim);
  const perToken = (2 * bytesOf("layer")) / elementBytes;
  const cache = past.plus(tokens).times(2 * layers * shape.kvHeads * shape.headDim * elementBytes);
  return {
    flops: `${tokens
      .times(perToken)
      .plus(pairs)
      .plus((2 * bytesOf("head")) / elementBytes)}`,
    movedBytes: `${cache.plus(tokens.times(2 * shape.hidden * elementBytes)).plus(bytesOf("layer") + bytesOf("head"))}`,
  };
}

function dimension(size: Size): Dimension {
  return size.constant ?? `${size}`;
}
