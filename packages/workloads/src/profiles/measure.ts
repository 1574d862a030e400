import { percentileOfSorted } from "../metrics/percentile.ts";
import type { TraceRow } from "../traces/types.ts";
import type { ArrivalProfile, LengthProfile, WorkloadProfile } from "./types.ts";

const windowSeconds = 50;
const quantileCount = 128;

/** Measures the profile of an arrival trace and a length trace; linear up to sorting. */
export function measureProfile(
  name: string,
  attribution: string,
  arrivals: readonly TraceRow[],
  lengths: readonly TraceRow[],
): WorkloadProfile {
  return { version: 1, name, attribution, arrivals: measureArrivals(arrivals), lengths: measureLengths(lengths) };
}

function measureArrivals(rows: readonly TraceRow[]): ArrivalProfile {
  const windowNs = windowSeconds * 1e9;
  const lastNs = rows.at(-1)?.arrivalNs ?? 0;
  // The part of a window after the last arrival was not observed; the rates stop at the last whole window.
  const counts = new Array<number>(Math.max(1, Math.floor(lastNs / windowNs))).fill(0);
  for (const { arrivalNs } of rows) {
    const window = Math.floor(arrivalNs / windowNs);
    if (window < counts.length) counts[window] = (counts[window] ?? 0) + 1;
  }
  const requestsPerSecond = counts.map((count) => count / windowSeconds);
  const gaps: number[] = [];
  rows.forEach((row, i) => {
    const rate = requestsPerSecond[Math.floor(row.arrivalNs / windowNs)];
    const before = rows[i - 1];
    if (rate !== undefined && before !== undefined) gaps.push(((row.arrivalNs - before.arrivalNs) / 1e9) * rate);
  });
  return { windowSeconds, requestsPerSecond, gapQuantiles: quantiles(gaps).map((gap) => Number(gap.toPrecision(4))) };
}

function measureLengths(rows: readonly TraceRow[]): LengthProfile {
  return {
    rows: rows.length,
    inputTokenQuantiles: quantiles(rows.map((row) => row.inputTokens)).map(Math.round),
    outputTokenQuantiles: quantiles(rows.map((row) => row.outputTokens)).map(Math.round),
  };
}

function quantiles(values: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort();
  return Array.from({ length: quantileCount + 1 }, (_, k) => percentileOfSorted(sorted, k / quantileCount));
}
