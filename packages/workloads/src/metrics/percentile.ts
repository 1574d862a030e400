/**
 * Percentiles by linear interpolation between the two nearest order statistics (Hyndman–Fan type 7), one definition
 * for every figure of this project: the reference's idle-slice figures come out to the millisecond with this one only.
 */
export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/**
 * The value at position `share × (count − 1)` of the sorted values.
 * @param sorted ascending, not empty. @param share 0…1.
 */
export function percentileOfSorted(sorted: ArrayLike<number>, share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below];
  if (low === undefined) throw new TypeError("a percentile of no values was asked for");
  const high = sorted[below + 1] ?? low;
  return low + (position - below) * (high - low);
}

/** p50, p90 and p99 of the values in any order; null when there are none. */
export function percentiles(values: readonly number[]): Percentiles | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => percentileOfSorted(sorted, share);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
