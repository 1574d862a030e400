import { GmgError } from "@slicescheduler/templates";

/** Codes of what a graph refuses at its border. */
export type SubmissionErrorCode =
  | "TEMPLATE_EXISTS"
  | "UNKNOWN_TEMPLATE"
  | "UNKNOWN_INSTANCE"
  | "UNKNOWN_REQUEST"
  | "INVALID_REQUEST"
  | "INVALID_URGENCY"
  | "REQUEST_CLOSED"
  | "DUPLICATE_ID"
  | "UNKNOWN_INPUT"
  | "UNBOUND_INPUT"
  | "UNKNOWN_OUTPUT"
  | "INPUT_MISMATCH"
  | "OUTPUT_RELEASED"
  | "OUTPUT_LOST"
  | "ALREADY_CONTINUED"
  | "INPUTS_SPAN_REQUESTS"
  | "UNKNOWN_PARTITION"
  | "NO_ROUTE"
  | "ACCELERATOR_UNAVAILABLE"
  | "LIMITS_EXCEEDED"
  | "WEIGHTS_MISMATCH"
  | "NEVER_FITS"
  | "CLAIM_TOO_LARGE_NOW";

/** What was registered or submitted does not match what the graph knows; match on `code`. Nothing changed. */
export class SubmissionError extends GmgError {
  declare readonly code: SubmissionErrorCode;

  constructor(code: SubmissionErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(code, message, details);
  }
}

/** @param known Names of all that are registered. */
export function unknownTemplate(name: string, known: readonly string[]): SubmissionError {
  return new SubmissionError(
    "UNKNOWN_TEMPLATE",
    `template ${JSON.stringify(name)} is not registered (registered: ${known.join(", ") || "none"})`,
    { template: name },
  );
}

/** Code `ILLEGAL_MOVE`: an event or a decision that the state does not allow. Nothing changed. */
export class IllegalMoveError extends GmgError {
  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super("ILLEGAL_MOVE", message, details);
  }
}
