/** Files that can be looked into, told apart by how they begin. */
import { createReadStream, statSync } from "node:fs";
import { basename } from "node:path";
import { type EventLog, EventLogReader, type RunRecord, TimelineError } from "@slicescheduler/timeline";
import { CliError, UsageError } from "../errors.ts";
import { JsonBytesError, parseJsonBytes } from "../files/json-bytes.ts";
import { headBytes, kindOfFile, kindWords } from "../files/kind-of-file.ts";
import { resolved } from "../files/load.ts";
import { readBytes, readHead } from "../files/read-file.ts";
import type { ProgressPrinter } from "../progress.ts";
import { loadResult } from "../saved/load-results.ts";

export type InspectedFile =
  | { readonly kind: "log"; readonly log: EventLog }
  | { readonly kind: "snapshot"; readonly snapshot: unknown }
  | { readonly kind: "record"; readonly record: RunRecord };

const snapshotBytesMax = 512 * 1024 * 1024;

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
  const kind = kindOfFile(readHead(path, headBytes));
  if (kind === "savedReplay" || kind === "runRecord") return { kind: "record", record: recordOf(given, policy, cwd) };
  if (policy !== undefined) throw new UsageError(["--policy: only a saved replay has several policies"]);
  if (kind === "eventLog") return { kind: "log", log: await readLog(path, given, progress) };
  if (kind !== null && kind !== "snapshot")
    throw new CliError("RESULT_INVALID", `${given}: cannot be looked into; it is ${kindWords[kind]}`);
  return { kind: "snapshot", snapshot: parseSnapshot(readBytes(path, snapshotBytesMax), given) };
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

const noKind = "is no event log, snapshot, saved replay or run record";

function parseSnapshot(bytes: Uint8Array, given: string): unknown {
  try {
    return parseJsonBytes(bytes);
  } catch (cause) {
    if (!(cause instanceof JsonBytesError)) throw cause;
    throw new CliError("RESULT_INVALID", `${given}: ${noKind} (${cause.message})`, { cause });
  }
}

const unreadable = ["GRAPH_STATE_INVALID", "EVENT_LOG_UNREPLAYABLE", "EVENT_LOG_DIVERGED"];

/** Looks into a file that was loaded; what shows only then to be wrong with it is told with the file. Errors: RESULT_INVALID, those of `look`. */
export function namingFile<Result>(given: string, look: () => Result): Result {
  try {
    return look();
  } catch (cause) {
    const { code, message } = cause as { code?: unknown; message: string };
    if (typeof code !== "string" || !unreadable.includes(code)) throw cause;
    const reason = message.replace(/:\s*\n\s*/g, ": ").replace(/\s*\n\s*/g, "; ");
    throw new CliError("RESULT_INVALID", `${given}: ${reason}`, { cause });
  }
}
