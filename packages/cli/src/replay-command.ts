/** `replay`: one workload under each policy in simulated time, then the comparison. */
import {
  assertPolicyKnown,
  type Comparison,
  colocationCluster,
  comparePolicies,
  medianComparison,
  type ReplayOptions,
  type ReplayOutcome,
  replay as replayOnSliceScheduler,
} from "@slicescheduler/workloads";
import picocolors from "picocolors";
import type { Io } from "./io.ts";
import { reportOf, summarize, type WorkloadSummary } from "./json.ts";
import { parseSettings, type RawOptions } from "./options.ts";
import { ProgressPrinter } from "./progress.ts";
import { type ReplaySource, replaySources } from "./source.ts";
import { type HostFigures, renderReport } from "./table.ts";

/** Replays one workload under one policy. */
export type Replay = (options: ReplayOptions) => ReplayOutcome;

/** Runs the command; throws typed errors for bad input. */
export function runReplayCommand(raw: RawOptions, io: Io, replay: Replay = replayOnSliceScheduler): void {
  const settings = parseSettings(raw);
  // Before anything is replayed: an unknown second policy must not be told after the first one's minute.
  for (const policy of settings.policies) assertPolicyKnown(policy);
  const cluster = colocationCluster({ hbmBytes: settings.hbmBytes });
  const sourceOf = replaySources(settings, io);
  const progress = new ProgressPrinter(io);
  const host = new HostBooks();
  const comparisons: Comparison[] = [];
  let summary: WorkloadSummary | undefined;
  for (const seed of settings.seeds) {
    const source = sourceOf(seed);
    const workload = summarize(source, settings, cluster.accelerators.length);
    summary ??= workload;
    if (source.profile !== null && seed === settings.seeds[0]) {
      progress.line(
        `No trace given and none found: the workload is GENERATED from the profile ${source.profile.name}.`,
      );
    }
    const run = { cluster, source, seed, isOneOfMany: settings.seeds.length > 1 };
    const outcomes = settings.policies.map((policy) => replayOne(policy, run, { replay, io, progress, host }));
    comparisons.push(comparePolicies(outcomes, workload.serialServer.ttftMs?.p90 ?? 0));
  }
  if (summary === undefined) throw new TypeError("settings without a seed");
  const report = reportOf(summary, settings, medianComparison(comparisons));
  if (settings.json) io.out(`${JSON.stringify(report)}\n`);
  else io.out(renderReport(report, host.figures(), picocolors.createColors(io.useColor)));
}

interface Run {
  readonly cluster: ReplayOptions["cluster"];
  readonly source: ReplaySource;
  readonly seed: number;
  readonly isOneOfMany: boolean;
}

interface Surroundings {
  readonly replay: Replay;
  readonly io: Io;
  readonly progress: ProgressPrinter;
  readonly host: HostBooks;
}

function replayOne(policy: string, run: Run, { replay, io, progress, host }: Surroundings): ReplayOutcome {
  const startNs = io.hostNowNs();
  const outcome = replay({
    cluster: run.cluster,
    policy,
    online: run.source.online,
    offline: run.source.offline,
    seed: run.seed,
    hostNowNs: () => io.hostNowNs(),
    onProgress: (state) => progress.show(state),
  });
  const wallSeconds = (io.hostNowNs() - startNs) / 1e9;
  host.add(policy, wallSeconds, outcome);
  const which = run.isOneOfMany ? ` with seed ${run.seed}` : "";
  progress.line(`${policy}${which}: replayed in ${wallSeconds.toFixed(1)} s, all checks passed`);
  return outcome;
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
