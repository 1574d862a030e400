/**
 * How idle an online instance is (paper §2.1, Fig. 1): serial servers on the trace, and the same figures out of a replay of
 * Static-Online on the virtual cluster, with noise and transfers.
 */
import {
  colocationCluster,
  idleSlices,
  idleSlicesShare,
  type Percentiles,
  type ReplayOutcome,
  replay,
  type SerialResult,
  serialUtilization,
  serveSerially,
  type Workload,
} from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";
import { readWorkloadArguments, workloadOf } from "./inputs/workload.ts";

interface Figures {
  readonly utilization: number;
  readonly idleMs: Percentiles | null;
  readonly shareBelowP99: number | null;
}

export const measure: Measure = (args) => {
  const given = readWorkloadArguments(args, { share: idleSlicesShare });
  const [seed = 1] = given.seeds;
  const { workload, generated, label } = workloadOf(given, seed);
  const serial = figuresOf(serveSerially(workload), workload.windowNs);
  // A day of four instances is four million operators: its shape is told by the serial servers alone.
  const replayed = given.recipe === "C" ? null : figuresOf(replayedServers(workload, seed), workload.windowNs);
  const text = [
    label,
    `                     utilisation   idle slices p50 / p90 / p99 ms   idle time in slices below p99`,
    `paper                      0.640             2551 / 10888 / 17790                          95.6 %`,
    `serial servers      ${line(serial)}`,
    ...(replayed === null ? [] : [`replay on the engine${line(replayed)}`]),
  ].join("\n");
  return { text, json: { workload: label, generated, seeds: [seed], ...serial, replayed } };
};

function figuresOf(result: SerialResult, windowNs: number): Figures {
  const utilization = serialUtilization(result, windowNs);
  const slices = idleSlices(result, windowNs);
  return {
    utilization: utilization.reduce((a, b) => a + b, 0) / utilization.length,
    idleMs: slices?.idleMs ?? null,
    shareBelowP99: slices?.shareBelowP99 ?? null,
  };
}

/** The busy times of the instances in a replay of Static-Online: from each request's start to its last token. */
function replayedServers(online: Workload, seed: number): SerialResult {
  const cluster = colocationCluster({ accelerators: 2 * online.tenants.length });
  const outcome: ReplayOutcome = replay({ cluster, policy: "static-online", online, offline: [], seed });
  const ofTenant = online.tenants.map((_, tenant) =>
    outcome.records.filter(({ request }) => request.tenant === tenant).sort((a, b) => startOf(a) - startOf(b)),
  );
  return {
    busy: ofTenant.map((records) =>
      records.map((record) => ({ startNs: startOf(record), endNs: record.lastTokenNs ?? Number.NaN })),
    ),
    ttftNs: ofTenant.map((records) =>
      records.map(({ firstTokenNs, request }) => (firstTokenNs ?? Number.NaN) - request.arrivalNs),
    ),
  };
}

function startOf({ startedNs }: { readonly startedNs: number | null }): number {
  return startedNs ?? Number.NaN;
}

function line({ utilization, idleMs, shareBelowP99 }: Figures): string {
  const slices = idleMs === null ? "–" : [idleMs.p50, idleMs.p90, idleMs.p99].map(Math.round).join(" / ");
  const share = shareBelowP99 === null ? "–" : `${(100 * shareBelowP99).toFixed(1)} %`;
  return `${utilization.toFixed(3).padStart(12)}${slices.padStart(33)}${share.padStart(32)}`;
}
