/** Idle slices: the stretches of the window in which an accelerator runs nothing, the ones at both ends included. */
import type { RunRecord } from "@slicescheduler/timeline";
import { endOf, type TimelineOrder } from "./timeline-order.ts";

/** Lengths in ns of all accelerators' idle slices, ascending. Linear, up to sorting. @param windowNs Counts from the start of the record. */
export function idleSliceLengths(record: RunRecord, { rows, offsets }: TimelineOrder, windowNs: number): Float64Array {
  const lengths: number[] = [];
  const untilNs = record.startNs + windowNs;
  for (let accelerator = 0; accelerator + 1 < offsets.length; accelerator++) {
    let freeNs = record.startNs;
    for (let i = offsets[accelerator] ?? 0; i < (offsets[accelerator + 1] ?? 0); i++) {
      const row = rows[i] ?? 0;
      const startNs = Math.min(record.operators.startNs[row] ?? 0, untilNs);
      if (startNs > freeNs) lengths.push(startNs - freeNs);
      freeNs = Math.max(freeNs, endOf(record, row));
      if (freeNs >= untilNs) break;
    }
    if (freeNs < untilNs) lengths.push(untilNs - freeNs);
  }
  return Float64Array.from(lengths).sort();
}
