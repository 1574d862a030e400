/** Files that hold results: saved replays, results of `--json`, and run records of any application. */
import { basename } from "node:path";
import { decodeRunRecord, type RunRecord, RunRecordInvalidError } from "@slicescheduler/timeline";
import { CliError } from "../errors.ts";
import { JsonBytesError, parseJsonBytes } from "../files/json-bytes.ts";
import { kindOfFile, kindWords } from "../files/kind-of-file.ts";
import { resolved } from "../files/load.ts";
import { readBytes } from "../files/read-file.ts";
import type { ReplayReport } from "../replay/json.ts";
import { withoutEmptySlo } from "./empty-slo.ts";
import { reportFault } from "./header-schema.ts";
import { decodeSavedReplay, type SavedReplay } from "./saved-replay.ts";

/** Largest file that is read; a saved replay of five policies over half an hour has some 10 MB. */
const fileBytesMax = 512 * 1024 * 1024;
/** A result of `--json` has some kilobytes for each policy. */
const resultBytesMax = 16 * 1024 * 1024;

export type LoadedResult =
  | { readonly kind: "saved"; readonly file: string; readonly saved: SavedReplay }
  | { readonly kind: "json"; readonly file: string; readonly report: ReplayReport }
  | { readonly kind: "record"; readonly file: string; readonly record: RunRecord };

/**
 * Reads a file by what it begins with.
 * Errors: RESULT_INVALID, SAVED_REPLAY_INVALID, FILE_NOT_FOUND, FILE_UNREADABLE, FILE_TOO_LARGE.
 */
export function loadResult(given: string, cwd: string): LoadedResult {
  const bytes = readBytes(resolved(given, cwd), fileBytesMax);
  const file = basename(given);
  const kind = kindOfFile(bytes);
  if (kind === "savedReplay") return { kind: "saved", file, saved: decodeSavedReplay(bytes, given) };
  if (kind === "runRecord") {
    try {
      return { kind: "record", file, record: decodeRunRecord(bytes) };
    } catch (cause) {
      if (!(cause instanceof RunRecordInvalidError)) throw cause;
      throw new CliError("RESULT_INVALID", `${given}: ${cause.message}`, { cause });
    }
  }
  if (kind !== null && kind !== "result")
    throw new CliError("RESULT_INVALID", `${given}: holds no result; it is ${kindWords[kind]}`);
  return { kind: "json", file, report: parseResult(bytes, given) };
}

const noKind = "is neither a saved replay nor a run record, and its last line is no result of `replay --json`";

/** The object of `replay --json`, which is the last line of its output. Errors: RESULT_INVALID. */
function parseResult(bytes: Uint8Array, file: string): ReplayReport {
  const { line, number } = lastLine(bytes);
  const fail = (reason: string, cause?: unknown): CliError =>
    new CliError("RESULT_INVALID", `${file}:${number}: ${reason}`, { cause });
  if (line.length > resultBytesMax)
    throw fail(`${noKind}: it has ${line.length} bytes, at most ${resultBytesMax} are read`);
  let value: unknown;
  try {
    value = parseJsonBytes(line);
  } catch (cause) {
    if (!(cause instanceof JsonBytesError)) throw cause;
    throw fail(noKind, cause);
  }
  const fault = reportFault(value);
  if (fault !== null) throw fail(`is no result of \`replay --json\`: ${fault}`);
  return withoutEmptySlo(value as ReplayReport);
}

const lineFeed = 0x0a;

/** The last line that has something on it, and its number from 1. */
function lastLine(bytes: Uint8Array): { readonly line: Uint8Array; readonly number: number } {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] ?? 0) <= 0x20) end--;
  const start = bytes.subarray(0, end).lastIndexOf(lineFeed) + 1;
  let number = 1;
  for (let i = 0; i < start; i++) if (bytes[i] === lineFeed) number++;
  return { line: bytes.subarray(start, end), number };
}
