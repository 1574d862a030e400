/** A policy's operators, unpacked: one entry per operator in each array, by accelerator, then by start. */
import type { TimelineMeta } from "../../shared/blocks.ts";
import { columnOf, type Packed } from "../../shared/columns.ts";

export interface Timeline {
  readonly meta: TimelineMeta;
  /** Where each accelerator's operators begin, and after the last one where they end. */
  readonly offsets: Uint32Array;
  readonly startNs: Float64Array;
  readonly endNs: Float64Array;
  /** Index of the operator's name. */
  readonly name: Uint32Array;
  readonly outcome: Uint8Array;
  /** Index into the columns below. */
  readonly instance: Uint32Array;
  readonly instanceNumber: Float64Array;
  readonly instanceRequest: Uint32Array;
  /** −1 where it is not known. */
  readonly instanceRank: Int16Array;
  readonly instanceTenant: Uint32Array;
  readonly requestNumber: Float64Array;
}

/** Linear in the operators. */
export function timelineOf(packed: Packed<TimelineMeta>): Timeline {
  const { meta } = packed;
  const offsets = new Uint32Array(meta.rows.length + 1);
  meta.rows.forEach((count, i) => {
    offsets[i + 1] = (offsets[i] ?? 0) + count;
  });
  const times = timesOf(columnOf(packed, "gap"), columnOf(packed, "duration"), offsets, meta.unitNs);
  return {
    meta,
    offsets,
    ...times,
    name: Uint32Array.from(columnOf(packed, "name")),
    outcome: Uint8Array.from(columnOf(packed, "outcome")),
    instance: Uint32Array.from(columnOf(packed, "instance")),
    instanceNumber: columnOf(packed, "instanceNumber"),
    instanceRequest: Uint32Array.from(columnOf(packed, "instanceRequest")),
    instanceRank: Int16Array.from(columnOf(packed, "instanceRank")),
    instanceTenant: Uint32Array.from(columnOf(packed, "instanceTenant")),
    requestNumber: columnOf(packed, "requestNumber"),
  };
}

function timesOf(
  gap: Float64Array,
  duration: Float64Array,
  offsets: Uint32Array,
  unitNs: number,
): { startNs: Float64Array; endNs: Float64Array } {
  const startNs = new Float64Array(gap.length);
  const endNs = new Float64Array(gap.length);
  for (let row = 0; row + 1 < offsets.length; row++) {
    let units = 0;
    for (let i = offsets[row] ?? 0; i < (offsets[row + 1] ?? 0); i++) {
      units += gap[i] ?? 0;
      startNs[i] = units * unitNs;
      units += duration[i] ?? 0;
      endNs[i] = units * unitNs;
    }
  }
  return { startNs, endNs };
}

/** First operator of the accelerator that ends after a time; where there is none, the end of its operators. Logarithmic. */
export function firstEndingAfter({ endNs, offsets }: Timeline, row: number, atNs: number): number {
  let low = offsets[row] ?? 0;
  let high = offsets[row + 1] ?? 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((endNs[middle] ?? 0) > atNs) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The operator that runs on the accelerator at a time, or one within the slack of it; −1 for none. */
export function operatorAt(timeline: Timeline, row: number, atNs: number, slackNs: number): number {
  const at = firstEndingAfter(timeline, row, atNs - slackNs);
  const until = timeline.offsets[row + 1] ?? 0;
  let best = -1;
  let bestNs = slackNs;
  for (let i = at; i < until && (timeline.startNs[i] ?? 0) <= atNs + slackNs; i++) {
    const distanceNs = Math.max((timeline.startNs[i] ?? 0) - atNs, atNs - (timeline.endNs[i] ?? 0), 0);
    if (best < 0 || distanceNs < bestNs) [best, bestNs] = [i, distanceNs];
    if (distanceNs === 0) break;
  }
  return best;
}

/** The accelerator of an operator. */
export function rowOf({ offsets }: Timeline, operator: number): number {
  let row = 0;
  while (row + 1 < offsets.length && (offsets[row + 1] ?? 0) <= operator) row++;
  return row;
}
