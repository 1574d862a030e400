/** The errors of this package: one class, told apart by `code`. */

export type EstimatorErrorCode =
  /** Features are not numbers up to ±(2^53 − 1), too many, or not as many as the model has learned from. */
  | "FEATURES_INVALID"
  /** A prior is negative or not finite. */
  | "PRIOR_INVALID"
  /** A number given to `rooflineNs` is out of range. */
  | "ROOFLINE_INVALID"
  /** An option is out of range. */
  | "OPTIONS_INVALID"
  /** A bank holds `BANK_MODELS_MAX` models. */
  | "TOO_MANY_MODELS"
  /** The speeds of `KIND_ACCELERATORS_MAX` accelerators of one kind are known. */
  | "TOO_MANY_ACCELERATORS"
  /** A saved value is not one of this package's, or contradicts itself. */
  | "STATE_INVALID"
  /** A saved value is of a version this package does not read. */
  | "STATE_VERSION";

/** Every error this package throws on purpose; match on `code`, not on the message. */
export class EstimatorError extends Error {
  readonly code: EstimatorErrorCode;
  /** The numbers and names of the message, as plain data. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: EstimatorErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = "EstimatorError";
    this.code = code;
    this.details = details;
  }
}
