/** `replay`: one workload under each policy in simulated time, then the comparison. */
import {
  type Comparison,
  comparePolicies,
  medianComparison,
  partitionNames,
  type ReplayOptions,
  type ReplayOutcome,
  replay as replayOnSliceScheduler,
} from "@slicescheduler/workloads";
import picocolors from "picocolors";
import { loadWorkload } from "../files/load.ts";
import type { Io } from "../io.ts";
import { ProgressPrinter } from "../progress.ts";
import { checkPolicies, instanceAcceleratorsOf, type ReplayCluster, replayCluster } from "./cluster.ts";
import { checkReplayFiles } from "./files.ts";
import { reportOf, summarize, type WorkloadSummary } from "./json.ts";
import { Recordings } from "./recordings.ts";
import { parseSettings, type RawOptions } from "./settings.ts";
import { type ReplaySource, replaySources } from "./source.ts";
import { type HostFigures, renderReport } from "./table.ts";

/** Replays one workload under one policy. */
export type Replay = (options: ReplayOptions) => ReplayOutcome;

/** Runs the command; throws typed errors for bad input. */
export async function runReplayCommand(
  raw: RawOptions,
  io: Io,
  { replay = replayOnSliceScheduler, command }: { readonly replay?: Replay | undefined; readonly command: string },
): Promise<void> {
  const settings = parseSettings(raw, raw.workload === undefined ? {} : loadWorkload(raw.workload, io.cwd));
  checkReplayFiles(settings, raw.workload, io.cwd);
  const cluster = replayCluster(settings, io.cwd);
  const progress = new ProgressPrinter(io);
  const sourceOf = await replaySources(settings, io, progress);
  const surroundings = {
    replay,
    io,
    progress,
    host: new HostBooks(),
    recordings: new Recordings(settings, io, command),
  };
  const comparisons: Comparison[] = [];
  let summary: WorkloadSummary | undefined;
  for (const seed of settings.seeds) {
    const source = sourceOf(seed);
    const isFirst = summary === undefined;
    const instanceAccelerators =
      summary?.cluster.instanceAccelerators ?? instanceAcceleratorsOf(settings, cluster, source);
    if (isFirst) checkPolicies(settings, cluster, instanceAccelerators, source);
    const workload = summarize(source, { settings, cluster, instanceAccelerators });
    summary ??= workload;
    if (source.profile !== null && isFirst) progress.line(generatedWords(source.profile.name, settings.profile));
    const run = { cluster, source, seed, instanceAccelerators, isFirst, isOneOfMany: settings.seeds.length > 1 };
    const outcomes = settings.policies.map((policy) => replayOne(policy, run, surroundings));
    comparisons.push(comparePolicies(outcomes, workload.serialServer.ttftMs?.p90 ?? null));
  }
  if (summary === undefined) throw new TypeError("settings without a seed");
  const report = reportOf(summary, settings, medianComparison(comparisons));
  // Figures first: whatever becomes of the files, they are told.
  if (settings.json) io.out(`${JSON.stringify(report)}\n`);
  else {
    const table = renderReport(report, surroundings.host.figures(), picocolors.createColors(io.useColor));
    io.out(`${surroundings.recordings.ganttText()}${table}`);
  }
  await surroundings.recordings.finish(report, progress);
}

function generatedWords(name: string, asked: string | null): string {
  const why = asked === null ? "No trace given and none found: the" : "The";
  return `${why} workload is GENERATED from the profile ${name}.`;
}

interface Run {
  readonly cluster: ReplayCluster;
  readonly source: ReplaySource;
  readonly seed: number;
  readonly instanceAccelerators: number;
  /** Whether it is of the first seed, the only one that is recorded. */
  readonly isFirst: boolean;
  readonly isOneOfMany: boolean;
}

interface Surroundings {
  readonly replay: Replay;
  readonly io: Io;
  readonly progress: ProgressPrinter;
  readonly host: HostBooks;
  readonly recordings: Recordings;
}

function replayOne(policy: string, run: Run, surroundings: Surroundings): ReplayOutcome {
  const { replay, io, progress, host, recordings } = surroundings;
  const startNs = io.hostNowNs();
  const { durations, spec } = run.cluster;
  const { instanceAccelerators } = run;
  const terms = { partitions: partitionNames(spec), tenants: run.source.online.tenants.length, instanceAccelerators };
  const recording = run.isFirst ? recordings.begin(policy, spec, terms) : null;
  try {
    const outcome = replay({
      cluster: spec,
      policy,
      online: run.source.online,
      offline: run.source.offline,
      seed: run.seed,
      instanceAccelerators,
      ...(run.source.tenantNames === null ? {} : { tenantNames: run.source.tenantNames }),
      ...(durations === null ? {} : { durations }),
      ...recording?.hooks,
      hostNowNs: () => io.hostNowNs(),
      onProgress: ({ atNs, windowNs, arrived, completed }) =>
        progress.show(policy, atNs / windowNs, `${completed} of ${arrived} requests done`),
    });
    recording?.keep(outcome);
    const wallSeconds = (io.hostNowNs() - startNs) / 1e9;
    host.add(policy, wallSeconds, outcome);
    const which = run.isOneOfMany ? ` with seed ${run.seed}` : "";
    progress.line(`${policy}${which}: replayed in ${wallSeconds.toFixed(1)} s, all checks passed`);
    return outcome;
  } finally {
    progress.clear();
    recording?.close();
  }
}

/** What the replays cost this host: wall time in all, and per round. */
class HostBooks {
  readonly #byPolicy = new Map<string, { wallSeconds: number; hostNs: number; rounds: number; isMeasured: boolean }>();

  add(policy: string, wallSeconds: number, { rounds, hostNsPerRound }: ReplayOutcome): void {
    const books = this.#byPolicy.get(policy) ?? { wallSeconds: 0, hostNs: 0, rounds: 0, isMeasured: true };
    books.wallSeconds += wallSeconds;
    books.hostNs += (hostNsPerRound ?? 0) * rounds;
    books.rounds += rounds;
    if (hostNsPerRound === null) books.isMeasured = false;
    this.#byPolicy.set(policy, books);
  }

  figures(): Map<string, HostFigures> {
    return new Map(
      [...this.#byPolicy].map(([policy, { wallSeconds, hostNs, rounds, isMeasured }]) => [
        policy,
        { wallSeconds, hostNsPerRound: isMeasured ? hostNs / Math.max(1, rounds) : null },
      ]),
    );
  }
}
