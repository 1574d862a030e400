/**
 * What steps of a batching engine really take on the virtual cluster; only the virtual executor may ask.
 *
 * An operator of eight layers takes `max(10.575 ms, 0.225 ms × tokens) + cached tokens × 99 ns`. The first two figures are those of
 * `colocation`: one sequence's decode reads every weight once, a prompt is bound by arithmetic; tokens of one step share the reading of the
 * weights and add up in arithmetic, so the longer of the two counts, and up to 47 tokens are free. The third is the reading of the cache: eight
 * layers have 32,768 B of it a token, and 10.575 ms for 8 × 436.224 MB of weights means 330 GB/s.
 */
import { colocationDurations } from "../colocation/durations.ts";
import { kvBytesPerTokenLayer, layerWeightBytes, llama3_8b } from "../llama/shape.ts";

const names = { prefill: "prefill", decode: "decode" };
const colocation = colocationDurations({ ...names, layersPerOperator: 8 });
const perLayer = 1 / 8;

/** Per layer. */
const weightNs = colocation.operatorNs(names.decode, {}) * perLayer;
const tokenNs = (colocation.operatorNs(names.prefill, { tokens: 1e6 }) * perLayer) / 1e6;
const cachedTokenNs = weightNs * (kvBytesPerTokenLayer(llama3_8b) / layerWeightBytes(llama3_8b));

/** Most tokens that a step has without taking longer than for one: 47. An engine measures it when it starts. */
export const lightStepTokensMax = Math.floor(weightNs / tokenNs);

/** What making a pool takes: its pages are written by the steps. */
export const poolNs = 1000;

/** True nanoseconds of one operator of a step, before noise. @param layers in the operator. */
export function stepOperatorNs(layers: number, tokens: number, cached: number): number {
  return Math.round(layers * (Math.max(weightNs, tokenNs * tokens) + cachedTokenNs * cached));
}

/** True nanoseconds of a transfer, before noise: those of `colocation`. */
export const batchedTransferNs = (bytes: number): number => colocation.transferNs(bytes);
