/** The object of `--json`: nothing in it depends on the host, so equal seeds give equal bytes. */
import {
  type OfflineLoad,
  type Percentiles,
  type PolicyResult,
  type Ratios,
  type SeedsComparison,
  type SloThreshold,
  type Spread,
  serialTtftMs,
  serialUtilization,
  serveSerially,
  type WorkloadRequest,
} from "@slicescheduler/workloads";
import type { RecipeName } from "../files/workload-file.ts";
import type { ReplayCluster } from "./cluster.ts";
import type { ReplaySettings } from "./settings.ts";
import type { ReplaySource } from "./source.ts";

export interface ReplayReport {
  /** Of the first seed; only a generated one differs from seed to seed. */
  readonly workload: WorkloadSummary;
  /** Of the executor's noise, and of the workload when it is generated. All figures are medians over them. */
  readonly seeds: readonly number[];
  /** Null without online requests. */
  readonly slo: SloThreshold | null;
  readonly policies: Readonly<Record<string, PolicyResult>>;
  readonly ratios: Readonly<Record<string, Ratios>>;
  /** Smallest and largest of the seeds, by policy; null for one seed. */
  readonly spread: Readonly<Record<string, Spread>> | null;
}

export interface WorkloadSummary {
  readonly recipe: RecipeName;
  readonly source: "trace" | "profile";
  readonly generated: boolean;
  readonly files: ReplaySource["files"];
  readonly profile: ReplaySource["profile"];
  readonly minutes: number;
  readonly share: number;
  readonly cluster: ClusterSummary;
  readonly online: {
    readonly requests: number;
    readonly perInstance: readonly number[];
    /** Of the instances, where the trace names its tenants. */
    readonly tenants?: readonly string[];
    readonly inputTokensMean: number;
    readonly outputTokensMean: number;
  };
  readonly offline: {
    readonly requests: number;
    readonly requestsPerSecond: number;
    readonly inputTokens: number;
    readonly outputTokens: number;
  };
  /** Exact serial servers on the same requests: what Static-Online must come close to. */
  readonly serialServer: { readonly utilizationPerAccelerator: number; readonly ttftMs: Percentiles | null };
}

export interface ClusterSummary {
  /** As the user named it; null for that of the colocation experiment. */
  readonly name: string | null;
  readonly accelerators: number;
  /** How many of each kind, in the order of their first. */
  readonly kinds: Readonly<Record<string, number>>;
  /** The least that an accelerator has. */
  readonly hbmBytes: number;
  /** Of each model instance. */
  readonly instanceAccelerators: number;
  /** Where true durations come from. */
  readonly durations: "colocation" | "roofline";
}

export interface Terms {
  readonly settings: ReplaySettings;
  readonly cluster: ReplayCluster;
  readonly instanceAccelerators: number;
}

/** Sums the workload up; a serial server stands for one instance. */
export function summarize(source: ReplaySource, { settings, cluster, instanceAccelerators }: Terms): WorkloadSummary {
  const requests = source.online.tenants.flat();
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
  const served = serveSerially(source.online, { ...cluster.serial, passes: "afterFirstToken" });
  return {
    recipe: settings.recipe,
    source: source.generated ? "profile" : "trace",
    generated: source.generated,
    files: source.files,
    profile: source.profile,
    minutes: source.online.windowNs / 60e9,
    share: settings.share,
    cluster: clusterSummary(cluster, instanceAccelerators),
    online: {
      requests: requests.length,
      perInstance: source.online.tenants.map((tenant) => tenant.length),
      ...(source.tenantNames === null ? {} : { tenants: source.tenantNames.online }),
      inputTokensMean: mean(requests.map((request) => request.inputTokens)),
      outputTokensMean: mean(requests.map((request) => request.outputTokens)),
    },
    offline: { requests: source.offline.length, ...offlineLoad(source) },
    serialServer: {
      utilizationPerAccelerator: mean(serialUtilization(served, source.online.windowNs)) / instanceAccelerators,
      ttftMs: serialTtftMs(served),
    },
  };
}

function clusterSummary({ spec, name, durations }: ReplayCluster, instanceAccelerators: number): ClusterSummary {
  const kinds = new Map<string, number>();
  for (const { kind } of spec.accelerators) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return {
    name,
    accelerators: spec.accelerators.length,
    kinds: Object.fromEntries(kinds),
    hbmBytes: Math.min(...spec.accelerators.map(({ hbmBytes }) => hbmBytes)),
    instanceAccelerators,
    durations: durations === null ? "colocation" : "roofline",
  };
}

/** The steady load, or the means of what the trace holds. */
function offlineLoad({ offlineLoad: load, offline, online }: ReplaySource): OfflineLoad {
  if (load !== null) return load;
  const mean = (of: (request: WorkloadRequest) => number): number =>
    offline.reduce((sum, request) => sum + of(request), 0) / Math.max(1, offline.length);
  return {
    requestsPerSecond: offline.length / (online.windowNs / 1e9),
    inputTokens: mean((request) => request.inputTokens),
    outputTokens: mean((request) => request.outputTokens),
  };
}

/** The report, with its fields in a fixed order. */
export function reportOf(
  workload: WorkloadSummary,
  settings: ReplaySettings,
  comparison: SeedsComparison,
): ReplayReport {
  return {
    workload,
    seeds: settings.seeds,
    slo: comparison.slo,
    policies: comparison.policies,
    ratios: comparison.ratios,
    spread: settings.seeds.length > 1 ? comparison.spread : null,
  };
}
