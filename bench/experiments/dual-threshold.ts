/** Which threshold serves Dual-Share best: how long one of its offline operators may be predicted to hold up an online one. */
import {
  colocationCluster,
  colocationOffline,
  colocationShare,
  offlineRequests,
  type PolicyResult,
  policyResult,
  type ReplayScheduling,
  replay,
  serialTtftMs,
  serveSerially,
} from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";
import { readWorkloadArguments, workloadOf } from "./inputs/workload.ts";

const THRESHOLDS_MS: readonly (number | null)[] = [0, 20, 100, 250, 400, 600, null];

export const measure: Measure = (args) => {
  const given = readWorkloadArguments(args, { share: colocationShare });
  const [seed = 1] = given.seeds;
  const { workload: online, generated, label } = workloadOf(given, seed);
  const cluster = colocationCluster();
  const offline = offlineRequests(colocationOffline, online.windowNs);
  const sloTtftMs = serialTtftMs(serveSerially(online, { passes: "afterFirstToken" }))?.p90 ?? 0;
  const points = ["dual-share", "dual-share-pipelined"].flatMap((policy) =>
    THRESHOLDS_MS.map((thresholdMs) => {
      const slices = thresholdMs === null ? false : { toleranceNs: thresholdMs * 1e6 };
      const scheduling: ReplayScheduling = { slices };
      const outcome = replay({ cluster, policy, online, offline, seed, scheduling });
      process.stderr.write(`${policy}, ${thresholdMs ?? "no"} ms: replayed\n`);
      return { policy, thresholdMs, ...policyResult(outcome, sloTtftMs) };
    }),
  );
  const text = [label, ...points.map(line)].join("\n");
  return { text, json: { workload: label, generated, seeds: [seed], sloTtftMs, points } };
};

function line(it: PolicyResult & { readonly policy: string; readonly thresholdMs: number | null }): string {
  const { policy, thresholdMs, requestsPerSecond, sloAttainment, ttftMs, tpotMs } = it;
  const threshold = thresholdMs === null ? "no threshold" : `${thresholdMs} ms`;
  return (
    `${policy}, ${threshold}: requests/s ${requestsPerSecond.toFixed(3)}, SLO ${sloAttainment?.toFixed(3)}, ` +
    `TTFT p50 ${ttftMs?.p50.toFixed(0)} p99 ${ttftMs?.p99.toFixed(0)}, TPOT p50 ${tpotMs?.p50.toFixed(1)} p99 ${tpotMs?.p99.toFixed(1)} ms`
  );
}
