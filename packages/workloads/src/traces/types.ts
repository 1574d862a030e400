/** One request as a trace records it. */
export interface TraceRow {
  /** Nanoseconds since the file's first row, whole. */
  readonly arrivalNs: number;
  /** Prompt tokens, at least 1. */
  readonly inputTokens: number;
  /** Output tokens, at least 1. */
  readonly outputTokens: number;
}

/** Longest trace the readers take: nanoseconds stay exact, and no real trace is longer. */
export const traceDaysMax = 100;
/** Most tokens a row may claim on either side; more is a broken row, not a request. */
export const traceTokensMax = 10_000_000;
