/** Where a replay's requests come from: named traces, the shared ones, or the built-in profile. */
import { join } from "node:path";
import {
  azure2023Profile,
  colocationOffline,
  EmptyWorkloadError,
  generateTraces,
  hasAzureTraces,
  type OfflineLoad,
  offlineRequests,
  readTracePair,
  recipeB,
  recipeB48,
  shortened,
  type Workload,
  type WorkloadRequest,
} from "@slicescheduler/workloads";
import type { Io } from "./io.ts";
import type { ReplaySettings } from "./options.ts";

export interface ReplaySource {
  readonly online: Workload;
  readonly offline: readonly WorkloadRequest[];
  readonly offlineLoad: OfflineLoad;
  /** True when no trace was read. */
  readonly generated: boolean;
  /** Base names of the trace files, or null. */
  readonly files: { readonly arrivals: string; readonly lengths: string } | null;
  /** Name of the built-in profile and whose traces it was measured from, or null. */
  readonly profile: { readonly name: string; readonly attribution: string } | null;
}

/** Where the development checkout has the public traces, seen from the repository. */
const sharedTraces = "../shared/data/traces";

/**
 * Reads the workload once, or generates one for each seed. Errors: those of the trace readers and recipes.
 */
export function replaySources(settings: ReplaySettings, io: Io): (seed: number) => ReplaySource {
  const paths = settings.trace.length > 0 ? settings.trace : defaultTraces(io);
  const recipe = settings.recipe === "B48" ? recipeB48 : recipeB;
  const windowNs = Math.round(settings.minutes * 60e9);
  const offline = offlineRequests(colocationOffline, windowNs);
  const finish = (whole: Workload): { online: Workload; offline: typeof offline; offlineLoad: OfflineLoad } => {
    const online = shortened(whole, windowNs);
    if (online.tenants.every((requests) => requests.length === 0)) {
      throw new EmptyWorkloadError(
        `no online request arrives within the first ${settings.minutes} min of the workload`,
      );
    }
    return { online, offline, offlineLoad: colocationOffline };
  };
  if (paths === null) {
    const { name, attribution } = azure2023Profile;
    return (seed) => {
      const { arrivals, lengths } = generateTraces(azure2023Profile, seed);
      const online = recipe(arrivals, lengths, settings.share);
      return { ...finish(online), generated: true, files: null, profile: { name, attribution } };
    };
  }
  const { arrivals, lengths, files } = readTracePair(paths);
  const source = { ...finish(recipe(arrivals, lengths, settings.share)), generated: false, files, profile: null };
  return () => source;
}

function defaultTraces(io: Io): string[] | null {
  const named = io.env["SLICESCHEDULER_TRACES"];
  if (named !== undefined && named !== "") return [named];
  const shared = join(io.cwd, sharedTraces);
  return hasAzureTraces(shared) ? [shared] : null;
}
