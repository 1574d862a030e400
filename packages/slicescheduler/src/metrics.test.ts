import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test, vi } from "vitest";
import {
  type HistogramDefinition,
  METRICS,
  type MetricDefinition,
  SliceScheduler,
  type SliceSchedulerOptions,
} from "./index.ts";
import { RecordingSink } from "./metrics.fixture.ts";

const cluster = {
  accelerators: ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 })),
  defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 },
};

/** Two operators on two accelerators, with a transfer of n bytes between them. */
const split = defineTemplate({
  name: "split",
  symbols: ["n"],
  operators: [
    { name: "first", outputs: { out: { shape: ["n"], dtype: "uint8" } } },
    { name: "second", inputs: ["first.out"], outputs: { out: { shape: ["n"], dtype: "uint8" } } },
  ],
  outputs: { out: "second.out" },
  partitions: [{ name: "split", accelerators: ["a", "b"], layout: [0, 1] }],
});

function world(options: Partial<SliceSchedulerOptions> = {}, tenantsMax = 20) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const sink = new RecordingSink();
  const scheduler = new SliceScheduler({ cluster, executor, metrics: { sink, tenantsMax }, ...options });
  return { time, executor, sink, scheduler, split: scheduler.register(split) };
}

test("what one instance does is told with its class, its tenant and its times", () => {
  const { time, sink, scheduler, split } = world({ scheduling: { tenants: { acme: {} } } });
  scheduler.submit(split, { symbols: { n: 50 }, priority: "offline", tenant: "acme" });
  expect(sink.read().sum("issued_operators", { state: "running" })).toBe(1);
  expect(sink.sum("issued_operators", { accelerator: "b", state: "blocked" })).toBe(1);
  time.run();
  sink.read();
  const of = { class: "offline", tenant: "acme" };
  expect(sink.sum("operators_issued_total", of)).toBe(2);
  expect(sink.sum("operators_total", { ...of, outcome: "done" })).toBe(2);
  expect(sink.sum("instances_total", { ...of, outcome: "done" })).toBe(1);
  expect(sink.sum("requests_total", of)).toBe(1);
  expect(sink.sum("issued_operators")).toBe(0);
  expect(sink.sum("decisions_total")).toBe(scheduler.stats().rounds);
  expect(sink.sum("decision_candidates_total", { outcome: "chosen" })).toBe(scheduler.stats().rounds);
  expect(sink.sum("transferred_bytes_total", { accelerator: "b", direction: "in" })).toBe(50);
  expect(sink.sum("transferred_bytes_total", { direction: "out" })).toBe(50);
  expect(sink.sum("hbm_capacity_bytes")).toBe(2000);
  const histograms = (name: string) =>
    [...sink.histograms].flatMap(([key, values]) => (key.startsWith(`slicescheduler_${name}{`) ? values : []));
  // first 0–100, transfer 10 + 50, second 160–260.
  expect(histograms("operator_duration_seconds")).toEqual([100e-9, 100e-9]);
  expect(histograms("operator_queue_seconds")).toEqual([0, 160e-9]);
  expect(histograms("instance_wait_seconds")).toEqual([0]);
  expect(histograms("instance_duration_seconds")).toEqual([260e-9]);
  expect(histograms("request_first_result_seconds")).toEqual([260e-9]);
  expect(histograms("transfer_duration_seconds")).toEqual([60e-9]);
  expect(histograms("estimate_error_ratio")).toHaveLength(3);
  // The link is as declared.
  expect(sink.histograms.get("slicescheduler_estimate_error_ratio{of=transfer}")).toEqual([0]);
  const states = Object.fromEntries(
    ["busy", "idle", "absent"].map((state) => [
      state,
      sink.sum("accelerator_seconds_total", { accelerator: "a", state }),
    ]),
  );
  expect(states["busy"]).toBeCloseTo(100e-9, 15);
  expect(states["idle"]).toBeCloseTo(160e-9, 15);
  expect(states["absent"]).toBe(0);
});

test("the first result of a request is told once, with the request's class", () => {
  const { time, sink, scheduler, split } = world();
  const request = scheduler.openRequest({ priority: "offline" });
  time.run(1000);
  for (let i = 0; i < 3; i++) scheduler.submit(split, { request, symbols: { n: 10 }, priority: "online" });
  time.run();
  request.close();
  const first = sink.histograms.get("slicescheduler_request_first_result_seconds{class=offline,tenant=none}");
  expect(first).toHaveLength(1);
  expect(first?.[0]).toBeGreaterThan(1000e-9);
  expect(sink.sum("instances_total", { class: "online" })).toBe(3);
});

test("a loss is told, and where its operators and its time went", () => {
  const { time, executor, sink, scheduler, split } = world({ health: false });
  const handle = scheduler.submit(split, { symbols: { n: 10 } });
  time.run(50);
  executor.loseAccelerator("a");
  time.run();
  sink.read();
  expect(sink.sum("accelerator_events_total", { accelerator: "a", event: "lost" })).toBe(1);
  expect(sink.sum("operators_total", { outcome: "lost" })).toBe(1);
  expect(sink.sum("accelerator_up", { accelerator: "a" })).toBe(0);
  expect(sink.sum("accelerator_seconds_total", { accelerator: "a", state: "busy" })).toBeCloseTo(50e-9, 15);
  // Its only partition has lost an accelerator.
  expect(sink.sum("instances_total", { outcome: "failed" })).toBe(1);
  expect(sink.sum("instance_failures_total", { code: "INSTANCE_FAILED" })).toBe(1);
  expect(handle.id).toBe(0);
});

test("refusals are counted by their code and thrown all the same", () => {
  const { sink, scheduler, split } = world();
  expect(() => scheduler.submit(split, { symbols: { n: 100_000 } })).toThrow();
  expect(sink.sum("refusals_total")).toBe(1);
  expect([...sink.counters.keys()].filter((key) => key.includes("refusals"))).toEqual([
    "slicescheduler_refusals_total{code=NEVER_FITS}",
  ]);
});

test("tenants beyond the limit share one series, and accelerators do", () => {
  const names = ["t0", "t1", "t2", "t3"];
  const tenants = Object.fromEntries(names.map((name) => [name, {}]));
  const { time, sink, scheduler, split } = world({ scheduling: { tenants } }, 2);
  for (const tenant of [...names, "t0"]) scheduler.submit(split, { symbols: { n: 1 }, tenant });
  time.run();
  expect(sink.sum("requests_total", { tenant: "t0" })).toBe(2);
  expect(sink.sum("requests_total", { tenant: "t1" })).toBe(1);
  expect(sink.sum("requests_total", { tenant: "other" })).toBe(2);

  const few = new RecordingSink();
  const executor = virtualExecutor({ seed: 1, time: new SimulatedTime() });
  new SliceScheduler({ cluster, executor, metrics: { sink: few, acceleratorsMax: 1 } });
  few.read();
  expect(few.gauges.get("slicescheduler_hbm_capacity_bytes{accelerator=a}")).toBe(1000);
  expect(few.gauges.get("slicescheduler_hbm_capacity_bytes{accelerator=other}")).toBe(1000);
});

test("rounds are measured where the host's clock is given", () => {
  let hostNs = 0;
  const { sink, scheduler, split } = world({ hostNowNs: () => (hostNs += 1000) });
  scheduler.submit(split, { symbols: { n: 10 } });
  const [rounds = []] = [...sink.histograms].flatMap(([key, values]) => (key.includes("round_host") ? [values] : []));
  expect(rounds.length).toBeGreaterThan(0);
  expect(rounds.every((seconds) => seconds === 1e-6)).toBe(true);
});

test("a sink that throws disturbs nobody", async () => {
  const onListenerError = vi.fn();
  const sink = new RecordingSink();
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time });
  const scheduler = new SliceScheduler({
    cluster,
    executor,
    onListenerError,
    metrics: {
      sink: {
        counter: () => () => fail,
        gauge: (definition: MetricDefinition) => sink.gauge(definition),
        histogram: (definition: HistogramDefinition) => sink.histogram(definition),
        beforeReading: () => {},
      },
    },
  });
  const handle = scheduler.submit(scheduler.register(split), { symbols: { n: 10 } });
  time.run();
  await expect(handle.done).resolves.toMatchObject({ instance: 0 });
  expect(onListenerError).toHaveBeenCalledWith(expect.objectContaining({ message: "full" }), "metrics");
});

function fail(): never {
  throw new Error("full");
}

test("wrong limits are refused, all at once", () => {
  const sink = new RecordingSink();
  const executor = virtualExecutor({ seed: 1, time: new SimulatedTime() });
  const metrics = { sink, tenantsMax: -1, acceleratorsMax: 0 };
  expect(() => new SliceScheduler({ cluster, executor, metrics })).toThrow(/tenantsMax.*\n.*acceleratorsMax/);
});

test("names follow the convention, and are what a sink gets", () => {
  const { sink } = world();
  expect(sink.definitions.map(({ name }) => name)).toEqual(METRICS.map(({ name }) => name));
  expect(new Set(METRICS.map(({ name }) => name)).size).toBe(METRICS.length);
  for (const { name, kind, unit, help, labels, buckets } of METRICS) {
    expect(name).toMatch(/^slicescheduler_[a-z_]+$/);
    expect(name.endsWith("_total")).toBe(kind === "counter");
    if (unit !== "1") expect(name.replace(/_total$/, "").endsWith(`_${unit}`)).toBe(true);
    expect(help).toMatch(/\.$/);
    for (const label of labels) expect(label).toMatch(/^[a-z]+$/);
    expect(kind === "histogram").toBe(buckets !== undefined);
    expect([...(buckets ?? [])].sort((a, b) => a - b)).toEqual(buckets ?? []);
  }
});
