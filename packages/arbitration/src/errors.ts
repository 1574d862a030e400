/** Stable codes of this package's errors; match these, not messages. */
export type ArbitrationErrorCode =
  | "INVALID_TOPOLOGY"
  | "INVALID_OPTIONS"
  | "INVALID_INTENT"
  | "INVALID_TIME"
  | "INVALID_STATE"
  | "UNSUPPORTED_VERSION"
  | "NO_ROUTE"
  | "DUPLICATE_TRANSFER"
  | "UNKNOWN_TRANSFER"
  | "ILLEGAL_MOVE"
  | "TOO_MANY_INTENTS"
  | "PORT_EXHAUSTED"
  | "PORT_NOT_CLAIMED"
  | "INVARIANT_BROKEN";

/** What was found, as plain data; which fields are set depends on the code. */
export type ArbitrationErrorDetails = Readonly<Record<string, unknown>>;

/** The one error class of this package. */
export class ArbitrationError extends Error {
  readonly code: ArbitrationErrorCode;
  readonly details: ArbitrationErrorDetails;

  constructor(code: ArbitrationErrorCode, message: string, details: ArbitrationErrorDetails = {}) {
    super(message);
    this.name = "ArbitrationError";
    this.code = code;
    this.details = details;
  }
}
