import { percentileOfSorted } from "@slicescheduler/workloads";

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function median(values: readonly number[]): number {
  return percentileOfSorted(Float64Array.from(values).sort(), 0.5);
}

/** Coefficient of variation, of the sample. */
export function variation(values: readonly number[]): number {
  const middle = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return Math.sqrt(squares / Math.max(1, values.length - 1)) / middle;
}

/** Middle half of the values, as a share of their median: how far apart repeats of one measurement are. */
export function spread(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  return (percentileOfSorted(sorted, 0.75) - percentileOfSorted(sorted, 0.25)) / percentileOfSorted(sorted, 0.5);
}

export function percent(share: number, digits = 2): string {
  return `${(100 * share).toFixed(digits)} %`;
}
