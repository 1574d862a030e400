/** Distributions as shares on a grid of values that all policies have in common. */
import type { GridMeta } from "../shared/blocks.ts";

const points = 300;

/** From the least to the largest of all values, in their logarithms; null when there are none. @param valuesMs ascending lists. */
export function gridOf(valuesMs: readonly ArrayLike<number>[]): GridMeta | null {
  let least = Number.POSITIVE_INFINITY;
  let largest = 0;
  for (const list of valuesMs) {
    if (list.length === 0) continue;
    least = Math.min(least, list[0] ?? 0);
    largest = Math.max(largest, list[list.length - 1] ?? 0);
  }
  if (!(largest > 0)) return null;
  // A logarithm needs a beginning: what is below a millionth of the largest stands at the edge.
  const fromMs = Math.max(least, largest / 1e6);
  return fromMs < largest
    ? { fromMs: fromMs * 0.999, toMs: largest * 1.001, points }
    : { fromMs: largest * 0.9, toMs: largest * 1.1, points };
}

/** Value at a point of the grid. */
export function gridValueMs({ fromMs, toMs, points: count }: GridMeta, point: number): number {
  return fromMs * (toMs / fromMs) ** (point / (count - 1));
}

/** Share of the values, by number or by their sum, that are at most the grid's value, in millionths. @param sorted ascending. */
export function sharesOnGrid(sorted: ArrayLike<number>, grid: GridMeta, by: "count" | "sum"): Float64Array {
  const shares = new Float64Array(grid.points);
  let total = 0;
  for (let i = 0; i < sorted.length; i++) total += by === "count" ? 1 : (sorted[i] ?? 0);
  let reached = 0;
  let next = 0;
  for (let point = 0; point < grid.points; point++) {
    const valueMs = gridValueMs(grid, point);
    for (; next < sorted.length && (sorted[next] ?? 0) <= valueMs; next++)
      reached += by === "count" ? 1 : (sorted[next] ?? 0);
    shares[point] = total > 0 ? Math.round((1e6 * reached) / total) : 0;
  }
  return shares;
}
