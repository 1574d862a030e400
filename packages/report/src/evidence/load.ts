/** Load over time, in buckets of equal length. */
import type { RunRecord } from "@slicescheduler/timeline";
import { endOf } from "./timeline-order.ts";

/** Share of each bucket in which operators ran, mean over the accelerators, in millionths. */
export function busyMillionths(record: RunRecord, buckets: number, spanNs: number): Float64Array {
  const { operators, startNs, accelerators } = record;
  const bucketNs = spanNs / buckets;
  const busyNs = new Float64Array(buckets);
  for (let row = 0; row < operators.count; row++) {
    const from = (operators.startNs[row] ?? 0) - startNs;
    const to = Math.min(spanNs, endOf(record, row) - startNs);
    // By bucket, not by time: a bound that is divided by the length of a bucket may come out a hair below.
    for (let bucket = Math.floor(from / bucketNs); bucket < buckets && bucket * bucketNs < to; bucket++) {
      const overlap = Math.min(to, (bucket + 1) * bucketNs) - Math.max(from, bucket * bucketNs);
      busyNs[bucket] = (busyNs[bucket] ?? 0) + Math.max(0, overlap);
    }
  }
  const wholeNs = bucketNs * Math.max(1, accelerators.length);
  return busyNs.map((ns) => (wholeNs > 0 ? Math.round((1e6 * ns) / wholeNs) : 0));
}

/** Most requests at once within each bucket that had arrived and not ended. Times count from the run's start. */
export function openRequests(
  requests: readonly { readonly arrivedNs: number; readonly endedNs: number }[],
  buckets: number,
  spanNs: number,
): Float64Array {
  const edges = requests
    .flatMap(({ arrivedNs, endedNs }) => [
      { atNs: arrivedNs, step: 1 },
      { atNs: endedNs, step: -1 },
    ])
    .filter(({ atNs }) => Number.isFinite(atNs))
    .sort((a, b) => a.atNs - b.atNs || a.step - b.step);
  const most = new Float64Array(buckets);
  let open = 0;
  let next = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    let peak = open;
    const untilNs = ((bucket + 1) * spanNs) / buckets;
    for (let edge = edges[next]; edge !== undefined && edge.atNs < untilNs; edge = edges[++next]) {
      open += edge.step;
      peak = Math.max(peak, open);
    }
    most[bucket] = peak;
  }
  return most;
}

/** How many of the times lie in each bucket; what lies beyond the last one belongs to it. */
export function countPerBucket(timesNs: readonly number[], buckets: number, spanNs: number): Float64Array {
  const counts = new Float64Array(buckets);
  for (const atNs of timesNs) {
    if (!Number.isFinite(atNs)) continue;
    const bucket = spanNs > 0 ? Math.min(buckets - 1, Math.max(0, Math.floor((atNs / spanNs) * buckets))) : 0;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return counts;
}
