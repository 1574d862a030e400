/** Codes: `INVALID_OPTIONS`, `faults` names everything wrong at once; `ADDRESS_UNAVAILABLE`, with the system's error as `cause`. */
export class LiveViewError extends Error {
  readonly code: "INVALID_OPTIONS" | "ADDRESS_UNAVAILABLE";
  readonly faults: readonly string[];

  constructor(
    code: LiveViewError["code"],
    message: string,
    faults: readonly string[] = [],
    options: ErrorOptions = {},
  ) {
    super(message, options);
    this.name = "LiveViewError";
    this.code = code;
    this.faults = faults;
  }
}
