/** Operators by accelerator, then by start: the order of rows on a timeline. */
import type { RunRecord } from "@slicescheduler/timeline";

export interface TimelineOrder {
  /** Rows of the record, in order. */
  readonly rows: Uint32Array;
  /** Where each accelerator's rows begin, and after the last one where they end. */
  readonly offsets: Uint32Array;
}

/** Linear: operators of a record are in order of their start already. */
export function timelineOrder({ operators, accelerators }: RunRecord): TimelineOrder {
  const { count, accelerator } = operators;
  const offsets = new Uint32Array(accelerators.length + 1);
  for (let row = 0; row < count; row++) {
    const next = (accelerator[row] ?? 0) + 1;
    offsets[next] = (offsets[next] ?? 0) + 1;
  }
  for (let i = 1; i < offsets.length; i++) offsets[i] = (offsets[i] ?? 0) + (offsets[i - 1] ?? 0);
  const next = offsets.slice();
  const rows = new Uint32Array(count);
  for (let row = 0; row < count; row++) {
    const at = next[accelerator[row] ?? 0] ?? 0;
    rows[at] = row;
    next[accelerator[row] ?? 0] = at + 1;
  }
  return { rows, offsets };
}

/** When an operator ended, or the record did. */
export function endOf({ operators, endNs }: RunRecord, row: number): number {
  const end = operators.endNs[row] ?? Number.NaN;
  return Number.isNaN(end) ? Math.max(endNs, operators.startNs[row] ?? 0) : end;
}
