/** What the batched policies of one workload are compared by. */
import { type Comparison, comparePolicies, type Ratios } from "../metrics/compare.ts";
import { fieldwiseMedian, medianComparison, type SeedsComparison } from "../metrics/median.ts";
import type { Percentiles } from "../metrics/percentile.ts";
import type { PolicyResult } from "../metrics/result.ts";
import type { BatchedOutcome } from "./driver.ts";

export interface SliceFigures {
  /** Share of the window in which an accelerator ran online operators, and offline ones; means over accelerators. */
  readonly onlineShare: number;
  readonly offlineShare: number;
  /** Accelerator time given to offline work ÷ accelerator time idle under Static-Online; null where that was not replayed. */
  readonly harvest: number | null;
  /** Online latencies ÷ those under SliceScheduler with online work only; null where that was not replayed. */
  readonly interference: Interference | null;
}

export interface Interference {
  readonly ttftP50: number;
  readonly ttftP99: number;
  readonly tpotP50: number;
  readonly tpotP99: number;
}

export interface BatchedComparison extends SeedsComparison {
  /** By policy. */
  readonly slices: Readonly<Record<string, SliceFigures>>;
  /** The sharing baseline that serves the most requests, and SliceScheduler over it; null unless both were replayed. */
  readonly strongestBaseline: { readonly policy: string; readonly ratios: Ratios } | null;
}

const sharingBaselines = ["subset-share", "dual-share", "dual-share-eager", "full-share"];

/**
 * Sets the policies side by side; of several seeds the medians.
 * @param seeds for each seed the outcomes of the same policies, Static-Online among them.
 * Throws a TypeError without Static-Online, which sets the SLO.
 */
export function compareBatched(seeds: readonly (readonly BatchedOutcome[])[]): BatchedComparison {
  const comparisons = seeds.map((outcomes) => {
    if (!outcomes.some(({ policy }) => policy === "static-online")) {
      throw new TypeError("static-online was not replayed, whose p90 TTFT is the threshold of the SLO");
    }
    return comparePolicies(outcomes, null);
  });
  const whole = medianComparison(comparisons);
  // SliceScheduler over variants of itself is no comparison with a baseline.
  const ratios = Object.fromEntries(
    Object.entries(whole.ratios).filter(([name]) => !name.startsWith("slicescheduler")),
  );
  const median = { ...whole, ratios };
  const slices = fieldwiseMedian(seeds.map((outcomes, i) => slicesOf(outcomes, comparisons[i] as Comparison)));
  const present = sharingBaselines.filter((policy) => median.policies[policy] !== undefined);
  const rateOf = (policy: string): number => median.policies[policy]?.requestsPerSecond ?? 0;
  const [strongest] = present.sort((a, b) => rateOf(b) - rateOf(a));
  const over = strongest === undefined ? undefined : ratios[strongest];
  const strongestBaseline = strongest === undefined || over === undefined ? null : { policy: strongest, ratios: over };
  return { ...median, slices, strongestBaseline };
}

function slicesOf(outcomes: readonly BatchedOutcome[], comparison: Comparison): Record<string, SliceFigures> {
  const staticOnline = outcomes.find(({ policy }) => policy === "static-online");
  const alone: PolicyResult | undefined = comparison.policies["slicescheduler-online"];
  const idleShare = staticOnline === undefined ? null : 1 - mean(staticOnline.busy.online);
  return Object.fromEntries(
    outcomes.map(({ policy, busy }) => {
      const offlineShare = mean(busy.offline);
      const harvest = idleShare === null ? null : offlineShare / idleShare;
      const result = comparison.policies[policy];
      const interference = alone === undefined || result === undefined ? null : interferenceOf(result, alone);
      return [policy, { onlineShare: mean(busy.online), offlineShare, harvest, interference }];
    }),
  );
}

function interferenceOf(result: PolicyResult, alone: PolicyResult): Interference | null {
  const { ttftMs, tpotMs } = result;
  if (ttftMs === null || tpotMs === null || alone.ttftMs === null || alone.tpotMs === null) return null;
  const ratio = (ours: Percentiles, theirs: Percentiles, which: "p50" | "p99"): number => ours[which] / theirs[which];
  return {
    ttftP50: ratio(ttftMs, alone.ttftMs, "p50"),
    ttftP99: ratio(ttftMs, alone.ttftMs, "p99"),
    tpotP50: ratio(tpotMs, alone.tpotMs, "p50"),
    tpotP99: ratio(tpotMs, alone.tpotMs, "p99"),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
}
