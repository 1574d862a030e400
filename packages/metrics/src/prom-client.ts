import type { Counter, Gauge, Histogram, MetricConfiguration, Registry } from "prom-client";
import type { HistogramDefinition, MetricDefinition, MetricsSink, Series } from "slicescheduler";

/** The classes of the application's own copy of prom-client: `import * as client from "prom-client"`. */
export interface PromClient {
  readonly Counter: typeof Counter;
  readonly Gauge: typeof Gauge;
  readonly Histogram: typeof Histogram;
  readonly register: Registry;
}

/**
 * A sink whose metrics stand in a registry of prom-client, beside the application's own. Throws what prom-client throws for a name that is in
 * the registry already: one master per registry.
 * @param registry Default: the global one of that copy.
 */
export function promClientSink(client: PromClient, registry: Registry = client.register): MetricsSink {
  let refresh: () => void = () => {};
  let isFresh = false;
  // Every metric asks before it is read; those that are read in the same turn share one look at the state.
  const collect = () => {
    if (isFresh) return;
    isFresh = true;
    queue(() => {
      isFresh = false;
    });
    refresh();
  };
  const configuration = ({
    name,
    help,
    labels,
  }: MetricDefinition): MetricConfiguration<string> & { collect(): void } => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect,
  });
  return {
    counter: (definition) => {
      const counter = new client.Counter(configuration(definition));
      return seriesOf(definition, (labels) => {
        const child = counter.labels(labels);
        return (value) => child.inc(value);
      });
    },
    gauge: (definition) => {
      const gauge = new client.Gauge(configuration(definition));
      return seriesOf(definition, (labels) => {
        const child = gauge.labels(labels);
        return (value) => child.set(value);
      });
    },
    histogram: (definition: HistogramDefinition) => {
      const buckets = [...definition.buckets];
      const histogram = new client.Histogram({ ...configuration(definition), buckets });
      return seriesOf(definition, (labels) => {
        const child = histogram.labels(labels);
        return (value) => child.observe(value);
      });
    },
    beforeReading: (given) => {
      refresh = given;
    },
  };
}

/** After what is going on now, without a timer. */
function queue(callback: () => void): void {
  Promise.resolve().then(callback, callback);
}

function seriesOf(
  { labels }: MetricDefinition,
  make: (labels: Record<string, string>) => (value: number) => void,
): Series {
  return (values) => make(Object.fromEntries(labels.map((label, at) => [label, values[at] ?? ""])));
}
