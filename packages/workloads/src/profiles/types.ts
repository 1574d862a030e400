/**
 * A small measured picture of two real traces: enough to make a like workload where the files are not at hand, nothing
 * that would let a reader reconstruct a row.
 */
export interface WorkloadProfile {
  readonly version: 1;
  readonly name: string;
  /** Whose traces were measured, and under which licence. */
  readonly attribution: string;
  readonly arrivals: ArrivalProfile;
  readonly lengths: LengthProfile;
}

export interface ArrivalProfile {
  readonly windowSeconds: number;
  /** Mean rate in each window, in order. */
  readonly requestsPerSecond: readonly number[];
  /**
   * Inter-arrival times × the local rate (mean about 1) as quantiles at 0, 1/n, …, 1: what remains when the drift of the
   * rate is taken out.
   */
  readonly gapQuantiles: readonly number[];
}

/** Marginal distributions as quantiles at 0, 1/n, …, 1. */
export interface LengthProfile {
  readonly rows: number;
  readonly inputTokenQuantiles: readonly number[];
  readonly outputTokenQuantiles: readonly number[];
  /**
   * Spearman's, between input and output tokens of a request, −1 to 1. Default 0: in the Azure "code" trace the two are uncorrelated
   * (r < 0.001 at ≤ 48 output tokens).
   */
  readonly rankCorrelation?: number;
}

/** Most requests that a profile may be measured on or generate; the largest public traces of one service have as many. */
export const requestsMax = 10_000_000;
