/** The figures of the first table, one row per policy. */
import { type Percentiles, percentileOfSorted, policyResult } from "@slicescheduler/workloads";
import type { ReportInput, ReportSlo } from "../input.ts";
import type { Run } from "./run.ts";
import { isSameWindow, workloadDifferences } from "./workload-differences.ts";

export interface Figures {
  readonly name: string;
  readonly windowNs: number;
  readonly slo: ReportSlo | null;
  /** Completed within the window ÷ the window. */
  readonly requestsPerSecond: number;
  /** Null where no tokens were reported. */
  readonly tokensPerSecond: number | null;
  /** Share of the most urgent class's requests, 0…1; null without a threshold or such requests. */
  readonly sloAttainment: number | null;
  readonly ttftMs: Percentiles | null;
  readonly tpotMs: Percentiles | null;
  /** Mean over accelerators within the window, 0…1. */
  readonly utilization: number;
  readonly completed: number;
  /** All that were offered, also those that were dropped before they began. */
  readonly requests: number;
  readonly dropped: number;
  readonly operators: number;
  readonly movedBytes: number;
  /** Largest share of its capacity that an accelerator had in use, 0…1. */
  readonly peakHbmShare: number;
}

export interface Comparison {
  readonly figures: readonly Figures[];
  /** What tells the workloads apart, in words. Only where there is nothing may a policy be called better than another. */
  readonly differences: readonly string[];
}

/** The threshold that was given, none where that is null, or else Static-Online's p90 on the same workload. */
export function compare(runs: readonly Run[], input: ReportInput): Comparison {
  const differences = workloadDifferences(runs);
  const common = input.slo === undefined && differences.length === 0 ? staticOnlineSlo(runs) : (input.slo ?? null);
  return {
    differences,
    figures: runs.map((run) => figuresOf(run, run.policy.slo === undefined ? common : run.policy.slo)),
  };
}

function staticOnlineSlo(runs: readonly Run[]): ReportSlo | null {
  const ttftMs = runs.find(({ policy }) => policy.name === "static-online")?.ttftMs;
  if (ttftMs === undefined || ttftMs.length === 0) return null;
  return { ttftMs: percentileOfSorted(ttftMs, 0.9), source: "the p90 TTFT of static-online" };
}

function figuresOf(run: Run, slo: ReportSlo | null): Figures {
  const { policy, record, requests, windowNs, ttftMs, tpotMs, utilization } = run;
  const urgent = requests.filter((it) => it.isMostUrgent).length;
  const within = requests.filter((it) => it.isCompleted && it.endedNs < windowNs).length;
  const met = slo === null ? 0 : ttftMs.filter((ms) => ms <= slo.ttftMs).length;
  const shares = record.accelerators.map(
    ({ capacityBytes }, i) => (record.hbm[i]?.peakBytes ?? 0) / Math.max(1, capacityBytes),
  );
  return {
    name: policy.name,
    windowNs,
    slo,
    requestsPerSecond: within / (windowNs / 1e9),
    tokensPerSecond: tokensPerSecond(run),
    sloAttainment: slo === null || urgent === 0 ? null : met / urgent,
    ttftMs: percentilesOf(ttftMs),
    tpotMs: percentilesOf(tpotMs),
    utilization: utilization.reduce((a, b) => a + b, 0) / Math.max(1, utilization.length),
    completed: requests.filter((it) => it.isCompleted).length,
    requests: requests.length,
    dropped: requests.filter((it) => it.isDropped).length,
    operators: record.operators.count,
    movedBytes: record.transfers.bytes.subarray(0, record.transfers.count).reduce((a, b) => a + b, 0),
    peakHbmShare: Math.max(0, ...shares),
  };
}

/** A replay counted the tokens of its window; for any other window, and from a record, those of whole requests are known only. */
function tokensPerSecond({ policy: { outcome }, requests, windowNs }: Run): number | null {
  if (outcome !== undefined && isSameWindow(outcome.windowNs, windowNs))
    return policyResult(outcome, null).tokensPerSecond;
  const tokens = requests.reduce((sum, it) => sum + (it.lastTokenNs < windowNs ? it.tokens : 0), 0);
  return tokens === 0 ? null : tokens / (windowNs / 1e9);
}

/** @param sorted ascending. */
export function percentilesOf(sorted: ArrayLike<number>): Percentiles | null {
  if (sorted.length === 0) return null;
  const at = (share: number): number => percentileOfSorted(sorted, share);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
