/** Figures of several seeds as one: medians, and how far the seeds lie apart. */
import type { Comparison, Ratios } from "./compare.ts";
import type { PolicyResult } from "./result.ts";

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** Smallest and largest of the seeds, by figure; percentiles in milliseconds, null where nothing was served. */
export interface Spread {
  readonly requestsPerSecond: Range;
  readonly tokensPerSecond: Range;
  readonly sloAttainment: Range | null;
  readonly utilization: Range;
  readonly ttftP50Ms: Range | null;
  readonly ttftP99Ms: Range | null;
  readonly tpotP50Ms: Range | null;
  readonly tpotP99Ms: Range | null;
}

export interface SeedsComparison extends Comparison {
  /** By policy. */
  readonly spread: Readonly<Record<string, Spread>>;
}

/**
 * Field by field the median of the seeds' comparisons (of an even number, the mean of the two in the middle); ratios are medians of
 * the seeds' ratios. What must be 0 is never hidden: `overCapacity` and `standstills` are the worst seed's.
 * @param comparisons of the same policies, at least one.
 */
export function medianComparison(comparisons: readonly Comparison[]): SeedsComparison {
  const [first] = comparisons;
  if (first === undefined) throw new TypeError("the median of no comparison was asked for");
  const policies: Record<string, PolicyResult> = {};
  const spread: Record<string, Spread> = {};
  for (const name of Object.keys(first.policies)) {
    const results = comparisons.flatMap((comparison) => comparison.policies[name] ?? []);
    policies[name] = medianResult(results);
    spread[name] = spreadOf(results);
  }
  const ratios: Record<string, Ratios> = {};
  for (const name of Object.keys(first.ratios))
    ratios[name] = fieldwiseMedian(comparisons.flatMap((comparison) => comparison.ratios[name] ?? []));
  const thresholds = comparisons.flatMap(({ slo }) => slo?.ttftMs ?? []);
  const slo = first.slo === null ? null : { ...first.slo, ttftMs: median(thresholds) };
  return { slo, policies, ratios, spread };
}

function medianResult(results: readonly PolicyResult[]): PolicyResult {
  return {
    ...fieldwiseMedian(results),
    overCapacity: Math.max(...results.map((result) => result.overCapacity)),
    standstills: Math.max(...results.map((result) => result.standstills)),
  };
}

function spreadOf(results: readonly PolicyResult[]): Spread {
  const range = (pick: (result: PolicyResult) => number): Range => {
    const values = results.map(pick);
    return { min: Math.min(...values), max: Math.max(...values) };
  };
  const known = (pick: (result: PolicyResult) => number | null | undefined): Range | null => {
    const values = results.flatMap((result) => pick(result) ?? []);
    return values.length === 0 ? null : { min: Math.min(...values), max: Math.max(...values) };
  };
  return {
    requestsPerSecond: range((result) => result.requestsPerSecond),
    tokensPerSecond: range((result) => result.tokensPerSecond),
    sloAttainment: known((result) => result.sloAttainment),
    utilization: range((result) => result.utilization),
    ttftP50Ms: known((result) => result.ttftMs?.p50),
    ttftP99Ms: known((result) => result.ttftMs?.p99),
    tpotP50Ms: known((result) => result.tpotMs?.p50),
    tpotP99Ms: known((result) => result.tpotMs?.p99),
  };
}

/** The median of each number in equal trees of numbers, arrays and objects; null where any is null. */
export function fieldwiseMedian<Tree>(trees: readonly Tree[]): Tree {
  return medianOf(trees) as Tree;
}

function medianOf(trees: readonly unknown[]): unknown {
  const [first] = trees;
  if (trees.some((tree) => tree === null)) return null;
  if (typeof first === "number") return median(trees as readonly number[]);
  if (Array.isArray(first)) return first.map((_, i) => medianOf(trees.map((tree) => (tree as readonly unknown[])[i])));
  if (typeof first === "object")
    return Object.fromEntries(
      Object.keys(first as object).map((key) => [
        key,
        medianOf(trees.map((tree) => (tree as Readonly<Record<string, unknown>>)[key])),
      ]),
    );
  throw new TypeError(`a median of ${typeof first} was asked for`);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
