/** `INVALID_INPUT`: the input is not what it has to be. `TOO_LARGE`: the page would pass `maxBytes` at the coarsest times. */
export type ReportErrorCode = "INVALID_INPUT" | "TOO_LARGE";

export class ReportError extends Error {
  readonly code: ReportErrorCode;

  constructor(code: ReportErrorCode, message: string) {
    super(message);
    this.name = "ReportError";
    this.code = code;
  }
}
