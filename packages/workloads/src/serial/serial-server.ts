/**
 * One serial server per tenant, first come first served: the exact, independent yardstick for Static-Online and for the
 * shape of a workload. No noise, no transfers.
 */
import { type Percentiles, percentileOfSorted, percentiles } from "../metrics/percentile.ts";
import type { Workload, WorkloadRequest } from "../recipes/types.ts";

export interface SerialServerOptions {
  /** Prefill time per prompt token. Default 0.9 ms: four operators of 0.225 ms. */
  readonly prefillNsPerToken?: number;
  /** Time of one decode pass. Default 42.3 ms: four operators of 10.575 ms. */
  readonly decodePassNs?: number;
  /**
   * Passes after the prefill: one per output token, as EXPERIMENTS.md's measured figures have it, or one fewer because
   * the prefill yields the first token, as a real replay has it. Default "perOutputToken".
   */
  readonly passes?: "perOutputToken" | "afterFirstToken";
}

export interface Interval {
  readonly startNs: number;
  readonly endNs: number;
}

export interface SerialResult {
  /** Per tenant, one interval per request in order; they never overlap but may touch. */
  readonly busy: readonly (readonly Interval[])[];
  /** Per tenant and request: arrival to the end of its prefill. */
  readonly ttftNs: readonly (readonly number[])[];
}

/** Serves each tenant's requests one at a time in order of arrival; linear. */
export function serveSerially(workload: Workload, options: SerialServerOptions = {}): SerialResult {
  const served = workload.tenants.map((requests) => serveTenant(requests, options));
  return { busy: served.map((s) => s.busy), ttftNs: served.map((s) => s.ttftNs) };
}

function serveTenant(
  requests: readonly WorkloadRequest[],
  options: SerialServerOptions,
): { busy: Interval[]; ttftNs: number[] } {
  const { prefillNsPerToken = 0.9e6, decodePassNs = 42.3e6, passes = "perOutputToken" } = options;
  const busy: Interval[] = [];
  const ttftNs: number[] = [];
  let freeNs = 0;
  for (const { arrivalNs, inputTokens, outputTokens } of requests) {
    const startNs = Math.max(freeNs, arrivalNs);
    const firstTokenNs = startNs + inputTokens * prefillNsPerToken;
    freeNs = firstTokenNs + decodePassNs * (outputTokens - (passes === "afterFirstToken" ? 1 : 0));
    busy.push({ startNs, endNs: freeNs });
    ttftNs.push(firstTokenNs - arrivalNs);
  }
  return { busy, ttftNs };
}

/** Per tenant: the share of the window in which its server is busy, 0…1. */
export function serialUtilization(result: SerialResult, windowNs: number): number[] {
  return result.busy.map((intervals) => busyWithin(intervals, windowNs) / windowNs);
}

/** TTFT percentiles over all tenants in milliseconds; null without requests. */
export function serialTtftMs(result: SerialResult): Percentiles | null {
  return percentiles(result.ttftNs.flat().map((ns) => ns / 1e6));
}

function busyWithin(intervals: readonly Interval[], windowNs: number): number {
  return intervals.reduce(
    (sum, i) => sum + Math.max(0, Math.min(i.endNs, windowNs) - Math.min(i.startNs, windowNs)),
    0,
  );
}

/** The stretches of the window in which a tenant's server is idle, the ones at both ends included. */
export function idleIntervals(busy: readonly Interval[], windowNs: number): Interval[] {
  const idle: Interval[] = [];
  let freeNs = 0;
  for (const { startNs, endNs } of busy) {
    if (startNs >= windowNs) break;
    if (startNs > freeNs) idle.push({ startNs: freeNs, endNs: startNs });
    freeNs = endNs;
  }
  if (freeNs < windowNs) idle.push({ startNs: freeNs, endNs: windowNs });
  return idle;
}

export interface IdleSlices {
  /** Lengths of the idle slices of all tenants together. */
  readonly idleMs: Percentiles;
  /** Share of the whole idle time in slices shorter than p99, 0…1. */
  readonly shareBelowP99: number;
}

/** Lengths of the idle slices (paper §2.1, Fig. 1); null when no server is ever idle. */
export function idleSlices(result: SerialResult, windowNs: number): IdleSlices | null {
  const lengths = result.busy
    .flatMap((busy) => idleIntervals(busy, windowNs))
    .map((i) => (i.endNs - i.startNs) / 1e6)
    .sort((a, b) => a - b);
  const idleMs = percentiles(lengths);
  if (idleMs === null) return null;
  const p99 = percentileOfSorted(lengths, 0.99);
  const total = lengths.reduce((a, b) => a + b, 0);
  const below = lengths.filter((length) => length < p99).reduce((a, b) => a + b, 0);
  return { idleMs, shareBelowP99: below / total };
}

/**
 * How much of the idle time is common to all tenants: the time in which every server is idle ÷ the mean idle time of one
 * server, 0…1 (paper §2.2.2). 0 when no server is ever idle.
 */
export function idleOverlap(result: SerialResult, windowNs: number): number {
  const idle = result.busy.map((busy) => idleIntervals(busy, windowNs));
  const totalNs = idle.flat().reduce((sum, i) => sum + (i.endNs - i.startNs), 0);
  if (totalNs === 0) return 0;
  const edges = idle.flatMap((list) =>
    list.flatMap((i) => [
      { atNs: i.startNs, step: 1 },
      { atNs: i.endNs, step: -1 },
    ]),
  );
  edges.sort((a, b) => a.atNs - b.atNs || a.step - b.step);
  let depth = 0;
  let sinceNs = 0;
  let commonNs = 0;
  for (const { atNs, step } of edges) {
    if (depth === idle.length) commonNs += atNs - sinceNs;
    depth += step;
    sinceNs = atNs;
  }
  return commonNs / (totalNs / idle.length);
}
