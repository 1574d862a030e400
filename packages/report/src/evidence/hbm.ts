import type { HbmSteps } from "@slicescheduler/timeline";

/** Values of all accelerators of a policy together, so that many accelerators do not make the page large. */
const valuesMax = 20_000;
const bucketsMax = 2_400;
const bucketsMin = 240;

export function hbmBuckets(accelerators: number): number {
  return Math.max(bucketsMin, Math.min(bucketsMax, Math.floor(valuesMax / Math.max(1, accelerators))));
}

/** Most bytes in use within each bucket: a peak is never smoothed away. Linear. */
export function hbmPeaks(steps: HbmSteps, startNs: number, buckets: number, spanNs: number): Float64Array {
  const peaks = new Float64Array(buckets);
  const bucketNs = spanNs / buckets;
  let used = 0;
  let next = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    const fromNs = startNs + bucket * bucketNs;
    const untilNs = bucket === buckets - 1 ? Number.POSITIVE_INFINITY : fromNs + bucketNs;
    // What was in use before is not, when it changes at that very instant.
    let peak = steps.atNs[next] === fromNs ? 0 : used;
    for (; next < steps.count && (steps.atNs[next] ?? 0) < untilNs; next++) {
      used = steps.usedBytes[next] ?? 0;
      peak = Math.max(peak, used);
    }
    peaks[bucket] = Math.max(peak, used);
  }
  return peaks;
}
