/** One request as a trace records it. */
export interface TraceRow {
  /** Nanoseconds since the file's first row, whole. */
  readonly arrivalNs: number;
  /** Prompt tokens, at least 1. */
  readonly inputTokens: number;
  /** Output tokens, at least 1. */
  readonly outputTokens: number;
}

/** The canonical form of a request, which every format is converted to; a label that is absent is not known. */
export interface TraceRequest extends TraceRow {
  /** Whose request it is: a customer, or a model with a deployment of its own. */
  readonly tenant?: string;
  /** Its priority class. */
  readonly class?: string;
  /** Equal for the turns of one conversation. */
  readonly session?: string;
}

/** Longest trace the readers take: nanoseconds stay exact, and no real trace is longer. */
export const traceDaysMax = 100;
/** Most tokens a row may claim on either side; more is a broken row, not a request. */
export const traceTokensMax = 10_000_000;
/** Longest tenant, class or session, in UTF-16 units. */
export const traceLabelMax = 200;
