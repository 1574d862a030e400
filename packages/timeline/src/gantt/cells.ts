import type { RunRecord } from "../run-record.ts";

/** What is drawn: a window cut into cells of equal length. */
export interface Grid {
  readonly fromNs: number;
  readonly toNs: number;
  readonly cells: number;
}

/** Per accelerator the time in each cell that operators of each class take: at `cell · classes + class`; the last class is "not known". */
export function busyCells(record: RunRecord, { fromNs, toNs, cells }: Grid): Float64Array[] {
  const classes = record.priorities.length + 1;
  const busy = record.accelerators.map(() => new Float64Array(cells * classes));
  const { operators } = record;
  const cellNs = (toNs - fromNs) / cells;
  for (let row = 0; row < operators.count; row++) {
    const told = operators.endNs[row] as number;
    const startNs = Math.max(operators.startNs[row] as number, fromNs);
    const endNs = Math.min(Number.isNaN(told) ? record.endNs : told, toNs);
    if (startNs >= endNs) continue;
    const own = busy[operators.accelerator[row] as number] as Float64Array;
    const rank = operators.rank[row] as number;
    const class_ = rank >= 0 && rank < classes - 1 ? rank : classes - 1;
    const last = Math.min(cells - 1, Math.floor((endNs - fromNs) / cellNs));
    for (let cell = Math.floor((startNs - fromNs) / cellNs); cell <= last; cell++) {
      const cellFromNs = fromNs + cell * cellNs;
      const overlapNs = Math.min(endNs, cellFromNs + cellNs) - Math.max(startNs, cellFromNs);
      const index = cell * classes + class_;
      if (overlapNs > 0) own[index] = (own[index] as number) + overlapNs;
    }
  }
  return busy;
}

/** Of an accelerator, the most HBM in use in each cell; NaN before anything is known. */
export function hbmCells({ hbm }: RunRecord, accelerator: number, { fromNs, toNs, cells }: Grid): Float64Array {
  const most = new Float64Array(cells).fill(Number.NaN);
  const steps = hbm[accelerator];
  if (steps === undefined) return most;
  const cellNs = (toNs - fromNs) / cells;
  let step = 0;
  let usedBytes = Number.NaN;
  for (let cell = 0; cell < cells; cell++) {
    const cellFromNs = fromNs + cell * cellNs;
    // What is in use when the cell begins counts for it.
    for (; step < steps.count && (steps.atNs[step] as number) <= cellFromNs; step++)
      usedBytes = steps.usedBytes[step] as number;
    let mostBytes = usedBytes;
    for (; step < steps.count && (steps.atNs[step] as number) < cellFromNs + cellNs; step++) {
      usedBytes = steps.usedBytes[step] as number;
      if (!(usedBytes <= mostBytes)) mostBytes = usedBytes;
    }
    most[cell] = mostBytes;
  }
  return most;
}
