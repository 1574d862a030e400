/** The cluster of a replay: the colocation experiment's, or a described one with durations by roofline. */
import type { ClusterSpec } from "@slicescheduler/gmg";
import {
  assertPolicyRuns,
  colocationCluster,
  fittingInstanceAccelerators,
  type OfferedRequests,
  type ReplayDurations,
  rooflineDurations,
  rooflineSerialPasses,
  type SerialServerOptions,
  WorkloadError,
} from "@slicescheduler/workloads";
import { loadCluster } from "../files/load.ts";
import { OptionFaults } from "../option-faults.ts";
import type { ReplaySettings } from "./settings.ts";

export interface ReplayCluster {
  readonly spec: ClusterSpec;
  /** As the user named it; null for that of the colocation experiment. */
  readonly name: string | null;
  /** Null: those of the colocation model. */
  readonly durations: ReplayDurations | null;
  /** Rates of the exact serial servers. */
  readonly serial: Pick<SerialServerOptions, "prefillNsPerToken" | "decodePassNs">;
}

/** Accelerators of an instance on the cluster of the colocation experiment. */
const colocationInstance = 2;

/** Errors: those of `loadCluster`, INVALID_OPTION for accelerators without rates. */
export function replayCluster({ cluster, hbmBytes }: ReplaySettings, cwd: string): ReplayCluster {
  if (cluster === null) return { spec: colocationCluster({ hbmBytes }), name: null, durations: null, serial: {} };
  const { spec, efficiency } = loadCluster(cluster, cwd);
  const options = { cluster: spec, efficiency };
  return { spec, name: cluster, durations: rooflineDurations(options), serial: rooflineSerialPasses(options) };
}

/** Accelerators of each model instance: as set; else 2 in the colocation experiment, and the fewest that fit elsewhere. */
export function instanceAcceleratorsOf(
  settings: ReplaySettings,
  cluster: ReplayCluster,
  offered: OfferedRequests,
): number {
  if (settings.instanceAccelerators !== null) return settings.instanceAccelerators;
  if (cluster.name === null) return colocationInstance;
  return fittingInstanceAccelerators(cluster.spec, settings.policies, offered);
}

/** What each policy needs of the cluster, before the first one is replayed. Errors: USAGE, with a line for each fault. */
export function checkPolicies(
  { policies }: ReplaySettings,
  { spec }: ReplayCluster,
  instanceAccelerators: number,
  offered: OfferedRequests,
): void {
  const faults = new OptionFaults();
  for (const policy of policies) {
    faults.attempt(
      () => assertPolicyRuns(spec, policy, instanceAccelerators, offered),
      (error) => error instanceof WorkloadError,
    );
  }
  faults.throwIfAny();
}
