/** The object of `--json`: nothing in it depends on the host, so equal seeds give equal bytes. */
import {
  type Percentiles,
  type PolicyResult,
  type Ratios,
  type SeedsComparison,
  type SloThreshold,
  type Spread,
  serialTtftMs,
  serialUtilization,
  serveSerially,
} from "@slicescheduler/workloads";
import type { RecipeName, ReplaySettings } from "./options.ts";
import type { ReplaySource } from "./source.ts";

export interface ReplayReport {
  /** Of the first seed; only a generated one differs from seed to seed. */
  readonly workload: WorkloadSummary;
  /** Of the executor's noise, and of the workload when it is generated. All figures are medians over them. */
  readonly seeds: readonly number[];
  readonly slo: SloThreshold;
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
  readonly cluster: { readonly accelerators: number; readonly hbmBytes: number };
  readonly online: {
    readonly requests: number;
    readonly perInstance: readonly number[];
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

/** Sums the workload up. @param accelerators of the cluster; a serial server stands for a pair of them. */
export function summarize(source: ReplaySource, settings: ReplaySettings, accelerators: number): WorkloadSummary {
  const requests = source.online.tenants.flat();
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
  const served = serveSerially(source.online, { passes: "afterFirstToken" });
  return {
    recipe: settings.recipe,
    source: source.generated ? "profile" : "trace",
    generated: source.generated,
    files: source.files,
    profile: source.profile,
    minutes: settings.minutes,
    share: settings.share,
    cluster: { accelerators, hbmBytes: settings.hbmBytes },
    online: {
      requests: requests.length,
      perInstance: source.online.tenants.map((tenant) => tenant.length),
      inputTokensMean: mean(requests.map((request) => request.inputTokens)),
      outputTokensMean: mean(requests.map((request) => request.outputTokens)),
    },
    offline: { requests: source.offline.length, ...source.offlineLoad },
    serialServer: {
      utilizationPerAccelerator: mean(serialUtilization(served, source.online.windowNs)) / 2,
      ttftMs: serialTtftMs(served),
    },
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
