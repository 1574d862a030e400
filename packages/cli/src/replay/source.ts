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
  readTracePair,
  readWorkloadProfile,
  recipeB,
  recipeB48,
  shortened,
  type TenantNames,
  TraceError,
  type TracePair,
  type TraceRequest,
  traceWorkload,
  type Workload,
  type WorkloadProfile,
  type WorkloadRequest,
} from "@slicescheduler/workloads";
import { resolved } from "../files/load.ts";
import type { Io } from "../io.ts";
import type { ProgressPrinter } from "../progress.ts";
import { readRows, replayRowsMax } from "../traces/read-rows.ts";
import { checkClasses } from "./offline-classes.ts";
import { isBuiltInProfile, type ReplaySettings } from "./settings.ts";

export interface ReplaySource {
  readonly online: Workload;
  readonly offline: readonly WorkloadRequest[];
  /** The steady load, or null where there is none. */
  readonly offlineLoad: OfflineLoad | null;
  /** Null where the trace names none. */
  readonly tenantNames: TenantNames | null;
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
    if (settings.trace.length === 0) return plainProfile(settings, profileOf(settings, io));
    const source = await plainTrace(settings, io, progress);
    return () => source;
  }
  const named = settings.trace.map((path) => resolved(path, io.cwd));
  const paths = named.length > 0 ? named : settings.profile === null ? defaultTraces(io) : null;
  if (paths === null) {
    const profile = profileOf(settings, io);
    const { name, attribution } = profile;
    return (seed) => {
      const { arrivals, lengths } = generateTraces(profile, seed);
      const requests = dealt(settings, arrivals, lengths);
      return { ...requests, tenantNames: null, generated: true, files: null, profile: { name, attribution } };
    };
  }
  const { arrivals, lengths, files } = recipeTraces(paths);
  const requests =
    named.length > 0 ? dealtTrace(settings, { arrivals, lengths }, progress) : dealt(settings, arrivals, lengths);
  const source = { ...requests, tenantNames: null, generated: false, files, profile: null };
  return () => source;
}

/** A table that is of no known form is most likely somebody's own log. Errors: those of `readTracePair`. */
function recipeTraces(paths: readonly string[]): TracePair {
  try {
    return readTracePair(paths);
  } catch (error) {
    if (!(error instanceof TraceError) || error.code !== "TRACE_WRONG_HEADER") throw error;
    const { code, file, line, reason } = error;
    const advice =
      "a log of another form becomes a trace by `slicescheduler convert --columns`, to be replayed with --recipe plain";
    throw new TraceError(code, file, line, `${reason}; ${advice}`, { cause: error });
  }
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

const plainHint = "--recipe plain replays it as it is";
/** From the beginning of the first service's half hour to the end of the last one's. */
const recipeSpanNs = 3450e9;

/** The same of a trace that the user named; one that the recipe is not made for is told. */
function dealtTrace(
  settings: ReplaySettings,
  { arrivals, lengths }: Pick<TracePair, "arrivals" | "lengths">,
  progress: ProgressPrinter,
): Dealt {
  const { recipe, share, isRecipeNamed } = settings;
  let requests: Dealt;
  try {
    requests = dealt(settings, arrivals, lengths);
  } catch (error) {
    if (!(error instanceof EmptyWorkloadError)) throw error;
    throw new EmptyWorkloadError(`${error.message}. ${plainHint}`);
  }
  const spanNs = arrivals.at(-1)?.arrivalNs ?? 0;
  if (isRecipeNamed || spanNs >= recipeSpanNs) return requests;
  const kept = requests.online.tenants.reduce((sum, tenant) => sum + tenant.length, 0);
  progress.line(
    `Recipe ${recipe} cuts four half hours out of a trace of ${recipeSpanNs / 60e9} min and keeps a share of ${share} for each; this one has ` +
      `${Number((spanNs / 60e9).toFixed(2))} min, and ${kept} of its ${arrivals.length} requests are kept. ${plainHint}.`,
  );
  return requests;
}

/** Requests like those of a profile, all of one service, for as long as was measured. */
function plainProfile(settings: ReplaySettings, profile: WorkloadProfile): (seed: number) => ReplaySource {
  const { windowSeconds, requestsPerSecond } = profile.arrivals;
  const windowNs = Math.max(1, Math.round(minutesNs(settings) ?? windowSeconds * requestsPerSecond.length * 1e9));
  const expected = requestsPerSecond
    .map((rate, window) => rate * Math.max(0, Math.min(windowSeconds, windowNs / 1e9 - window * windowSeconds)))
    .reduce((sum, requests) => sum + requests, 0);
  if (expected > replayRowsMax) {
    const wanted = `a profile of at most ${replayRowsMax} requests in the window; --minutes shortens it`;
    throw new InvalidOptionError("--profile", `one of ${Math.round(expected)}`, wanted);
  }
  const { name, attribution } = profile;
  return (seed) => {
    const requests = plainRequests(generateTraces(profile, seed).arrivals, settings, windowNs);
    return { ...requests, generated: true, files: null, profile: { name, attribution } };
  };
}

/** Every request of one trace as it is. */
async function plainTrace(settings: ReplaySettings, io: Io, progress: ProgressPrinter): Promise<ReplaySource> {
  const [path, second] = settings.trace;
  if (path === undefined || second !== undefined) {
    throw new InvalidOptionError("--trace", `${settings.trace.length} paths`, "one file with recipe plain");
  }
  const windowNs = minutesNs(settings);
  const onProgress = ({ bytes, bytesTotal }: { bytes: number; bytesTotal: number }): void =>
    progress.show(`reading ${basename(path)}`, bytes / Math.max(1, bytesTotal));
  const rows = await readRows(resolved(path, io.cwd), { onProgress, windowNs });
  progress.clear();
  checkClasses(rows, settings.offlineClasses, progress);
  return {
    ...plainRequests(rows, settings, windowNs),
    generated: false,
    files: { arrivals: basename(path), lengths: basename(path) },
    profile: null,
  };
}

function minutesNs({ minutes }: ReplaySettings): number | undefined {
  return minutes === null ? undefined : Math.round(minutes * 60e9);
}

/** The requests as they are, the offline ones beside the steady load. */
function plainRequests(
  rows: readonly TraceRequest[],
  { offline: load, offlineClasses }: ReplaySettings,
  windowNs: number | undefined,
): Dealt & Pick<ReplaySource, "tenantNames"> {
  const { online, offline, tenants, offlineTenants } = traceWorkload(rows, {
    ...(windowNs === undefined ? {} : { windowNs }),
    ...(offlineClasses === null ? {} : { offlineClasses }),
  });
  // The steady load is nobody's.
  const tenant = offlineTenants.length;
  const steady = load === null ? [] : offlineRequests(load, online.windowNs).map((request) => ({ ...request, tenant }));
  return {
    online,
    offline: [...offline, ...steady].sort((a, b) => a.arrivalNs - b.arrivalNs),
    offlineLoad: load,
    tenantNames: rows.some((row) => row.tenant !== undefined) ? { online: tenants, offline: offlineTenants } : null,
  };
}

function defaultTraces(io: Io): string[] | null {
  const named = io.env["SLICESCHEDULER_TRACES"];
  if (named !== undefined && named !== "") return [named];
  const shared = join(io.cwd, sharedTraces);
  return hasAzureTraces(shared) ? [shared] : null;
}
