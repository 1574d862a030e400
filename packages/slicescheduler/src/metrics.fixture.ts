import type { MetricDefinition, MetricsSink } from "./index.ts";

/** Keeps everything it is told, by metric and labels: `name{label=value,…}`. */
export class RecordingSink implements MetricsSink {
  readonly counters = new Map<string, number>();
  readonly gauges = new Map<string, number>();
  readonly histograms = new Map<string, number[]>();
  readonly definitions: MetricDefinition[] = [];
  #refresh: () => void = () => {};

  counter(definition: MetricDefinition) {
    return this.#series(definition, (key, value) => {
      if (!(value >= 0)) throw new Error(`${key} falls by ${value}`);
      this.counters.set(key, (this.counters.get(key) ?? 0) + value);
    });
  }

  gauge(definition: MetricDefinition) {
    return this.#series(definition, (key, value) => this.gauges.set(key, value));
  }

  histogram(definition: MetricDefinition) {
    return this.#series(definition, (key, value) => {
      const values = this.histograms.get(key) ?? [];
      values.push(value);
      this.histograms.set(key, values);
    });
  }

  beforeReading(refresh: () => void) {
    this.#refresh = refresh;
  }

  read(): this {
    this.#refresh();
    return this;
  }

  /** Of every series of a metric whose labels have these values. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
    let sum = 0;
    for (const [key, value] of [...this.counters, ...this.gauges]) {
      const [, of = "", values = ""] = /^slicescheduler_(\w+)\{(.*)\}$/.exec(key) ?? [];
      if (of === name && wanted.every((want) => values.split(",").includes(want))) sum += value;
    }
    return sum;
  }

  #series(definition: MetricDefinition, record: (key: string, value: number) => void) {
    this.definitions.push(definition);
    const { name, labels } = definition;
    return (values: readonly string[]) => {
      if (values.length !== labels.length) throw new Error(`${name}: ${values} for the labels ${labels}`);
      const key = `${name}{${labels.map((label, at) => `${label}=${values[at]}`).join()}}`;
      return (value: number) => {
        if (!Number.isFinite(value)) throw new Error(`${key} is told ${value}`);
        record(key, value);
      };
    };
  }
}
