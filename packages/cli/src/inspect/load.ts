/** Files that can be looked into, told apart by how they begin. */
import { createReadStream, statSync } from "node:fs";
import { basename } from "node:path";
import { type EventLog, EventLogReader, type RunRecord, TimelineError } from "@slicescheduler/timeline";
import { CliError, UsageError } from "../errors.ts";
import { resolved } from "../files/load.ts";
import { readHead, readText } from "../files/read-file.ts";
import type { ProgressPrinter } from "../progress.ts";
import { loadResult } from "../saved/load-results.ts";

export type InspectedFile =
  | { readonly kind: "log"; readonly log: EventLog }
  | { readonly kind: "snapshot"; readonly snapshot: unknown }
  | { readonly kind: "record"; readonly record: RunRecord };

const snapshotBytesMax = 512 * 1024 * 1024;
const eventLogPattern = /^\s*\{[^\n]{0,200}"format"\s*:\s*"slicescheduler\.events"/;
const headBytes = 4096;

/**
 * @param policy which of a saved replay's, where it has several.
 * Errors: FILE_NOT_FOUND, FILE_UNREADABLE, FILE_TOO_LARGE, EVENT_LOG_INVALID, RESULT_INVALID, SAVED_REPLAY_INVALID, USAGE.
 */
export async function loadInspected(
  given: string,
  policy: string | undefined,
  cwd: string,
  progress: ProgressPrinter,
): Promise<InspectedFile> {
  const path = resolved(given, cwd);
  const head = Buffer.from(readHead(path, headBytes)).toString("latin1");
  if (/^(?:SLRP|SSRR)/.test(head)) return { kind: "record", record: recordOf(given, policy, cwd) };
  if (policy !== undefined) throw new UsageError(["--policy: only a saved replay has several policies"]);
  if (eventLogPattern.test(head)) return { kind: "log", log: await readLog(path, given, progress) };
  return { kind: "snapshot", snapshot: parseSnapshot(readText(path, snapshotBytesMax), given) };
}

function recordOf(given: string, policy: string | undefined, cwd: string): RunRecord {
  const result = loadResult(given, cwd);
  if (result.kind === "record") return result.record;
  const replays = result.kind === "saved" ? result.saved.replays : [];
  const names = replays.map((replay) => replay.policy);
  const found = policy === undefined && replays.length === 1 ? replays[0] : replays.find((it) => it.policy === policy);
  if (found !== undefined) return found.record;
  const fault =
    policy === undefined ? `${given} has several policies` : `--policy ${policy}: ${given} has no such policy`;
  throw new UsageError([`${fault}; name one with --policy: ${names.join(", ")}`]);
}

async function readLog(path: string, given: string, progress: ProgressPrinter): Promise<EventLog> {
  const bytesTotal = Math.max(1, statSync(path).size);
  const reader = new EventLogReader({ acceptsCutOff: true });
  let bytes = 0;
  try {
    for await (const piece of createReadStream(path, { encoding: "utf8", highWaterMark: 1 << 20 })) {
      reader.push(piece);
      bytes += Buffer.byteLength(piece);
      progress.show(`reading ${basename(given)}`, bytes / bytesTotal);
    }
    return reader.end();
  } catch (cause) {
    if (!(cause instanceof TimelineError)) throw cause;
    throw new CliError("RESULT_INVALID", `${given}: ${cause.message}`, { cause });
  }
}

function parseSnapshot(text: string, given: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = "is no event log, snapshot, saved replay or run record";
    throw new CliError("RESULT_INVALID", `${given}: ${reason} (${(cause as Error).message})`, { cause });
  }
}
