export type ExecutorErrorCode =
  /** The executor is closed. */
  | "CLOSED"
  /** Used before `open`. */
  | "NOT_OPEN"
  /** Opened twice. */
  | "ALREADY_OPEN"
  /** A field of an instruction or an option has an impossible value. */
  | "INVALID_INSTRUCTION"
  | "INVALID_OPTION"
  /** Issue numbers must rise. */
  | "ISSUE_ORDER"
  /** An issue number of an operator that is still in a queue. */
  | "DUPLICATE_ISSUE"
  /** An accelerator, an issue or a transfer that the executor does not have. */
  | "UNKNOWN_ACCELERATOR"
  | "UNKNOWN_ISSUE"
  | "UNKNOWN_TRANSFER"
  | "UNKNOWN_TEMPLATE"
  /** One name, two different templates. */
  | "TEMPLATE_CONFLICT"
  /** An output that its accelerator already holds or expects. */
  | "DUPLICATE_OUTPUT"
  /** A state machine was asked for a move its table does not have. */
  | "ILLEGAL_MOVE"
  /** Weights over the capacity of their accelerator. */
  | "OVER_CAPACITY"
  /** A duration that is not a finite number, from the function that was given for it. */
  | "INVALID_DURATION"
  /** A callback in the past of its clock. */
  | "TIME_IN_PAST"
  /** `run` was called from within a callback of the same clock. */
  | "REENTRANT"
  /** A check that always holds did not: a bug in this package. */
  | "INVARIANT_BROKEN";

/** Everything this package throws on purpose; match on `code`, the message says what was asked, found and to do. */
export class ExecutorError extends Error {
  readonly code: ExecutorErrorCode;

  constructor(code: ExecutorErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ExecutorError";
    this.code = code;
  }
}
