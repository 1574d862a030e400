import type { Attributes, BatchObservableResult, Meter, MetricOptions, Observable } from "@opentelemetry/api";
import type { HistogramDefinition, MetricDefinition, MetricsSink, Recorder, Series } from "slicescheduler";

/** What an observable instrument is told at the next collection, by series. */
interface Observed {
  readonly instrument: Observable;
  readonly series: Map<string, { readonly attributes: Attributes; value: number }>;
}

/**
 * A sink of instruments of an OpenTelemetry meter. Names are those of Prometheus in OpenTelemetry's form, as its Prometheus exporter turns them back: dots, and neither
 * `_total` nor the unit, which is the instrument's own (`s`, `By`). Counters and gauges are observable: their numbers are kept here
 * and handed over at collection; histograms are recorded as they come.
 */
export function openTelemetrySink(meter: Meter): MetricsSink {
  const observed: Observed[] = [];
  const observable = (instrument: Observable, add: boolean, { labels }: MetricDefinition): Series => {
    const it: Observed = { instrument, series: new Map() };
    observed.push(it);
    return (values) => {
      const key = values.join("\n");
      const cell = it.series.get(key) ?? { attributes: attributesOf(labels, values), value: 0 };
      it.series.set(key, cell);
      return (value) => {
        cell.value = add ? cell.value + value : value;
      };
    };
  };
  return {
    counter: (definition) => observable(meter.createObservableCounter(...namedOf(definition)), true, definition),
    gauge: (definition) => observable(meter.createObservableGauge(...namedOf(definition)), false, definition),
    histogram: (definition: HistogramDefinition) => {
      const [name, options] = namedOf(definition);
      const advice = { explicitBucketBoundaries: [...definition.buckets] };
      const histogram = meter.createHistogram(name, { ...options, advice });
      return (values): Recorder => {
        const attributes = attributesOf(definition.labels, values);
        return (value) => histogram.record(value, attributes);
      };
    },
    beforeReading: (refresh) => {
      const tell = (result: BatchObservableResult) => {
        refresh();
        for (const { instrument, series } of observed)
          for (const { attributes, value } of series.values()) result.observe(instrument, value, attributes);
      };
      meter.addBatchObservableCallback(
        tell,
        observed.map(({ instrument }) => instrument),
      );
    },
  };
}

/** A count has none: with `1`, exporters to Prometheus would call it a ratio. */
const UNITS = { seconds: "s", bytes: "By", "1": "" } as const;

function namedOf({ name, help, unit }: MetricDefinition): [string, MetricOptions] {
  const short = name.replace(/_total$/, "").replace(unit === "1" ? /$/ : new RegExp(`_${unit}$`), "");
  return [short.replace("slicescheduler_", "slicescheduler."), { description: help, unit: UNITS[unit] }];
}

function attributesOf(labels: readonly string[], values: readonly string[]): Attributes {
  return Object.fromEntries(labels.map((label, at) => [label, values[at] ?? ""]));
}
