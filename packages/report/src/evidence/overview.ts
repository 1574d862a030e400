/** The charts' block. */
import {
  type DistributionName,
  type GridMeta,
  type OverviewMeta,
  overviewColumn,
  type PolicyMeta,
} from "../shared/blocks.ts";
import { pack } from "../shared/columns.ts";
import { colourNames } from "./colour-names.ts";
import { gridOf, sharesOnGrid } from "./distribution.ts";
import type { Comparison } from "./figures.ts";
import { hbmBuckets, hbmPeaks } from "./hbm.ts";
import { busyMillionths, countPerBucket, openRequests } from "./load.ts";
import type { Run } from "./run.ts";

/** More than a screen shows at once: the chart joins them unless it is zoomed in. */
const loadBuckets = 1440;

export function overviewBlock(runs: readonly Run[], { figures, differences }: Comparison): Uint8Array {
  const spanNs = Math.max(...runs.map((run) => run.spanNs));
  const columns: Record<string, ArrayLike<number>> = {};
  const grids: Record<DistributionName, GridMeta | null> = {
    ttft: gridOf(runs.map((run) => run.ttftMs)),
    tpot: gridOf(runs.map((run) => run.tpotMs)),
    idleCount: gridOf(runs.map((run) => run.idleMs)),
    idleTime: gridOf(runs.map((run) => run.idleMs)),
  };
  runs.forEach((run, policy) => {
    addTimes(columns, run, policy, spanNs);
    addDistributions(columns, run, policy, grids);
  });
  const policies = runs.map(policyMeta);
  const colours = colourNames(runs);
  const most = Math.max(...figures.map((it) => it.requestsPerSecond));
  const meta: OverviewMeta = {
    spanNs,
    sloTtftMs: [...new Set(figures.flatMap(({ slo }) => slo?.ttftMs ?? []))],
    policies,
    first: differences.length > 0 ? 0 : figures.findIndex((it) => it.requestsPerSecond === most),
    loadBuckets,
    distributions: grids,
    colours,
  };
  return pack(meta, columns);
}

function policyMeta({ policy, record, spanNs }: Run): PolicyMeta {
  return {
    name: policy.name,
    endNs: spanNs,
    accelerators: record.accelerators.map(({ name, kind, capacityBytes }) => ({ name, kind, capacityBytes })),
    hbmBuckets: hbmBuckets(record.accelerators.length),
  };
}

function addTimes(columns: Record<string, ArrayLike<number>>, run: Run, policy: number, spanNs: number): void {
  const { record, requests } = run;
  const buckets = hbmBuckets(record.accelerators.length);
  record.accelerators.forEach((_, accelerator) => {
    const steps = record.hbm[accelerator];
    columns[overviewColumn.hbm(policy, accelerator)] =
      steps === undefined ? new Float64Array(buckets) : hbmPeaks(steps, record.startNs, buckets, spanNs);
  });
  const ended = requests.filter((it) => it.isCompleted).map((it) => it.endedNs);
  columns[overviewColumn.busy(policy)] = busyMillionths(record, loadBuckets, spanNs);
  columns[overviewColumn.open(policy)] = openRequests(requests, loadBuckets, spanNs);
  columns[overviewColumn.done(policy)] = countPerBucket(ended, loadBuckets, spanNs);
}

function addDistributions(
  columns: Record<string, ArrayLike<number>>,
  run: Run,
  policy: number,
  grids: Readonly<Record<DistributionName, GridMeta | null>>,
): void {
  const add = (name: DistributionName, sorted: ArrayLike<number>, by: "count" | "sum"): void => {
    const grid = grids[name];
    if (grid !== null) columns[overviewColumn.distribution(name, policy)] = sharesOnGrid(sorted, grid, by);
  };
  add("ttft", run.ttftMs, "count");
  add("tpot", run.tpotMs, "count");
  add("idleCount", run.idleMs, "count");
  add("idleTime", run.idleMs, "sum");
}
