export type TimelineErrorCode =
  | "INVALID_OPTION"
  | "ALREADY_ATTACHED"
  | "UNKNOWN_INSTANCE"
  | "UNKNOWN_DECISION"
  | "RUN_RECORD_INVALID"
  | "EVENT_LOG_INVALID"
  | "EVENT_LOG_UNREPLAYABLE"
  | "EVENT_LOG_DIVERGED";

/** Base class of all errors of this package; callers match `code`. */
export class TimelineError extends Error {
  readonly code: TimelineErrorCode;

  constructor(code: TimelineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Code `RUN_RECORD_INVALID`: what was to be decoded is no file of a run record; `offset` is the byte at which that showed. */
export class RunRecordInvalidError extends TimelineError {
  readonly offset: number;

  constructor(offset: number, reason: string) {
    super("RUN_RECORD_INVALID", `byte ${offset}: ${reason}`);
    this.offset = offset;
  }
}

/** What is wrong with an event log, and where. */
export interface EventLogPlace {
  /** From 1; null where it concerns no line in particular. */
  readonly line: number | null;
  /** Within the line's value, as `event.symbols.tokens`; empty for the line as a whole. */
  readonly path: string;
}

/**
 * `EVENT_LOG_INVALID`: a line that no writer of this package has written; `EVENT_LOG_UNREPLAYABLE`: the log needs a policy that was not
 * given, or its cluster or options are refused, or an event is; `EVENT_LOG_DIVERGED`: the replay decided otherwise than the run.
 */
export class EventLogError extends TimelineError implements EventLogPlace {
  readonly line: number | null;
  readonly path: string;
  /** Without the place. */
  readonly reason: string;

  constructor(
    code: "EVENT_LOG_INVALID" | "EVENT_LOG_UNREPLAYABLE" | "EVENT_LOG_DIVERGED",
    { line, path }: EventLogPlace,
    reason: string,
    options?: ErrorOptions,
  ) {
    const place = [line === null ? "" : `line ${line}`, path].filter((part) => part !== "").join(", ");
    super(code, place === "" ? reason : `${place}: ${reason}`, options);
    this.line = line;
    this.path = path;
    this.reason = reason;
  }
}

/** Throws INVALID_OPTION for what is not a whole number from `min` on. */
export function checkWhole(option: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return;
  throw new TimelineError("INVALID_OPTION", `${option}: ${value} is not a whole number from ${min}`);
}
