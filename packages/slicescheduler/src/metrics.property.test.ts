import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type InstanceHandle, SliceScheduler } from "./index.ts";
import { RecordingSink } from "./metrics.fixture.ts";

const ACCELERATORS = ["a", "b", "c"];
const CLASSES = ["online", "offline"];
const TENANTS = ["", "x", "y"];

const template = defineTemplate({
  name: "chain",
  symbols: ["n"],
  operators: [
    { name: "first", outputs: { out: { shape: ["n"], dtype: "uint8" } }, flops: "n * 40" },
    { name: "second", inputs: ["first.out"], outputs: { out: { shape: ["n"], dtype: "uint8" } }, flops: "n * 20" },
  ],
  outputs: { out: "second.out" },
  partitions: ACCELERATORS.flatMap((one) =>
    ACCELERATORS.filter((two) => two !== one).map((two) => ({
      name: `${one}${two}`,
      accelerators: [one, two],
      layout: [0, 1],
    })),
  ),
});

const command = fc.oneof(
  {
    arbitrary: fc.record({
      type: fc.constant("submit" as const),
      n: fc.integer({ min: 1, max: 90 }),
      priority: fc.constantFrom(...CLASSES),
      tenant: fc.constantFrom(...TENANTS),
    }),
    weight: 6,
  },
  { arbitrary: fc.record({ type: fc.constant("cancel" as const), pick: fc.nat() }), weight: 2 },
  { arbitrary: fc.record({ type: fc.constant("pass" as const), ns: fc.integer({ min: 0, max: 3000 }) }), weight: 6 },
  { arbitrary: fc.record({ type: fc.constant("lose" as const), pick: fc.nat() }), weight: 1 },
  { arbitrary: fc.record({ type: fc.constant("return" as const), pick: fc.nat() }), weight: 2 },
  { arbitrary: fc.record({ type: fc.constant("failNext" as const), ahead: fc.nat({ max: 5 }) }), weight: 1 },
  { arbitrary: fc.record({ type: fc.constant("read" as const) }), weight: 2 },
);

function world() {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 7, time });
  const sink = new RecordingSink();
  const device = { kind: "demo", hbmBytes: 400, flopsPerSecond: 1e10, hbmBytesPerSecond: 1e12 };
  const scheduler = new SliceScheduler({
    cluster: {
      accelerators: ACCELERATORS.map((name) => ({ ...device, name })),
      defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 },
    },
    executor,
    priorities: CLASSES,
    scheduling: { tenants: { x: {}, y: {} } },
    metrics: { sink },
  });
  return { time, executor, sink, scheduler, handle: scheduler.register(template) };
}

/** What is told of notices, counted by a slow listener that knows each instance's class and tenant. */
class Listener {
  readonly counts = new Map<string, number>();
  readonly #payers = new Map<number, string>();

  constructor(scheduler: SliceScheduler) {
    const of = (what: string) => (notice: { readonly instance: number }) =>
      this.add(`${what} ${this.#payers.get(notice.instance)}`);
    scheduler.on("operatorIssued", of("issued"));
    scheduler.on("operatorDone", of("done"));
    scheduler.on("operatorFailed", (notice) => of(notice.again ? "retried" : "failed")(notice));
    scheduler.on("operatorWithdrawn", of("withdrawn"));
    scheduler.on("instanceDone", of("instance done"));
    scheduler.on("instanceFailed", of("instance failed"));
    scheduler.on("instanceCancelled", of("instance cancelled"));
    scheduler.on("decision", () => this.add("decision"));
    scheduler.on("transferDone", ({ bytes }) => this.add("bytes", bytes));
  }

  submitted(instance: number, priority: string, tenant: string) {
    this.#payers.set(instance, `${priority} ${tenant || "none"}`);
  }

  add(what: string, by = 1) {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }
}

test("counters are what a slow listener counts; operators, time and bytes add up, whatever is lost on the way", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const { time, executor, sink, scheduler, handle } = world();
      const listener = new Listener(scheduler);
      const handles: InstanceHandle[] = [];
      let nextIssue = 0;
      scheduler.on("operatorIssued", ({ issueNumber }) => {
        nextIssue = issueNumber + 1;
      });
      for (const it of commands) {
        if (it.type === "submit") {
          const { priority, tenant, n } = it;
          try {
            const submitted = scheduler.submit(handle, { symbols: { n }, priority, tenant });
            listener.submitted(submitted.id, priority, tenant);
            handles.push(submitted);
          } catch {
            listener.add("refused");
          }
        } else if (it.type === "cancel") handles[it.pick % Math.max(1, handles.length)]?.cancel();
        else if (it.type === "pass") time.run(time.nowNs() + it.ns);
        else if (it.type === "lose") executor.loseAccelerator(it.pick % ACCELERATORS.length);
        else if (it.type === "return") executor.returnAccelerator(it.pick % ACCELERATORS.length);
        else if (it.type === "failNext") executor.failOperator(nextIssue + it.ahead);
        else check(scheduler, executor.stats().accelerators, sink.read(), time.nowNs());
        await Promise.resolve();
      }
      time.run();
      await Promise.resolve();
      check(scheduler, executor.stats().accelerators, sink.read(), time.nowNs());
      compare(sink, listener.counts);
    }),
    { numRuns: 150 },
  );
});

/** What holds at every moment. */
function check(
  scheduler: SliceScheduler,
  accelerators: readonly { readonly name: string; readonly busyNs: number }[],
  sink: RecordingSink,
  nowNs: number,
) {
  const { issuedOperators, requests, instances } = scheduler.stats();
  expect(sink.sum("operators_issued_total")).toBe(sink.sum("operators_total") + issuedOperators);
  expect(sink.sum("issued_operators")).toBe(issuedOperators);
  expect(sink.sum("live_requests")).toBe(requests);
  expect(sink.sum("live_instances")).toBe(instances);
  for (const { name: accelerator, busyNs } of accelerators) {
    const seconds = (state?: string) =>
      sink.sum("accelerator_seconds_total", { accelerator, ...(state === undefined ? {} : { state }) });
    expect(seconds()).toBeCloseTo(nowNs / 1e9, 12);
    expect(seconds("busy")).toBeCloseTo(busyNs / 1e9, 12);
  }
}

function compare(sink: RecordingSink, counts: ReadonlyMap<string, number>) {
  const found = (what: string) => counts.get(what) ?? 0;
  for (const name of CLASSES) {
    for (const tenant of ["none", "x", "y"]) {
      const of = { class: name, tenant };
      const payer = `${name} ${tenant}`;
      expect(sink.sum("operators_issued_total", of)).toBe(found(`issued ${payer}`));
      for (const outcome of ["done", "failed", "retried", "withdrawn"])
        expect(sink.sum("operators_total", { ...of, outcome })).toBe(found(`${outcome} ${payer}`));
      for (const outcome of ["done", "failed", "cancelled"])
        expect(sink.sum("instances_total", { ...of, outcome })).toBe(found(`instance ${outcome} ${payer}`));
    }
  }
  expect(sink.sum("decisions_total")).toBe(found("decision"));
  expect(sink.sum("refusals_total")).toBe(found("refused"));
  for (const direction of ["in", "out"])
    expect(sink.sum("transferred_bytes_total", { direction })).toBe(found("bytes"));
}
