export type LibtorchErrorCode =
  /** The native addon is not built, or does not load here; the message names the command. */
  | "LIBTORCH_MISSING"
  /** An option of the executor that cannot be. */
  | "INVALID_OPTION"
  /** An operator of a template for which no program was defined. */
  | "PROGRAM_MISSING"
  /** An operator that this LibTorch does not have. */
  | "UNKNOWN_OPERATOR"
  /** A call whose arguments are not those of its schema. */
  | "WRONG_ARGUMENT"
  /** A program that is wrong in itself, or does not fit the operator that it is for. */
  | "PROGRAM_INVALID"
  /** An output unlike its declaration. */
  | "OUTPUT_MISMATCH"
  /** An allocation over the cap of its accelerator, or over the host's memory. */
  | "OUT_OF_MEMORY"
  /** LibTorch threw; the message is its own. */
  | "OPERATOR_FAILED"
  /** Host data that were not given for the instance, or are not what the template declares. */
  | "FEED_MISSING"
  | "FEED_MISMATCH"
  /** Weights that are not defined, that lack a tensor, or whose source is wrong in itself. */
  | "WEIGHTS_MISSING"
  | "WEIGHTS_INVALID"
  /** Another source for weights that are loaded. */
  | "WEIGHTS_IN_USE"
  /** A file that cannot be read, or is not what its format says. */
  | "FILE_UNREADABLE"
  | "FILE_INVALID"
  /** TorchScript where it is not allowed; a TorchScript file that does not load, or has no such method. */
  | "SCRIPT_DENIED"
  | "SCRIPT_INVALID"
  /** An element type that this LibTorch does not have, or that is not read from files. */
  | "DTYPE_UNSUPPORTED"
  /** A device that is not there, or that this build does not drive. */
  | "DEVICE_UNAVAILABLE"
  /** A copy between buffers of different sizes, or text that the native side does not read: a bug in this package. */
  | "COPY_MISMATCH"
  | "JSON_INVALID";

/** Everything that programs, weights and host data throw on purpose; match on `code`, the message says what was asked, found and to do. */
export class LibtorchError extends Error {
  readonly code: LibtorchErrorCode;

  constructor(code: LibtorchErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "LibtorchError";
    this.code = code;
  }
}

const CODES: ReadonlySet<string> = new Set<LibtorchErrorCode>([
  "UNKNOWN_OPERATOR",
  "WRONG_ARGUMENT",
  "PROGRAM_INVALID",
  "OUTPUT_MISMATCH",
  "OUT_OF_MEMORY",
  "OPERATOR_FAILED",
  "FEED_MISSING",
  "FEED_MISMATCH",
  "WEIGHTS_MISSING",
  "WEIGHTS_INVALID",
  "FILE_UNREADABLE",
  "FILE_INVALID",
  "SCRIPT_DENIED",
  "SCRIPT_INVALID",
  "DTYPE_UNSUPPORTED",
  "DEVICE_UNAVAILABLE",
  "COPY_MISMATCH",
  "JSON_INVALID",
]);

/** Calls into the native side, and throws its faults as errors of this package; `about` comes before the message. */
export function withFaults<Result>(about: string, call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (!(error instanceof Error) || !isCode(code)) throw error;
    throw new LibtorchError(code, `${about}: ${error.message}`, { cause: error });
  }
}

function isCode(code: unknown): code is LibtorchErrorCode {
  return typeof code === "string" && CODES.has(code);
}
