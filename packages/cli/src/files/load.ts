/** From what a user names to what a file holds. */
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { nearest } from "@slicescheduler/workloads";
import { readyClusterFile, readyClusters } from "../assets.ts";
import { CliError, UsageError } from "../errors.ts";
import { type ClusterFile, parseClusterFile } from "./cluster-file.ts";
import { documentBytesMax } from "./document.ts";
import { readText } from "./read-file.ts";
import { parseWorkloadFile, type WorkloadFile } from "./workload-file.ts";

export interface LoadedCluster extends ClusterFile {
  /** As the user gave it: a ready name, or a path. */
  readonly given: string;
}

/**
 * The cluster of a ready description's name, or of a file.
 * Errors: UNKNOWN_CLUSTER (with the nearest name), FILE_NOT_FOUND, FILE_UNREADABLE, FILE_TOO_LARGE, FILE_INVALID.
 */
export function loadCluster(given: string, cwd: string): LoadedCluster {
  const ready = readyClusters();
  if (given.trim() === "")
    throw new CliError("UNKNOWN_CLUSTER", `--cluster needs a name or a file; ready ones: ${ready.join(", ")}`);
  if (ready.includes(given)) {
    const file = readyClusterFile(given);
    return { given, ...parseClusterFile(readText(file, documentBytesMax), `${given}.yaml`) };
  }
  const file = resolved(given, cwd);
  if (!existsSync(file) && !/[./\\]/.test(given)) {
    const near = nearest(given, ready);
    const hint = near === undefined ? "" : `did you mean "${near}"? `;
    const reason = `no cluster "${given}", and no such file; ${hint}ready ones: ${ready.join(", ")}`;
    throw new CliError("UNKNOWN_CLUSTER", reason);
  }
  return { given, ...parseClusterFile(readText(file, documentBytesMax), given) };
}

/** Errors: FILE_NOT_FOUND, FILE_UNREADABLE, FILE_TOO_LARGE, FILE_INVALID, USAGE. */
export function loadWorkload(given: string, cwd: string): WorkloadFile {
  if (given.trim() === "") throw new UsageError(["--workload needs a file, such as mine.yaml"]);
  return parseWorkloadFile(readText(resolved(given, cwd), documentBytesMax), given, cwd);
}

/** A path seen from the working directory. */
export function resolved(path: string, cwd: string): string {
  return isAbsolute(path) ? path : join(cwd, path);
}
