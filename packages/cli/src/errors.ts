/** What can go wrong on the command line itself, as typed errors; callers match `code`, people read `message`. */

export type CliErrorCode =
  | "USAGE"
  | "FILE_NOT_FOUND"
  | "FILE_UNREADABLE"
  | "FILE_TOO_LARGE"
  | "FILE_UNWRITABLE"
  | "FILE_INVALID"
  | "FILES_INVALID"
  | "UNKNOWN_CLUSTER"
  | "SAVED_REPLAY_INVALID"
  | "RESULT_INVALID";

export class CliError extends Error {
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Options or arguments are wrong; one line for each of them. Code `USAGE`. */
export class UsageError extends CliError {
  readonly faults: readonly string[];

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super("USAGE", faults.join("\n"), options);
    this.faults = faults;
  }
}

/** One thing wrong in a file. */
export interface FileFault {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  /** The field, such as `accelerators[2].hbm`; empty for the file as a whole. */
  readonly path: string;
  /** What was found and what is allowed. */
  readonly message: string;
}

/** A file has faults; all of them are there, up to a limit that is said. Code `FILE_INVALID`. */
export class FileInvalidError extends CliError {
  readonly faults: readonly FileFault[];

  constructor(faults: readonly FileFault[], options?: ErrorOptions) {
    super("FILE_INVALID", faults.map(faultLine).join("\n"), options);
    this.faults = faults;
  }
}

/** `file:line:column: path: what`, which editors and terminals turn into a link. */
export function faultLine({ file, line, column, path, message }: FileFault): string {
  return `${file}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`;
}

/** Files were checked and have faults, which were told before. Code `FILES_INVALID`. */
export class FilesInvalidError extends CliError {
  /** @param areAll false where a file has so many faults that not all were told. */
  constructor(faults: number, areAll: boolean, invalid: number, checked: number) {
    super("FILES_INVALID", `${areAll ? "" : "at least "}${faults} fault(s) in ${invalid} of ${checked} file(s)`);
  }
}
