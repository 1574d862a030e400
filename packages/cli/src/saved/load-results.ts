/** Files that hold results: saved replays, results of `--json`, and run records of any application. */
import { basename } from "node:path";
import { decodeRunRecord, type RunRecord, RunRecordInvalidError } from "@slicescheduler/timeline";
import { CliError } from "../errors.ts";
import { resolved } from "../files/load.ts";
import { readBytes } from "../files/read-file.ts";
import type { ReplayReport } from "../replay/json.ts";
import { reportFault } from "./header-schema.ts";
import { decodeSavedReplay, isSavedReplay, type SavedReplay } from "./saved-replay.ts";

/** Largest file that is read; a saved replay of five policies over half an hour has some 10 MB. */
const fileBytesMax = 512 * 1024 * 1024;
const runRecordMagic = "SSRR";

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
  if (isSavedReplay(bytes)) return { kind: "saved", file, saved: decodeSavedReplay(bytes, given) };
  if (Buffer.from(bytes.subarray(0, 4)).toString("latin1") === runRecordMagic) {
    try {
      return { kind: "record", file, record: decodeRunRecord(bytes) };
    } catch (cause) {
      if (!(cause instanceof RunRecordInvalidError)) throw cause;
      throw new CliError("RESULT_INVALID", `${given}: ${cause.message}`, { cause });
    }
  }
  return { kind: "json", file, report: parseResult(new TextDecoder().decode(bytes), given) };
}

/** The object of `replay --json`, which is the last line of its output. Errors: RESULT_INVALID. */
function parseResult(text: string, file: string): ReplayReport {
  const lines = text.trimEnd().split("\n");
  const fail = (reason: string, cause?: unknown): CliError =>
    new CliError("RESULT_INVALID", `${file}:${lines.length}: ${reason}`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(lines.at(-1) ?? "");
  } catch (cause) {
    throw fail("is neither a saved replay nor a run record, and its last line is no result of `replay --json`", cause);
  }
  const fault = reportFault(value);
  if (fault !== null) throw fail(`is no result of \`replay --json\`: ${fault}`);
  return value as ReplayReport;
}
