import { percentileOfSorted } from "../metrics/percentile.ts";
import type { TraceRow } from "../traces/types.ts";
import type { ArrivalProfile, LengthProfile, WorkloadProfile } from "./types.ts";

/** Of the rates, unless another length is asked for. */
export const windowSecondsDefault = 50;
const quantileCount = 128;

/** Measures the profile of an arrival trace and a length trace; linear up to sorting. */
export function measureProfile(
  name: string,
  attribution: string,
  arrivals: readonly TraceRow[],
  lengths: readonly TraceRow[],
): WorkloadProfile {
  return {
    version: 1,
    name,
    attribution,
    arrivals: measureArrivals(
      Float64Array.from(arrivals, (row) => row.arrivalNs),
      windowSecondsDefault,
    ),
    lengths: measureLengths(
      Float64Array.from(lengths, (row) => row.inputTokens),
      Float64Array.from(lengths, (row) => row.outputTokens),
    ),
  };
}

/** @param arrivalsNs ascending. */
export function measureArrivals(arrivalsNs: Float64Array, windowSeconds: number): ArrivalProfile {
  const windowNs = windowSeconds * 1e9;
  const lastNs = arrivalsNs.at(-1) ?? 0;
  // The part of a window after the last arrival was not observed; the rates stop at the last whole window.
  const counts = new Array<number>(Math.max(1, Math.floor(lastNs / windowNs))).fill(0);
  for (const arrivalNs of arrivalsNs) {
    const window = Math.floor(arrivalNs / windowNs);
    if (window < counts.length) counts[window] = (counts[window] ?? 0) + 1;
  }
  const requestsPerSecond = counts.map((count) => count / windowSeconds);
  const gaps: number[] = [];
  let beforeNs: number | undefined;
  for (const arrivalNs of arrivalsNs) {
    const rate = requestsPerSecond[Math.floor(arrivalNs / windowNs)];
    if (rate !== undefined && beforeNs !== undefined) gaps.push(((arrivalNs - beforeNs) / 1e9) * rate);
    beforeNs = arrivalNs;
  }
  // Two arrivals in whole windows are needed for one; without any, requests come as evenly as the rates say.
  if (gaps.length === 0) gaps.push(1);
  const gapQuantiles = quantiles(Float64Array.from(gaps)).map((gap) => Number(gap.toPrecision(4)));
  return { windowSeconds, requestsPerSecond, gapQuantiles };
}

export function measureLengths(inputTokens: Float64Array, outputTokens: Float64Array): LengthProfile {
  return {
    rows: inputTokens.length,
    inputTokenQuantiles: quantiles(inputTokens).map(Math.round),
    outputTokenQuantiles: quantiles(outputTokens).map(Math.round),
  };
}

/**
 * Spearman's rank correlation of two columns of one length, equal values at their mean rank; 0 when one of them is constant.
 * Linear up to sorting.
 */
export function rankCorrelation(a: Float64Array, b: Float64Array): number {
  const [ranksA, ranksB] = [ranksOf(a), ranksOf(b)];
  const mean = (a.length - 1) / 2;
  let product = 0;
  let squareA = 0;
  let squareB = 0;
  for (let i = 0; i < ranksA.length; i++) {
    const fromA = (ranksA[i] ?? 0) - mean;
    const fromB = (ranksB[i] ?? 0) - mean;
    product += fromA * fromB;
    squareA += fromA * fromA;
    squareB += fromB * fromB;
  }
  return squareA === 0 || squareB === 0 ? 0 : product / Math.sqrt(squareA * squareB);
}

function ranksOf(values: Float64Array): Float64Array {
  const order = Uint32Array.from(values.keys()).sort((i, j) => (values[i] ?? 0) - (values[j] ?? 0));
  const ranks = new Float64Array(values.length);
  for (let begin = 0; begin < order.length; ) {
    const value = values[order[begin] ?? 0];
    let end = begin + 1;
    while (end < order.length && values[order[end] ?? 0] === value) end++;
    for (let at = begin; at < end; at++) ranks[order[at] ?? 0] = (begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

function quantiles(values: Float64Array): number[] {
  const sorted = values.slice().sort();
  return Array.from({ length: quantileCount + 1 }, (_, k) => percentileOfSorted(sorted, k / quantileCount));
}
