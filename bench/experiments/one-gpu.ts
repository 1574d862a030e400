/**
 * One online and one offline instance on one accelerator (paper §2.1, Fig. 3). Each of the trace's four instances in turn has the
 * accelerator alone, and then shares it with an offline instance that always has a request.
 */
import {
  colocationCluster,
  colocationOffline,
  idleSlicesShare,
  type Lane,
  offlineRequests,
  type PolicyResult,
  policyResult,
  type ReplayPolicy,
  replay,
  serialTtftMs,
  serveSerially,
  type Workload,
} from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";
import { readWorkloadArguments, workloadOf } from "./inputs/workload.ts";

/** The SLA: nine of ten requests have their first token within the time in which they have it alone, and so much more. */
const SLA_TTFT_RATIO = 1.1;

const lane = (name: string): Lane => ({ name, partitions: ["single0"], concurrentRequestsMax: 1 });
const alone: ReplayPolicy = {
  name: "online alone",
  summary: "one online instance",
  online: { assign: "leastLoaded", lanes: [lane("online")] },
  offline: null,
  // Plain priority, as in the paper's experiment.
  scheduling: { slices: false },
};
const shared: ReplayPolicy = {
  ...alone,
  name: "shared",
  summary: "one online and one offline instance",
  offline: { assign: "leastLoaded", lanes: [lane("offline")] },
};

export const measure: Measure = (args) => {
  const given = readWorkloadArguments(args, { share: idleSlicesShare });
  const [seed = 1] = given.seeds;
  const { workload, generated, label } = workloadOf(given, seed);
  const instances = workload.tenants.map((requests, tenant) => {
    const online: Workload = {
      windowNs: workload.windowNs,
      tenants: [requests.map((request) => ({ ...request, tenant: 0 }))],
    };
    return { tenant, ...compare(online, seed) };
  });
  const sum = (pick: (of: (typeof instances)[number]) => number): number =>
    instances.reduce((a, it) => a + pick(it), 0);
  const tokensRatio = sum((it) => it.shared.tokensPerSecond) / sum((it) => it.alone.tokensPerSecond);
  const requestsRatio = sum((it) => it.shared.requestsPerSecond) / sum((it) => it.alone.requestsPerSecond);
  const slaKept = instances.every((it) => it.slaKept);
  const text = [
    label,
    ...instances.map(
      (it) =>
        `instance ${it.tenant}: tokens/s ×${ratio(it.shared.tokensPerSecond, it.alone.tokensPerSecond)}, ` +
        `utilisation ${it.alone.utilization.toFixed(3)} → ${it.shared.utilization.toFixed(3)}, ` +
        `TTFT p50 ${spread(it.alone, it.shared, "p50")}, p90 ${spread(it.alone, it.shared, "p90")} ms, ` +
        `TPOT p50 ${it.alone.tpotMs?.p50.toFixed(1)} → ${it.shared.tpotMs?.p50.toFixed(1)} ms`,
    ),
    `together: tokens/s ×${tokensRatio.toFixed(2)} (paper: ×1.25), requests/s ×${requestsRatio.toFixed(2)}`,
    `SLA (p90 TTFT at most ×${SLA_TTFT_RATIO} of that alone) kept: ${slaKept ? "by all" : "not by all"} (paper: kept)`,
  ].join("\n");
  return { text, json: { tokensRatio, slaKept, requestsRatio, workload: label, generated, seeds: [seed], instances } };
};

function compare(online: Workload, seed: number): { alone: PolicyResult; shared: PolicyResult; slaKept: boolean } {
  const cluster = colocationCluster({ accelerators: 1 });
  const offline = offlineRequests(colocationOffline, online.windowNs);
  const sloTtftMs = serialTtftMs(serveSerially(online, { passes: "afterFirstToken" }))?.p90 ?? 0;
  const run = (policy: ReplayPolicy): PolicyResult =>
    policyResult(replay({ cluster, policy, online, offline, seed }), sloTtftMs);
  const results = { alone: run(alone), shared: run(shared) };
  const within = (results.shared.ttftMs?.p90 ?? 0) / (results.alone.ttftMs?.p90 ?? 1);
  return { ...results, slaKept: within <= SLA_TTFT_RATIO };
}

function ratio(a: number, b: number): string {
  return (a / b).toFixed(2);
}

function spread(before: PolicyResult, after: PolicyResult, which: "p50" | "p90"): string {
  return `${before.ttftMs?.[which].toFixed(0)} → ${after.ttftMs?.[which].toFixed(0)}`;
}
