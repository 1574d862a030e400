/** The figures that results of all kinds are compared by; null where a result does not have one. */
import type { RunRecord } from "@slicescheduler/timeline";
import { type Percentiles, type PolicyResult, percentiles } from "@slicescheduler/workloads";

export interface ComparedFigures {
  readonly requestsPerSecond: number;
  readonly tokensPerSecond: number | null;
  readonly ttftMs: Percentiles | null;
  readonly tpotMs: Percentiles | null;
  readonly sloAttainment: number | null;
  /** Mean over accelerators, 0…1. */
  readonly utilization: number;
  /** Requests of the most urgent class that were served, and of all others. */
  readonly onlineCompleted: number;
  readonly offlineCompleted: number;
  /** Of the accelerator that had most in use. */
  readonly peakHbmBytes: number;
  readonly operators: number;
}

/** Those of a replay. */
export function figuresOfResult(result: PolicyResult): ComparedFigures {
  return {
    requestsPerSecond: result.requestsPerSecond,
    tokensPerSecond: result.tokensPerSecond,
    ttftMs: result.ttftMs,
    tpotMs: result.tpotMs,
    sloAttainment: result.sloAttainment,
    utilization: result.utilization,
    onlineCompleted: result.onlineCompleted,
    offlineCompleted: result.offlineCompleted,
    peakHbmBytes: Math.max(0, ...result.peakHbmBytes),
    operators: result.operators,
  };
}

/**
 * Those of a run record alone: rates over the whole span that was recorded, first tokens counted from the submission to the master, since
 * a record knows of no earlier arrival; without reported tokens the end of the first instance stands for the first token.
 */
export function figuresOfRecord(record: RunRecord): ComparedFigures {
  const { requests, operators } = record;
  const seconds = Math.max(Number.MIN_VALUE, (record.endNs - record.startNs) / 1e9);
  const done = Array.from({ length: requests.count }, (_, i) => i).filter((i) => requests.outcome[i] === doneOutcome);
  const isUrgent = (i: number): boolean => (requests.rank[i] ?? 0) <= 0;
  const tokens = requests.tokens.reduce((sum, count) => sum + (Number.isFinite(count) ? count : 0), 0);
  const busyNs = busyTimeNs(record);
  const ttftMs = done.flatMap((i) => {
    const firstNs = finite(requests.firstTokenNs[i]) ?? finite(requests.firstDoneNs[i]);
    const ms = ((firstNs ?? Number.NaN) - (requests.submittedNs[i] ?? Number.NaN)) / 1e6;
    return isUrgent(i) && Number.isFinite(ms) ? [ms] : [];
  });
  const tpotMs = done.flatMap((i) => {
    const count = requests.tokens[i] ?? 0;
    const ms = ((requests.lastTokenNs[i] ?? Number.NaN) - (requests.firstTokenNs[i] ?? Number.NaN)) / (count - 1) / 1e6;
    return isUrgent(i) && count >= 2 && Number.isFinite(ms) ? [ms] : [];
  });
  return {
    requestsPerSecond: done.length / seconds,
    tokensPerSecond: tokens > 0 ? tokens / seconds : null,
    ttftMs: percentiles(ttftMs),
    tpotMs: percentiles(tpotMs),
    sloAttainment: null,
    utilization: busyNs / (seconds * 1e9) / Math.max(1, record.accelerators.length),
    onlineCompleted: done.filter(isUrgent).length,
    offlineCompleted: done.filter((i) => !isUrgent(i)).length,
    peakHbmBytes: record.hbm.reduce((most, { peakBytes }) => Math.max(most, peakBytes), 0),
    operators: operators.count,
  };
}

/** Position of "done" in `REQUEST_OUTCOMES`. */
const doneOutcome = 1;

function busyTimeNs({ operators, endNs }: RunRecord): number {
  let busyNs = 0;
  for (let i = 0; i < operators.count; i++) {
    const startNs = operators.startNs[i] ?? Number.NaN;
    const untilNs = finite(operators.endNs[i]) ?? endNs;
    if (untilNs > startNs) busyNs += untilNs - startNs;
  }
  return busyNs;
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
