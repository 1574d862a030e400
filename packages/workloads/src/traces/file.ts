/** Reading a trace file, with each way it can fail as one clear line. */
import { readFileSync, type Stats, statSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { TraceError } from "../errors.ts";

/** Largest file the readers take in one piece; the public traces have 0.3 to 4 MB. */
const traceFileBytesMax = 256 * 1024 * 1024;

/**
 * Reads a text file of at most `bytesMax` bytes, packed by gzip or not.
 * Errors: TRACE_NOT_FOUND, TRACE_IS_DIRECTORY, TRACE_UNREADABLE, TRACE_TOO_LARGE, TRACE_EMPTY.
 */
export function readTraceText(file: string, bytesMax: number = traceFileBytesMax): string {
  const size = sizeOfFile(file);
  if (size > bytesMax) {
    throw new TraceError("TRACE_TOO_LARGE", file, null, `has ${size} bytes; at most ${bytesMax} are read`);
  }
  const text = unpacked(readBytes(file), file, bytesMax).toString("utf8");
  if (text.trim() === "")
    throw new TraceError("TRACE_EMPTY", file, null, "is empty; a header line and rows were expected");
  return text;
}

/** In bytes. Errors: TRACE_NOT_FOUND, TRACE_IS_DIRECTORY, TRACE_UNREADABLE. */
export function sizeOfFile(file: string): number {
  const stats = statOf(file);
  if (stats.isDirectory()) {
    throw new TraceError("TRACE_IS_DIRECTORY", file, null, "is a directory; a trace file was expected");
  }
  if (!stats.isFile()) throw new TraceError("TRACE_UNREADABLE", file, null, "is not a regular file");
  return stats.size;
}

/** Itself, unless it begins like gzip. */
function unpacked(bytes: Buffer, file: string, bytesMax: number): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      const reason = `unpacks to more than the ${bytesMax} bytes that are read`;
      throw new TraceError("TRACE_TOO_LARGE", file, null, reason, { cause });
    }
    const reason = `is gzip that cannot be unpacked (${(cause as Error).message})`;
    throw new TraceError("TRACE_UNREADABLE", file, null, reason, { cause });
  }
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

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

export function unreadable(file: string, cause: unknown): TraceError {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return new TraceError("TRACE_UNREADABLE", file, null, `cannot be read (${code})`, { cause });
}

/** A value as it is shown in a message: quoted, on one line, never longer than a line should be. */
export function shown(value: string): string {
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}
