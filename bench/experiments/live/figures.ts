import { type Percentiles, percentiles } from "@slicescheduler/workloads";
import type { LivePlay, LiveRecord } from "./replay.ts";
import { median } from "./statistics.ts";

export interface LiveFigures {
  readonly requestsPerSecond: number;
  readonly tokensPerSecond: number;
  /** Of online requests. */
  readonly ttftMs: Percentiles | null;
  /** Of online requests with two tokens or more. */
  readonly tpotMs: Percentiles | null;
  /** Of each operator of an online decode step. */
  readonly decodeOperatorMs: Percentiles | null;
  readonly onlineCompleted: number;
  readonly offlineOffered: number;
  readonly offlineCompleted: number;
  /** Share of the time in which the thread that schedules was not idle. */
  readonly threadBusy: number;
}

/** What was completed within the window counts for throughput; latencies are of all online requests. */
export function figuresOf({ records, decodeOperatorNs }: LivePlay, windowNs: number): Omit<LiveFigures, "threadBusy"> {
  const online = records.filter(({ request }) => request.class === "online");
  const offline = records.filter(({ request }) => request.class === "offline");
  const within = (tokenNs: readonly number[]) => tokenNs.filter((atNs) => atNs <= windowNs).length;
  const completed = (those: readonly LiveRecord[]) =>
    those.filter(({ request, tokenNs }) => within(tokenNs) === request.count).length;
  const tokens = records.reduce((sum, { tokenNs }) => sum + within(tokenNs), 0);
  const ttft = online.map(({ request, tokenNs }) => ((tokenNs[0] ?? Number.NaN) - request.arrivalNs) / 1e6);
  const tpot = online.flatMap(({ tokenNs }) => {
    const [first, last] = [tokenNs[0], tokenNs[tokenNs.length - 1]];
    if (first === undefined || last === undefined || tokenNs.length < 2) return [];
    return [(last - first) / (tokenNs.length - 1) / 1e6];
  });
  return {
    requestsPerSecond: (completed(online) + completed(offline)) / (windowNs / 1e9),
    tokensPerSecond: tokens / (windowNs / 1e9),
    ttftMs: percentiles(ttft),
    tpotMs: percentiles(tpot),
    decodeOperatorMs: percentiles(decodeOperatorNs.map((ns) => ns / 1e6)),
    onlineCompleted: completed(online),
    offlineOffered: offline.length,
    offlineCompleted: completed(offline),
  };
}

/** Medians over the rounds, figure by figure; counts are sums. */
export function overRounds(rounds: readonly LiveFigures[]): LiveFigures {
  const of = (pick: (round: LiveFigures) => number) => median(rounds.map(pick));
  const sum = (pick: (round: LiveFigures) => number) => rounds.reduce((total, round) => total + pick(round), 0);
  const spread = (pick: (round: LiveFigures) => Percentiles | null): Percentiles => ({
    p50: of((round) => pick(round)?.p50 ?? Number.NaN),
    p90: of((round) => pick(round)?.p90 ?? Number.NaN),
    p99: of((round) => pick(round)?.p99 ?? Number.NaN),
  });
  return {
    requestsPerSecond: of((round) => round.requestsPerSecond),
    tokensPerSecond: of((round) => round.tokensPerSecond),
    ttftMs: spread((round) => round.ttftMs),
    tpotMs: spread((round) => round.tpotMs),
    decodeOperatorMs: spread((round) => round.decodeOperatorMs),
    onlineCompleted: sum((round) => round.onlineCompleted),
    offlineOffered: sum((round) => round.offlineOffered),
    offlineCompleted: sum((round) => round.offlineCompleted),
    threadBusy: of((round) => round.threadBusy),
  };
}
