import { DataPointType, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import * as client from "prom-client";
import { METRICS, type MetricsSink } from "slicescheduler";
import { expect, test } from "vitest";
import { PrometheusText } from "../src/index.ts";
import { openTelemetrySink } from "../src/open-telemetry.ts";
import { promClientSink } from "../src/prom-client.ts";
import { readExposition } from "./exposition.ts";
import { measured } from "./world.ts";

/** Tells several sinks the same. */
function tee(...sinks: readonly MetricsSink[]): MetricsSink {
  const all = (kind: "counter" | "gauge") => (definition: Parameters<MetricsSink["counter"]>[0]) => {
    const series = sinks.map((sink) => sink[kind](definition));
    return (values: readonly string[]) => spread(series.map((of) => of(values)));
  };
  return {
    counter: all("counter"),
    gauge: all("gauge"),
    histogram: (definition) => {
      const series = sinks.map((sink) => sink.histogram(definition));
      return (values) => spread(series.map((of) => of(values)));
    },
    beforeReading: (refresh) => {
      for (const sink of sinks) sink.beforeReading(refresh);
    },
  };
}

function spread(recorders: readonly ((value: number) => void)[]) {
  return (value: number) => {
    for (const record of recorders) record(value);
  };
}

/** Without what differs in form only: the order of labels, and empty families. */
function numbersOf(text: string): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const { samples } of readExposition(text).values()) {
    for (const [key, value] of samples) {
      const [, name = "", labels = ""] = /^([^{]*)\{(.*)\}$/s.exec(key) ?? [];
      numbers.set(
        `${name}{${
          labels
            .match(/\w+="(?:[^"\\]|\\.)*"/g)
            ?.sort()
            .join() ?? ""
        }}`,
        value,
      );
    }
  }
  return numbers;
}

test("prom-client and the text of our own say the same, by the rules of the exposition format", async () => {
  const text = new PrometheusText();
  const registry = new client.Registry();
  const { scheduler } = measured(tee(text, promClientSink(client, registry)));
  const own = text.text();
  const theirs = await registry.metrics();
  const numbers = numbersOf(own);
  expect(numbers).toEqual(numbersOf(theirs));
  expect(numbers.size).toBeGreaterThan(150);
  expect([...readExposition(own).keys()]).toEqual(METRICS.map(({ name }) => name));
  const done = numbers.get('slicescheduler_operators_total{class="online",outcome="done",tenant="acme\\ncorp"}');
  expect(done).toBeGreaterThan(0);
  expect(numbers.get("slicescheduler_decisions_total{}")).toBe(scheduler.stats().rounds);
  expect(numbers.get('slicescheduler_hbm_capacity_bytes{accelerator="b \\"quoted\\\\"}')).toBe(1000);
  expect(numbers.get('slicescheduler_refusals_total{code="NEVER_FITS"}')).toBe(1);
  // Counters that are read twice do not count twice.
  expect(numbersOf(text.text())).toEqual(numbers);
  expect(numbersOf(await registry.metrics())).toEqual(numbers);
});

test("one metric of prom-client alone is as fresh as all of them", async () => {
  const registry = new client.Registry();
  const { scheduler, template } = measured(promClientSink(client, registry));
  const read = async () => {
    const found = await registry.getSingleMetric("slicescheduler_live_instances")?.get();
    return found?.values[0]?.value;
  };
  expect(await read()).toBe(0);
  scheduler.submit(template, { symbols: { n: 5 } });
  expect(await read()).toBe(1);
});

test("prom-client refuses a second master in the same registry, and says which name", () => {
  const registry = new client.Registry();
  measured(promClientSink(client, registry));
  expect(() => measured(promClientSink(client, registry))).toThrow(/slicescheduler_operators_issued_total/);
});

test("two masters in one text are added up", () => {
  const one = new PrometheusText();
  const both = new PrometheusText();
  measured(tee(one, both));
  measured(both);
  const [single, sum] = [numbersOf(one.text()), numbersOf(both.text())];
  for (const key of [...single.keys()].filter((key) => /_total\{|_count\{/.test(key) && !key.includes("seconds_total")))
    expect([key, sum.get(key)]).toEqual([key, 2 * (single.get(key) ?? 0)]);
});

class Reader extends MetricReader {
  protected override async onForceFlush() {}
  protected override async onShutdown() {}
}

test("OpenTelemetry's own SDK collects the same numbers, under its names and units", async () => {
  const text = new PrometheusText();
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  measured(tee(text, openTelemetrySink(provider.getMeter("slicescheduler"))));
  const { resourceMetrics, errors } = await reader.collect();
  expect(errors).toEqual([]);
  const numbers = numbersOf(text.text());
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  let compared = 0;
  for (const { descriptor, dataPointType, dataPoints } of metrics) {
    const unit = { s: "_seconds", By: "_bytes", "": "" }[descriptor.unit];
    const base = `${descriptor.name.replace(".", "_")}${unit}`;
    for (const { attributes, value } of dataPoints as readonly { attributes: object; value: unknown }[]) {
      const labels = Object.entries(attributes)
        .map(
          ([name, label]) =>
            `${name}="${String(label).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`,
        )
        .sort()
        .join();
      if (dataPointType === DataPointType.HISTOGRAM) {
        const { count, sum } = value as { count: number; sum: number };
        expect([base, numbers.get(`${base}_count{${labels}}`)]).toEqual([base, count]);
        expect(numbers.get(`${base}_sum{${labels}}`)).toBeCloseTo(sum, 9);
      } else {
        const name = dataPointType === DataPointType.SUM ? `${base}_total` : base;
        expect([name, labels, numbers.get(`${name}{${labels}}`)]).toEqual([name, labels, value]);
      }
      compared += 1;
    }
  }
  const series = [...numbers.keys()].filter((key) => !/_bucket\{|_sum\{/.test(key));
  // A histogram without observations has no data point there.
  const empty = series.filter((key) => key.includes("_count{") && numbers.get(key) === 0);
  expect(compared).toBe(series.length - empty.length);
  await provider.shutdown();
});
