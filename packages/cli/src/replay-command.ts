/** `replay`: one workload under each policy in simulated time, then the comparison. */
import {
  assertPolicyKnown,
  colocationCluster,
  comparePolicies,
  type ReplayOptions,
  type ReplayOutcome,
  replay as replayOnSliceScheduler,
} from "@slicescheduler/workloads";
import picocolors from "picocolors";
import type { Io } from "./io.ts";
import { reportOf, summarize } from "./json.ts";
import { parseSettings, type RawOptions } from "./options.ts";
import { ProgressPrinter } from "./progress.ts";
import { replaySource } from "./source.ts";
import { type HostFigures, renderReport } from "./table.ts";

/** Replays one workload under one policy. */
export type Replay = (options: ReplayOptions) => ReplayOutcome;

/** Runs the command; throws typed errors for bad input. */
export function runReplayCommand(raw: RawOptions, io: Io, replay: Replay = replayOnSliceScheduler): void {
  const settings = parseSettings(raw);
  // Before anything is replayed: an unknown second policy must not be told after the first one's minute.
  for (const policy of settings.policies) assertPolicyKnown(policy);
  const cluster = colocationCluster({ hbmBytes: settings.hbmBytes });
  const source = replaySource(settings, io);
  const workload = summarize(source, settings, cluster.accelerators.length);
  const progress = new ProgressPrinter(io);
  if (source.profile !== null) {
    progress.line(`No trace given and none found: the workload is GENERATED from the profile ${source.profile.name}.`);
  }
  const outcomes: ReplayOutcome[] = [];
  const host = new Map<string, HostFigures>();
  for (const policy of settings.policies) {
    const startNs = io.hostNowNs();
    const outcome = replay({
      cluster,
      policy,
      online: source.online,
      offline: source.offline,
      seed: settings.seed,
      hostNowNs: () => io.hostNowNs(),
      onProgress: (state) => progress.show(state),
    });
    outcomes.push(outcome);
    const wallSeconds = (io.hostNowNs() - startNs) / 1e9;
    host.set(policy, { wallSeconds, hostNsPerRound: outcome.hostNsPerRound });
    progress.line(`${policy}: replayed in ${wallSeconds.toFixed(1)} s, all checks passed`);
  }
  const comparison = comparePolicies(outcomes, workload.serialServer.ttftMs?.p90 ?? 0);
  const report = reportOf(workload, settings, comparison);
  if (settings.json) io.out(`${JSON.stringify(report)}\n`);
  else io.out(renderReport(report, host, picocolors.createColors(io.useColor)));
}
