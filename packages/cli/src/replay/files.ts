/** The files that a replay reads and writes, looked at before the first replay begins. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { readyClusters } from "../assets.ts";
import { resolved } from "../files/load.ts";
import { checkOutputs, type NamedFile, nameByPolicy } from "../output.ts";
import { isBuiltInProfile, type ReplaySettings } from "./settings.ts";

/**
 * A replay may take hours; what would be lost at its end is told at once.
 * @param workload the workload file as the user named it.
 * Errors: FILE_UNWRITABLE; USAGE where two outputs, or an output and an input, are one file.
 */
export function checkReplayFiles(settings: ReplaySettings, workload: string | undefined, cwd: string): void {
  checkOutputs(outputsOf(settings, cwd), inputsOf(settings, workload, cwd));
}

function outputsOf({ outputs, policies }: ReplaySettings, cwd: string): NamedFile[] {
  const { record, report, timeline, eventLog } = outputs;
  const named = (option: string, shown: string): NamedFile => ({ option, shown, path: resolved(shown, cwd) });
  const one = (option: string, file: string | null): NamedFile[] => (file === null ? [] : [named(option, file)]);
  const each = (option: string, file: string | null): NamedFile[] =>
    file === null ? [] : policies.map((policy) => named(option, nameByPolicy(file, policy, policies.length)));
  return [
    ...one("--record", record),
    ...one("--report", report),
    ...each("--timeline", timeline),
    ...each("--event-log", eventLog),
  ];
}

function inputsOf({ trace, profile, cluster }: ReplaySettings, workload: string | undefined, cwd: string): NamedFile[] {
  const named = (option: string, shown: string): NamedFile => ({ option, shown, path: resolved(shown, cwd) });
  return [
    ...trace.flatMap((path) =>
      filesAt(resolved(path, cwd)).map((file) => ({ option: "--trace", shown: path, path: file })),
    ),
    ...(workload === undefined ? [] : [named("--workload", workload)]),
    ...(profile === null || isBuiltInProfile(profile) ? [] : [named("--profile", profile)]),
    ...(cluster === null || readyClusters().includes(cluster) ? [] : [named("--cluster", cluster)]),
  ];
}

/** The file itself, or those of a folder of traces. */
function filesAt(path: string): string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path];
  return readdirSync(path).map((file) => join(path, file));
}
