/**
 * Figures of a replay, by these definitions. The *window* is the time in which requests arrive (30 minutes), from 0 up to but
 * not including its end; what happens in the drain after it is not counted into rates:
 * - requests/s: requests, online and offline, whose last token came within the window ÷ the window;
 * - tokens/s: output tokens that came within the window ÷ the window;
 * - utilisation: share of the window an accelerator is occupied by operators; the figure is the mean over accelerators;
 * - TTFT: arrival to end of the prefill, queueing included, over all online requests, drain included;
 * - TPOT: (last token − first token) ÷ (output tokens − 1), over online requests of two tokens or more, drain included;
 * - SLO attainment: share of online requests whose TTFT is at most the threshold, Static-Online's p90 TTFT.
 * Only so can the ratio over Static-Online reach ×2.29 (all 1,800 offline requests beside 1,394 online ones) and a serial
 * baseline that falls behind be told from one that keeps up: in the drain it would catch up.
 */
import { overCapacity } from "../replay/checks.ts";
import type { ReplayOutcome } from "../replay/outcome.ts";
import { type Percentiles, percentiles } from "./percentile.ts";

export interface PolicyResult {
  readonly requestsPerSecond: number;
  readonly tokensPerSecond: number;
  /** 0…1; null without a threshold or online requests. */
  readonly sloAttainment: number | null;
  /** Mean over accelerators, 0…1. */
  readonly utilization: number;
  readonly utilizationPerAccelerator: readonly number[];
  /** Null without online requests. */
  readonly ttftMs: Percentiles | null;
  /** Null without online requests of two tokens or more. */
  readonly tpotMs: Percentiles | null;
  readonly onlineOffered: number;
  /** Online requests served, drain included; every one is served to its end. */
  readonly onlineCompleted: number;
  readonly offlineOffered: number;
  /** Offline requests whose last token came within the window. */
  readonly offlineCompleted: number;
  /** What the rates count. */
  readonly inWindow: { readonly online: number; readonly offline: number; readonly outputTokens: number };
  /** Completed after the window's end, and never started by then. */
  readonly drain: {
    readonly online: number;
    readonly offline: number;
    readonly offlineDropped: number;
    readonly seconds: number;
  };
  /** One per accelerator. */
  readonly peakHbmBytes: readonly number[];
  /** Accelerators over capacity; a run with any is thrown away. */
  readonly overCapacity: number;
  readonly standstills: number;
  readonly operators: number;
  readonly rounds: number;
}

/** The figures of one replay. @param sloTtftMs threshold of the SLO, or null. Linear in the requests, up to sorting. */
export function policyResult(outcome: ReplayOutcome, sloTtftMs: number | null): PolicyResult {
  const { records, windowNs } = outcome;
  const seconds = windowNs / 1e9;
  const online = records.filter((record) => record.class === "online");
  const completed = records.filter((record) => record.outcome === "completed");
  const within = completed.filter((record) => (record.lastTokenNs ?? windowNs) < windowNs);
  const count = (list: typeof records, requestClass: "online" | "offline"): number =>
    list.filter((record) => record.class === requestClass).length;
  const inWindow = {
    online: count(within, "online"),
    offline: count(within, "offline"),
    outputTokens: records.reduce((sum, record) => sum + record.tokensInWindow, 0),
  };
  const ttft = onlineTtftMs(outcome);
  const utilization = outcome.accelerators.map((accelerator) => accelerator.utilization);
  return {
    requestsPerSecond: within.length / seconds,
    tokensPerSecond: inWindow.outputTokens / seconds,
    sloAttainment:
      sloTtftMs === null || online.length === 0 ? null : ttft.filter((ms) => ms <= sloTtftMs).length / online.length,
    utilization: utilization.reduce((a, b) => a + b, 0) / Math.max(1, utilization.length),
    utilizationPerAccelerator: utilization,
    ttftMs: percentiles(ttft),
    tpotMs: percentiles(onlineTpotMs(outcome)),
    onlineOffered: online.length,
    onlineCompleted: count(completed, "online"),
    offlineOffered: outcome.offlineOffered,
    offlineCompleted: inWindow.offline,
    inWindow,
    drain: {
      online: count(completed, "online") - inWindow.online,
      offline: count(completed, "offline") - inWindow.offline,
      offlineDropped: records.filter((record) => record.outcome === "dropped").length,
      seconds: Math.max(0, outcome.endNs - windowNs) / 1e9,
    },
    peakHbmBytes: outcome.accelerators.map((accelerator) => accelerator.peakHbmBytes),
    overCapacity: overCapacity(outcome),
    standstills: outcome.standstills,
    operators: outcome.operatorsDone,
    rounds: outcome.rounds,
  };
}

/** Times to first token of the online requests that got one, in milliseconds. */
export function onlineTtftMs(outcome: ReplayOutcome): number[] {
  return outcome.records.flatMap((record) => {
    if (record.class !== "online" || record.firstTokenNs === null) return [];
    return [(record.firstTokenNs - record.request.arrivalNs) / 1e6];
  });
}

function onlineTpotMs(outcome: ReplayOutcome): number[] {
  return outcome.records.flatMap(({ class: requestClass, firstTokenNs, lastTokenNs, tokens }) => {
    if (requestClass !== "online" || firstTokenNs === null || lastTokenNs === null || tokens < 2) return [];
    return [(lastTokenNs - firstTokenNs) / (tokens - 1) / 1e6];
  });
}
