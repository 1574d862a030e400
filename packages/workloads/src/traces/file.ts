/** Reading a trace file, with each way it can fail as one clear line. */
import { readFileSync, type Stats, statSync } from "node:fs";
import { TraceError } from "../errors.ts";

/** Largest file the readers take in one piece; the public traces have 0.3 to 4 MB. */
const traceFileBytesMax = 256 * 1024 * 1024;

/**
 * Reads a text file of at most `bytesMax` bytes.
 * Errors: TRACE_NOT_FOUND, TRACE_IS_DIRECTORY, TRACE_UNREADABLE, TRACE_TOO_LARGE, TRACE_EMPTY.
 */
export function readTraceText(file: string, bytesMax: number = traceFileBytesMax): string {
  const stats = statOf(file);
  if (stats.isDirectory()) {
    throw new TraceError("TRACE_IS_DIRECTORY", file, null, "is a directory; a trace file was expected");
  }
  if (!stats.isFile()) throw new TraceError("TRACE_UNREADABLE", file, null, "is not a regular file");
  if (stats.size > bytesMax) {
    throw new TraceError("TRACE_TOO_LARGE", file, null, `has ${stats.size} bytes; at most ${bytesMax} are read`);
  }
  const text = readText(file);
  if (text.trim() === "")
    throw new TraceError("TRACE_EMPTY", file, null, "is empty; a header line and rows were expected");
  return text;
}

function statOf(file: string): Stats {
  try {
    return statSync(file);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new TraceError("TRACE_NOT_FOUND", file, null, "no such file", { cause });
    }
    throw unreadable(file, cause);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

function unreadable(file: string, cause: unknown): TraceError {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return new TraceError("TRACE_UNREADABLE", file, null, `cannot be read (${code})`, { cause });
}

/** A value as it is shown in a message: quoted, on one line, never longer than a line should be. */
export function shown(value: string): string {
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}
