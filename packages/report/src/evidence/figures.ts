/** The figures of the first table, one row per policy. */
import { type Percentiles, percentileOfSorted, policyResult } from "@slicescheduler/workloads";
import type { ReportInput, ReportSlo } from "../input.ts";
import type { Run } from "./run.ts";

export interface Figures {
  readonly name: string;
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
  /** Completed or not; those that were dropped before they began left out. */
  readonly requests: number;
  readonly operators: number;
  readonly movedBytes: number;
  /** Largest share of its capacity that an accelerator had in use, 0…1. */
  readonly peakHbmShare: number;
}

export interface Comparison {
  readonly slo: ReportSlo | null;
  readonly figures: readonly Figures[];
}

/** The threshold that was given, or else Static-Online's p90. */
export function compare(runs: readonly Run[], input: ReportInput, windowNs: number): Comparison {
  const slo = input.slo ?? staticOnlineSlo(runs);
  return { slo, figures: runs.map((run) => figuresOf(run, slo?.ttftMs ?? null, windowNs)) };
}

function staticOnlineSlo(runs: readonly Run[]): ReportSlo | null {
  const ttftMs = runs.find(({ policy }) => policy.name === "static-online")?.ttftMs;
  if (ttftMs === undefined || ttftMs.length === 0) return null;
  return { ttftMs: percentileOfSorted(ttftMs, 0.9), source: "the p90 TTFT of static-online" };
}

function figuresOf(run: Run, sloTtftMs: number | null, windowNs: number): Figures {
  const { policy, record, requests, ttftMs, tpotMs, utilization } = run;
  const urgent = requests.filter((it) => it.isMostUrgent).length;
  const within = requests.filter((it) => it.isCompleted && it.endedNs < windowNs).length;
  const met = sloTtftMs === null ? 0 : ttftMs.filter((ms) => ms < sloTtftMs).length;
  const shares = record.accelerators.map(
    ({ capacityBytes }, i) => (record.hbm[i]?.peakBytes ?? 0) / Math.max(1, capacityBytes),
  );
  return {
    name: policy.name,
    requestsPerSecond: within / (windowNs / 1e9),
    tokensPerSecond: tokensPerSecond(run, windowNs),
    sloAttainment: sloTtftMs === null || urgent === 0 ? null : met / urgent,
    ttftMs: percentilesOf(ttftMs),
    tpotMs: percentilesOf(tpotMs),
    utilization: utilization.reduce((a, b) => a + b, 0) / Math.max(1, utilization.length),
    completed: requests.filter((it) => it.isCompleted).length,
    requests: requests.length,
    operators: record.operators.count,
    movedBytes: record.transfers.bytes.subarray(0, record.transfers.count).reduce((a, b) => a + b, 0),
    peakHbmShare: Math.max(0, ...shares),
  };
}

/** A replay counted the tokens of the window; a record knows those of whole requests only. */
function tokensPerSecond({ policy, requests }: Run, windowNs: number): number | null {
  if (policy.outcome !== undefined) return policyResult(policy.outcome, 0).tokensPerSecond;
  const tokens = requests.reduce((sum, it) => sum + (it.lastTokenNs < windowNs ? it.tokens : 0), 0);
  return tokens === 0 ? null : tokens / (windowNs / 1e9);
}

/** @param sorted ascending. */
export function percentilesOf(sorted: ArrayLike<number>): Percentiles | null {
  if (sorted.length === 0) return null;
  const at = (share: number): number => percentileOfSorted(sorted, share);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
