import { closeSync, openSync, readFileSync, readSync, type Stats, statSync } from "node:fs";
import { CliError } from "../errors.ts";

/**
 * Reads a regular file of at most `bytesMax` bytes, as it is.
 * Errors: FILE_NOT_FOUND, FILE_UNREADABLE (a folder, no permission), FILE_TOO_LARGE.
 */
export function readBytes(file: string, bytesMax: number): Uint8Array {
  const stats = checkRegular(file);
  if (stats.size > bytesMax) {
    throw new CliError("FILE_TOO_LARGE", `${file}: has ${stats.size} bytes; at most ${bytesMax} are read`);
  }
  return attempt(file, () => readFileSync(file));
}

/** The same as text in UTF-8, without a byte-order mark. */
export function readText(file: string, bytesMax: number): string {
  return new TextDecoder().decode(readBytes(file, bytesMax));
}

function checkRegular(file: string): Stats {
  const stats = attempt(file, () => statSync(file));
  if (stats.isFile()) return stats;
  throw new CliError("FILE_UNREADABLE", `${file}: is ${stats.isDirectory() ? "a folder" : "no regular file"}`);
}

function attempt<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR")
      throw new CliError("FILE_NOT_FOUND", `${file}: no such file`, { cause });
    throw new CliError("FILE_UNREADABLE", `${file}: cannot be read (${code ?? String(cause)})`, { cause });
  }
}

/** The first bytes of a regular file, at most so many. Errors: FILE_NOT_FOUND, FILE_UNREADABLE. */
export function readHead(file: string, bytes: number): Uint8Array {
  checkRegular(file);
  return attempt(file, () => {
    const descriptor = openSync(file, "r");
    try {
      const head = new Uint8Array(bytes);
      return head.subarray(0, readSync(descriptor, head));
    } finally {
      closeSync(descriptor);
    }
  });
}
