import type { Program } from "../programs/types.ts";
import type { WeightsSource } from "../weights/types.ts";
import {
  type LlamaDecodeSpec,
  type LlamaExtendSpec,
  type LlamaOptions,
  type LlamaPass,
  type LlamaPrefillSpec,
  llamaDecode,
  llamaExtend,
  llamaPrefill,
} from "./templates.ts";

/** The passes of one model, to be registered with a scheduler once its executor knows their programs. */
export interface LlamaModel {
  readonly prefill: LlamaPass<LlamaPrefillSpec>;
  readonly extend: LlamaPass<LlamaExtendSpec>;
  readonly decode: LlamaPass<LlamaDecodeSpec>;
}

/** The part of an executor that programs and weights are given to. */
export interface ProgramRegistry {
  define(template: string, programs: Readonly<Record<string, Program>>): void;
  defineWeights(name: string, source: WeightsSource): void;
}

/** Errors: INVALID_OPTION. */
export function llamaModel(options: LlamaOptions): LlamaModel {
  return { prefill: llamaPrefill(options), extend: llamaExtend(options), decode: llamaDecode(options) };
}

/**
 * Gives a model's programs and weights to an executor, before its templates are registered with the scheduler.
 * @param weights `seededLlamaWeights` or `safetensorsLlamaWeights` of the same shape.
 */
export function defineLlama(
  executor: ProgramRegistry,
  { prefill, extend, decode }: LlamaModel,
  weights: Readonly<Record<string, WeightsSource>>,
): void {
  for (const { template, programs } of [prefill, extend, decode]) executor.define(template.name, programs);
  for (const [name, source] of Object.entries(weights)) executor.defineWeights(name, source);
}
