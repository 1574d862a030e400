/** One line of HBM per policy, for one accelerator or for all. */
import { type OverviewMeta, overviewColumn, type PolicyMeta } from "../../shared/blocks.ts";
import { columnOf, type Packed } from "../../shared/columns.ts";

export interface HbmLines {
  readonly lines: readonly Float64Array[];
  readonly buckets: number;
  readonly capacity: number;
  /** Where capacities differ, lines over all accelerators are shares of them. */
  readonly isShare: boolean;
}

/** @param choice `"fullest"`, `"mean"` or the index of an accelerator. */
export function hbmLines(packed: Packed<OverviewMeta>, choice: string): HbmLines {
  const { policies } = packed.meta;
  const buckets = Math.max(...policies.map((policy) => policy.hbmBuckets));
  if (choice !== "fullest" && choice !== "mean") {
    const accelerator = Number(choice);
    const capacity = Math.max(...policies.map((policy) => policy.accelerators[accelerator]?.capacityBytes ?? 0));
    const lines = policies.map((policy, i) =>
      accelerator < policy.accelerators.length
        ? stretched(columnOf(packed, overviewColumn.hbm(i, accelerator)), buckets)
        : new Float64Array(buckets),
    );
    return { lines, buckets, capacity, isShare: false };
  }
  const capacities = new Set(policies.flatMap(({ accelerators }) => accelerators.map((it) => it.capacityBytes)));
  const isShare = capacities.size > 1;
  const lines = policies.map((policy, i) => stretched(ofAll(packed, policy, i, choice, isShare), buckets));
  return { lines, buckets, capacity: isShare ? 1 : Math.max(0, ...capacities), isShare };
}

function ofAll(
  packed: Packed<OverviewMeta>,
  { accelerators, hbmBuckets }: PolicyMeta,
  policy: number,
  choice: "fullest" | "mean",
  isShare: boolean,
): Float64Array {
  const line = new Float64Array(hbmBuckets);
  accelerators.forEach(({ capacityBytes }, accelerator) => {
    const used = columnOf(packed, overviewColumn.hbm(policy, accelerator));
    const scale = isShare ? 1 / Math.max(1, capacityBytes) : 1;
    for (let i = 0; i < line.length; i++) {
      const value = (used[i] ?? 0) * scale;
      line[i] = choice === "fullest" ? Math.max(line[i] ?? 0, value) : (line[i] ?? 0) + value / accelerators.length;
    }
  });
  return line;
}

/** The same line in another number of buckets: policies may have different ones. */
function stretched(line: Float64Array, buckets: number): Float64Array {
  if (line.length === buckets) return line;
  return Float64Array.from({ length: buckets }, (_, i) => line[Math.floor((i * line.length) / buckets)] ?? 0);
}
