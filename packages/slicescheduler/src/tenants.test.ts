import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SliceScheduler, type SliceSchedulerOptions } from "./index.ts";

const bytes = (count: number | string) => ({ shape: [count], dtype: "uint8" as const });

const work = defineTemplate({
  name: "work",
  symbols: ["n", "ns"],
  operators: [{ name: "run", outputs: { out: bytes("n") } }],
  outputs: { out: "run.out" },
  partitions: [{ name: "one", accelerators: ["a"], layout: [0] }],
});

type Scheduling = NonNullable<SliceSchedulerOptions["scheduling"]>;

function world(tenants: Scheduling["tenants"], more: Scheduling = {}) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: ({ symbols }) => symbols["ns"] ?? 1 });
  const cluster = { accelerators: [{ name: "a", kind: "demo", hbmBytes: 10_000 }] };
  const scheduling = { ...more, ...(tenants === undefined ? {} : { tenants }) };
  const scheduler = new SliceScheduler({ cluster, executor, scheduling });
  const handle = scheduler.register(work);
  const submit = (tenant: string | undefined, ns: number, n = 1) =>
    scheduler.submit(handle, { symbols: { n, ns }, label: tenant ?? "", ...(tenant === undefined ? {} : { tenant }) });
  /** Nanoseconds that operators of a tenant ran, until then. */
  const ranNs = new Map<string, number>();
  const order: string[] = [];
  scheduler.on("operatorStarted", ({ label }) => order.push(label));
  scheduler.on("operatorDone", ({ label, observedNs }) => ranNs.set(label, (ranNs.get(label) ?? 0) + observedNs));
  return { time, scheduler, submit, ranNs, order };
}

test("tenants share an accelerator by their weights, whatever each submits and when", () => {
  const weights = fc.integer({ min: 1, max: 4 });
  const durations = fc.integer({ min: 1, max: 20 });
  fc.assert(
    fc.property(weights, weights, durations, durations, fc.nat(20), (heavy, light, heavyNs, lightNs, ahead) => {
      // Few are issued ahead, since those go in the order of issue.
      const { time, submit, ranNs } = world(
        { heavy: { weight: heavy }, light: { weight: light } },
        { operatorsPerAcceleratorMax: 1, batchOperatorsMax: 1 },
      );
      // What is predicted is what happens.
      for (const ns of [heavyNs, lightNs]) for (let i = 0; i < 4; i++) submit(undefined, ns);
      time.run();
      for (let i = 0; i < ahead; i++) submit("heavy", heavyNs);
      const sinceNs = time.nowNs();
      for (let i = 0; i < 600; i++) {
        submit("heavy", heavyNs);
        submit("light", lightNs);
      }
      const windowNs = 250 * Math.min(heavyNs, lightNs);
      time.run(sinceNs + windowNs);
      const share = (ranNs.get("heavy") ?? 0) / windowNs;
      const expected = heavy / (heavy + light);
      // An operator of either at a time, and those that went before the other one came.
      const slack = (2 * (heavyNs + lightNs) + ahead * heavyNs) / windowNs;
      expect(Math.abs(share - expected)).toBeLessThan(slack + 0.02);
    }),
    { numRuns: 12 },
  );
});

test("one that was idle gets no more than its share afterwards", () => {
  const { time, submit, order } = world({ busy: {}, idle: {} }, { operatorsPerAcceleratorMax: 1 });
  for (let i = 0; i < 50; i++) submit("busy", 10);
  time.run(250);
  for (let i = 0; i < 10; i++) submit("idle", 10);
  time.run();
  const together = order.slice(26, 46);
  expect(together.filter((label) => label === "idle").length).toBeGreaterThanOrEqual(9);
  expect(together.filter((label) => label === "busy").length).toBeGreaterThanOrEqual(9);
});

test.each([
  ["placedRequestsMax", { placedRequestsMax: 2 }, { found: 2, limit: 2 }],
  ["claimedBytesMax", { claimedBytesMax: 1500 }, { found: 2000, limit: 1500 }],
  ["issuedOperatorsMax", { issuedOperatorsMax: 2 }, { found: 2, limit: 2 }],
])("a quota keeps a tenant from more, tells so, and stops nobody else: %s", (quota, limits, numbers) => {
  const { time, scheduler, submit, order } = world({ limited: limits, free: {} });
  const handles = [1, 2, 3].map(() => submit("limited", 10, 1000));
  submit("free", 10);
  const [waiting] = scheduler.explain(handles[2]?.id ?? -1)?.operators ?? [];
  expect(waiting?.waiting).toEqual({ why: "quota", tenant: "limited", quota, ...numbers });
  time.run();
  expect(order).toEqual(["limited", "limited", "free", "limited"]);
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
});

test("a full queue refuses with a reason, before anything changes, and takes more once there is room", () => {
  const { time, scheduler, submit } = world({ limited: { queuedRequestsMax: 2 } });
  for (let i = 0; i < 3; i++) submit("limited", 10, 9000);
  const before = scheduler.stats();
  expect(() => submit("limited", 10)).toThrowError(
    expect.objectContaining({ code: "QUEUE_FULL", details: { tenant: "limited", queued: 2, limit: 2 } }),
  );
  expect(scheduler.stats()).toEqual(before);
  time.run(10);
  submit("limited", 10);
  time.run();
  expect(scheduler.stats()).toMatchObject({ requests: 0, operatorsDone: 4 });
});

test("the queue of all together is bounded as well", () => {
  const { submit } = world(undefined, { queuedRequestsMax: 1 });
  for (let i = 0; i < 2; i++) submit(undefined, 10, 9000);
  expect(() => submit(undefined, 10)).toThrowError(expect.objectContaining({ code: "QUEUE_FULL" }));
});

test("tenants that are not declared are refused, and so is what means nothing, all at once", () => {
  const { submit } = world({ known: {} });
  expect(() => submit("unknown", 1)).toThrowError(
    expect.objectContaining({ code: "UNKNOWN_TENANT", message: 'there is no tenant "unknown"; the tenants are known' }),
  );
  const wrong = { a: { weight: 0, placedRequestsMax: 1.5, wieght: 2 }, b: { queuedRequestsMax: -1 } };
  expect(() => world(wrong)).toThrowError(
    expect.objectContaining({
      code: "INVALID_OPTIONS",
      faults: [
        expect.stringContaining("scheduling.tenants.a.wieght: there is no such option"),
        "scheduling.tenants.a.weight: 0 is not a number above 0",
        "scheduling.tenants.a.placedRequestsMax: 1.5 is not a whole number above 0",
        "scheduling.tenants.b.queuedRequestsMax: -1 is not a whole number above 0",
      ],
    }),
  );
});

test("what was cancelled before it was issued is not charged", () => {
  const { time, submit, order } = world({ x: {}, y: {} }, { operatorsPerAcceleratorMax: 1, batchOperatorsMax: 1 });
  submit(undefined, 10);
  for (let i = 0; i < 50; i++) submit("x", 10).cancel();
  for (let i = 0; i < 10; i++) {
    submit("y", 10);
    submit("x", 10);
  }
  time.run();
  expect(order.slice(1, 9).filter((label) => label === "x").length).toBeGreaterThanOrEqual(3);
});

test("open requests that ask for nothing fill no queue, and their first instance is refused when it is full", () => {
  const { scheduler } = world(undefined, { queuedRequestsMax: 1 });
  const handle = scheduler.register({ ...work, name: "again" });
  const open = [1, 2, 3].map(() => scheduler.openRequest());
  const [first, second, third] = open.map(
    (request) => () => scheduler.submit(handle, { request, symbols: { n: 9000, ns: 10 } }),
  );
  first?.();
  second?.();
  expect(() => third?.()).toThrowError(expect.objectContaining({ code: "QUEUE_FULL" }));
});
