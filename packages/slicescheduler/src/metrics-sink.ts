/** What a metrics library has to offer, for the master to be measured with it. */

/** One metric: a name with its unit, what it means, and the names of its labels. */
export interface MetricDefinition {
  /** By the Prometheus convention: prefix, subject, unit, and `_total` for counters. */
  readonly name: string;
  /** One sentence. */
  readonly help: string;
  /** Of the values; `"1"` for counts and ratios. */
  readonly unit: "seconds" | "bytes" | "1";
  /** Every series has a value for each, in this order. */
  readonly labels: readonly string[];
}

export interface HistogramDefinition extends MetricDefinition {
  /** Upper bounds, inclusive, rising; the last bucket, without a bound, is not named. */
  readonly buckets: readonly number[];
}

/** Takes one value: what is added to a counter (never negative), what a gauge is set to, what a histogram observes. */
export type Recorder = (value: number) => void;

/** A metric, of which each combination of label values is a series. Asking for the same series twice gives the same one. */
export type Series = (values: readonly string[]) => Recorder;

/**
 * Where the master's metrics go. Each metric is defined once, as the master is made, and its series are asked for as they come up: label values
 * are few and known (classes, accelerators, outcomes), tenants are capped. Recorders are called many times per operator, so they should
 * do little. What a sink throws goes to `onListenerError` and never disturbs the master.
 */
export interface MetricsSink {
  counter(definition: MetricDefinition): Series;
  gauge(definition: MetricDefinition): Series;
  histogram(definition: HistogramDefinition): Series;
  /**
   * Called once, after all definitions. The sink calls `refresh` before each reading: it sets every gauge, and counters that follow from the state.
   * Linear in accelerators, issued operators, transfers and the unscheduled frontier.
   */
  beforeReading(refresh: () => void): void;
}

export interface MetricsOptions {
  readonly sink: MetricsSink;
  /** So many tenants, the first that come up, have series of their own; the rest share `"other"`. A whole number from 0. Default 20. */
  readonly tenantsMax?: number;
  /** So many accelerators, the first of the cluster, have series of their own; the rest share `"other"`. A whole number from 1. Default 256. */
  readonly acceleratorsMax?: number;
}
