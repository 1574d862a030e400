/** Codes of this package; those of `FormatError` are among them. */
export type SimulatorErrorCode =
  | "NOT_BEGUN"
  | "NOT_MARKED"
  | "NO_RESULT"
  | "FROZEN"
  | "TOO_LARGE"
  | "UNKNOWN_ACCELERATOR"
  | "UNKNOWN_OPERATOR"
  | "UNKNOWN_TENSOR"
  | "INVALID_TIME"
  | "INVALID_DURATION"
  | "INVALID_BYTES"
  | "INVALID_RANK"
  | "INVALID_ISSUE_NUMBER"
  | "INVALID_OPTION"
  | "INVALID_ALIAS"
  | "INVALID_SOURCE"
  | "INVALID_RUNNING"
  | "COPY_EXISTS"
  | "BYTES_OVERFLOW"
  | "TIME_OVERFLOW"
  | "RUN_FAILED"
  | "NO_ROUTE"
  | "PORTS_OVERCOMMITTED"
  | "DAG_INVALID"
  | "CYCLE"
  | "CANDIDATE_FAILED"
  | "BUSY"
  | "CANCELLED"
  | "CLOSED"
  | "WORKER_LOST"
  | FormatErrorCode;

/** Codes of `FormatError`. */
export type FormatErrorCode =
  | "SYNTAX"
  | "ENCODING"
  | "TRUNCATED"
  | "TOO_LARGE"
  | "UNSUPPORTED"
  | "WRONG_TYPE"
  | "UNKNOWN_FIELD"
  | "MISSING_FIELD"
  | "DUPLICATE_FIELD"
  | "DUPLICATE_NAME"
  | "INVALID_NAME"
  | "UNKNOWN_OPERATOR"
  | "UNKNOWN_ACCELERATOR"
  | "NO_ACCELERATOR"
  | "CYCLE"
  | "INVALID_DURATION"
  | "INVALID_BYTES"
  | "BYTES_OVERFLOW"
  | "INVALID_NUMBER"
  | "NOT_EXPRESSIBLE"
  | "INVALID_OPTION";

/** The base of this package's errors; match on `code`, not on the message. */
export class SimulatorError extends Error {
  readonly code: SimulatorErrorCode;
  /** The numbers and names of the message, as plain data. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: SimulatorErrorCode,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    options: ErrorOptions = {},
  ) {
    super(message, options);
    this.name = "SimulatorError";
    this.code = code;
    this.details = details;
  }
}

/** A whole number from `min` to 2^53 − 1, or the error `code`. */
export function requireWhole(value: number, min: number, what: string, code: SimulatorErrorCode): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  failWhole(value, min, what, code);
}

/** Any value on one short line, for callers without types: an object may refuse to be put into words. */
export function wordOf(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** A name or a piece of the content for a message: quoted, and cut where it would flood the message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > NAME_SHOWN_MAX ? `${text.slice(0, NAME_SHOWN_MAX)}…` : text);
}

const NAME_SHOWN_MAX = 80;

/** For hot code, which checks by itself and makes no message until one is needed. */
export function failWhole(value: number, min: number, what: string, code: SimulatorErrorCode): never {
  const overflow = code === "INVALID_BYTES" && Number.isFinite(value) && value > Number.MAX_SAFE_INTEGER;
  throw new SimulatorError(
    overflow ? "BYTES_OVERFLOW" : code,
    `${what} is ${wordOf(value)}; it must be a whole number from ${min} to 2^53 − 1`,
    { what, value, min },
  );
}

/** A whole number from 0 to `count` − 1, or the error `code`. */
export function requireBelow(value: number, count: number, what: string, code: SimulatorErrorCode): void {
  if (Number.isInteger(value) && value >= 0 && value < count) return;
  throw new SimulatorError(code, `there is no ${what} ${value}, there are ${count}`, { [what]: value, count });
}

/** More bytes on an accelerator than a double counts exactly. */
export function failBytes(accelerator: number, usedBytes: number): never {
  throw new SimulatorError(
    "BYTES_OVERFLOW",
    `accelerator ${accelerator} would hold about ${usedBytes} bytes at once; sums are exact up to 2^53 − 1 bytes only`,
    { accelerator, usedBytes },
  );
}

/** A time past what a double counts exactly. */
export function failTime(atNs: number, beginNs: number): never {
  throw new SimulatorError(
    "TIME_OVERFLOW",
    `the simulation began at ${beginNs} ns and reaches about ${atNs} ns; times are exact up to 2^53 − 1 ns only`,
    { beginNs, atNs },
  );
}

/** What a run threw, as an error of this package. */
export function runFailed(error: unknown): SimulatorError {
  if (error instanceof SimulatorError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new SimulatorError("RUN_FAILED", `the simulation stopped midway: ${why}`, { why }, { cause: error });
}

/** Whatever of this package is thrown inside says first what it is about. */
export function withContext<T>(what: string, details: Readonly<Record<string, unknown>>, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof SimulatorError)) throw error;
    throw new SimulatorError(
      error.code,
      `${what}: ${error.message}`,
      { ...error.details, ...details },
      { cause: error },
    );
  }
}
