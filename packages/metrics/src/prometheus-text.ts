import type { HistogramDefinition, MetricDefinition, MetricsSink, Series } from "slicescheduler";

interface Metric {
  readonly definition: MetricDefinition;
  readonly type: "counter" | "gauge" | "histogram";
  readonly buckets: readonly number[];
  /** By label values: a value, or counts per bucket, the unbounded one last, then the sum. */
  readonly series: Map<string, { readonly labels: string; readonly cells: Float64Array }>;
}

/**
 * A sink that needs no library: it keeps plain numbers, and writes them as Prometheus text. `text` is what a `/metrics` endpoint answers, with
 * `CONTENT_TYPE`. Recording costs an addition; reading is linear in the series.
 */
export class PrometheusText implements MetricsSink {
  static readonly CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
  readonly #metrics: Metric[] = [];
  readonly #refreshes: (() => void)[] = [];

  counter(definition: MetricDefinition): Series {
    const metric = this.#define(definition, "counter");
    return this.#series(metric, 1, (cells) => (value) => {
      cells[0] = (cells[0] as number) + value;
    });
  }

  gauge(definition: MetricDefinition): Series {
    const metric = this.#define(definition, "gauge");
    return this.#series(metric, 1, (cells) => (value) => {
      cells[0] = value;
    });
  }

  histogram(definition: HistogramDefinition): Series {
    const { buckets } = definition;
    const metric = this.#define(definition, "histogram", buckets);
    return this.#series(metric, buckets.length + 2, (cells) => (value) => {
      let bucket = 0;
      while (bucket < buckets.length && value > (buckets[bucket] as number)) bucket += 1;
      cells[bucket] = (cells[bucket] as number) + 1;
      cells[buckets.length + 1] = (cells[buckets.length + 1] as number) + value;
    });
  }

  /** Several masters may share a sink; their series are added up where their labels are the same. */
  beforeReading(refresh: () => void): void {
    this.#refreshes.push(refresh);
  }

  /** In the exposition format 0.0.4. */
  text(): string {
    for (const refresh of this.#refreshes) refresh();
    const lines: string[] = [];
    for (const { definition, type, buckets, series } of this.#metrics) {
      const { name, help } = definition;
      lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);
      for (const { labels, cells } of series.values()) {
        if (type === "histogram") lines.push(...histogramLines(name, labels, buckets, cells));
        else lines.push(`${name}${braced(labels)} ${cells[0]}`);
      }
    }
    return `${lines.join("\n")}\n`;
  }

  #define(definition: MetricDefinition, type: Metric["type"], buckets: readonly number[] = []): Metric {
    const known = this.#metrics.find((metric) => metric.definition.name === definition.name);
    if (known !== undefined) return known;
    const metric: Metric = { definition, type, buckets, series: new Map() };
    this.#metrics.push(metric);
    if (definition.labels.length === 0) cellsOf(metric, [], type === "histogram" ? buckets.length + 2 : 1);
    return metric;
  }

  #series(metric: Metric, size: number, record: (cells: Float64Array) => (value: number) => void): Series {
    return (values) => record(cellsOf(metric, values, size));
  }
}

function cellsOf({ definition, series }: Metric, values: readonly string[], size: number): Float64Array {
  const labels = definition.labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? "")}"`).join();
  const known = series.get(labels);
  if (known !== undefined) return known.cells;
  const cells = new Float64Array(size);
  series.set(labels, { labels, cells });
  return cells;
}

function histogramLines(name: string, labels: string, buckets: readonly number[], cells: Float64Array): string[] {
  const lines: string[] = [];
  const before = labels === "" ? "" : `${labels},`;
  let count = 0;
  for (const [at, bound] of [...buckets, "+Inf"].entries()) {
    count += cells[at] as number;
    lines.push(`${name}_bucket{${before}le="${bound}"} ${count}`);
  }
  lines.push(`${name}_sum${braced(labels)} ${cells[buckets.length + 1]}`, `${name}_count${braced(labels)} ${count}`);
  return lines;
}

function braced(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
