/** Where a replay's requests come from: named traces, the shared ones, a profile; by a recipe, or as they are. */
import { basename, join } from "node:path";
import {
  azure2023Profile,
  EmptyWorkloadError,
  generateTraces,
  hasAzureTraces,
  InvalidOptionError,
  type OfflineLoad,
  offlineRequests,
  openTrace,
  readTracePair,
  readWorkloadProfile,
  recipeB,
  recipeB48,
  shortened,
  type TraceRequest,
  traceWorkload,
  type Workload,
  type WorkloadProfile,
  type WorkloadRequest,
} from "@slicescheduler/workloads";
import { resolved } from "../files/load.ts";
import type { Io } from "../io.ts";
import type { ProgressPrinter } from "../progress.ts";
import { isBuiltInProfile, type ReplaySettings } from "./settings.ts";

export interface ReplaySource {
  readonly online: Workload;
  readonly offline: readonly WorkloadRequest[];
  /** The steady load, or null where there is none. */
  readonly offlineLoad: OfflineLoad | null;
  /** True when no trace was read. */
  readonly generated: boolean;
  /** Base names of the trace files, or null. */
  readonly files: { readonly arrivals: string; readonly lengths: string } | null;
  /** Name of the profile and whose traces it was measured from, or null. */
  readonly profile: { readonly name: string; readonly attribution: string } | null;
}

/** Where the development checkout has the public traces, seen from the repository. */
const sharedTraces = "../shared/data/traces";

/** Reads the workload once, or generates one for each seed. Errors: those of the trace readers and recipes. */
export async function replaySources(
  settings: ReplaySettings,
  io: Io,
  progress: ProgressPrinter,
): Promise<(seed: number) => ReplaySource> {
  if (settings.recipe === "plain") {
    const source = await plainSource(settings, io, progress);
    return () => source;
  }
  const named = settings.trace.map((path) => resolved(path, io.cwd));
  const paths = named.length > 0 ? named : settings.profile === null ? defaultTraces(io) : null;
  if (paths === null) {
    const profile = profileOf(settings, io);
    const { name, attribution } = profile;
    return (seed) => {
      const { arrivals, lengths } = generateTraces(profile, seed);
      return { ...dealt(settings, arrivals, lengths), generated: true, files: null, profile: { name, attribution } };
    };
  }
  const { arrivals, lengths, files } = readTracePair(paths);
  const source = { ...dealt(settings, arrivals, lengths), generated: false, files, profile: null };
  return () => source;
}

function profileOf({ profile }: ReplaySettings, io: Io): WorkloadProfile {
  return profile === null || isBuiltInProfile(profile)
    ? azure2023Profile
    : readWorkloadProfile(resolved(profile, io.cwd));
}

type Dealt = Pick<ReplaySource, "online" | "offline" | "offlineLoad">;
type Rows = Parameters<typeof recipeB>[0];

function dealt({ recipe, share, minutes, offline: load }: ReplaySettings, arrivals: Rows, lengths: Rows): Dealt {
  const whole = (recipe === "B48" ? recipeB48 : recipeB)(arrivals, lengths, share);
  const windowNs = minutes === null ? whole.windowNs : Math.round(minutes * 60e9);
  const online = shortened(whole, windowNs);
  if (online.tenants.every((requests) => requests.length === 0)) {
    throw new EmptyWorkloadError(`no online request arrives within the first ${minutes} min of the workload`);
  }
  return { online, offline: load === null ? [] : offlineRequests(load, windowNs), offlineLoad: load };
}

/** Every request of one trace as it is, its offline ones beside the steady load. */
async function plainSource(settings: ReplaySettings, io: Io, progress: ProgressPrinter): Promise<ReplaySource> {
  const [path, second] = settings.trace;
  if (path === undefined || second !== undefined) {
    throw new InvalidOptionError("--trace", `${settings.trace.length} paths`, "one file with recipe plain");
  }
  const rows: TraceRequest[] = [];
  const onProgress = ({ bytes, bytesTotal }: { bytes: number; bytesTotal: number }): void =>
    progress.show(`reading ${basename(path)}`, bytes / Math.max(1, bytesTotal));
  for await (const row of openTrace(resolved(path, io.cwd), { onProgress })) rows.push(row);
  progress.clear();
  const windowNs = settings.minutes === null ? {} : { windowNs: Math.round(settings.minutes * 60e9) };
  const { online, offline } = traceWorkload(rows, windowNs);
  const load = settings.offline;
  const steady = load === null ? [] : offlineRequests(load, online.windowNs);
  return {
    online,
    offline: [...offline, ...steady].sort((a, b) => a.arrivalNs - b.arrivalNs),
    offlineLoad: load,
    generated: false,
    files: { arrivals: basename(path), lengths: basename(path) },
    profile: null,
  };
}

function defaultTraces(io: Io): string[] | null {
  const named = io.env["SLICESCHEDULER_TRACES"];
  if (named !== undefined && named !== "") return [named];
  const shared = join(io.cwd, sharedTraces);
  return hasAzureTraces(shared) ? [shared] : null;
}
