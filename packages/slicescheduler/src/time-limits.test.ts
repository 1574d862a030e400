import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { SliceScheduler } from "./index.ts";

const work = defineTemplate({
  name: "work",
  symbols: ["ns"],
  operators: [
    { name: "first", outputs: { out: { shape: [1], dtype: "uint8" } } },
    { name: "second", inputs: ["first.out"], outputs: { out: { shape: [1], dtype: "uint8" } } },
  ],
  outputs: { out: "second.out" },
  partitions: [{ name: "one", accelerators: ["a"], layout: [0, 0] }],
});

function world() {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: ({ symbols }) => symbols["ns"] ?? 1 });
  const cluster = { accelerators: [{ name: "a", kind: "demo", hbmBytes: 1000 }] };
  const scheduler = new SliceScheduler({ cluster, executor });
  const ended: string[] = [];
  for (const name of ["instanceDone", "instanceFailed", "instanceCancelled"] as const) {
    scheduler.on(name, ({ instance, atNs }) => ended.push(`${instance} ${name.slice(8)} at ${atNs}`));
  }
  return { time, executor, scheduler, ended, work: scheduler.register(work) };
}

test("a request whose first operator does not start in time fails on time, while a long operator runs", async () => {
  const { time, executor, scheduler, ended, work } = world();
  scheduler.submit(work, { symbols: { ns: 1000 } });
  const waiting = scheduler.submit(work, { symbols: { ns: 10 }, queueTimeoutNs: 300 });
  const patient = scheduler.submit(work, { symbols: { ns: 10 }, queueTimeoutNs: 5000 });
  time.run();
  expect(ended).toEqual(["1 Failed at 300", "0 Done at 2010", "2 Done at 2020"]);
  await expect(waiting.done).rejects.toMatchObject({ code: "QUEUE_TIMEOUT", details: { sinceNs: 0, atNs: 300 } });
  await expect(patient.done).resolves.toMatchObject({ doneNs: 2020 });
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("a time-out that no longer matters wakes nobody: time ends with the last operator", () => {
  const { time, scheduler, work } = world();
  scheduler.submit(work, { symbols: { ns: 10 }, queueTimeoutNs: 1e12, deadlineNs: 2e12, failAtDeadline: true });
  time.run();
  expect(time.nowNs()).toBe(20);
});

test("what is not done at its deadline fails on time, also while an operator of it runs, and gives everything back", async () => {
  const { time, executor, scheduler, ended, work } = world();
  const late = scheduler.submit(work, { symbols: { ns: 1000 }, deadlineNs: 700, failAtDeadline: true });
  const next = scheduler.submit(work, { symbols: { ns: 10 }, deadlineNs: 800 });
  time.run();
  // The running operator is not interrupted.
  expect(ended).toEqual(["0 Failed at 700", "1 Done at 1020"]);
  await expect(late.done).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
  await expect(next.done).resolves.toMatchObject({ doneNs: 1020 });
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("done at the very deadline is done in time", async () => {
  const { time, scheduler, work } = world();
  const handle = scheduler.submit(work, { symbols: { ns: 50 }, deadlineNs: 100, failAtDeadline: true });
  time.run();
  await expect(handle.done).resolves.toMatchObject({ doneNs: 100 });
});

test("nothing is taken for a request whose deadline has passed, and nothing changes", () => {
  const { time, scheduler, work } = world();
  const request = scheduler.openRequest({ deadlineNs: 100, failAtDeadline: true });
  time.run(100);
  const submit = () => scheduler.submit(work, { request, symbols: { ns: 1 } });
  expect(submit).toThrowError(expect.objectContaining({ code: "DEADLINE_PASSED" }));
  expect(scheduler.stats()).toMatchObject({ instances: 0 });
  request.close();
  expect(scheduler.stats()).toMatchObject({ requests: 0 });
});

test.each([
  [{ queueTimeoutNs: 0 }, "queueTimeoutNs: 0 is not"],
  [{ queueTimeoutNs: Number.NaN, failAtDeadline: true }, "failAtDeadline: there is no deadlineNs"],
])("refuses %j before anything changes", (options, message) => {
  const { scheduler, work } = world();
  const submit = () => scheduler.submit(work, { symbols: { ns: 1 }, ...options });
  expect(submit).toThrowError(expect.objectContaining({ code: "INVALID_OPTIONS" }));
  expect(submit).toThrowError(message);
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0 });
});

test("closing forgets what was to wake it", () => {
  const { time, scheduler, work } = world();
  scheduler.submit(work, { symbols: { ns: 1000 } });
  scheduler.submit(work, { symbols: { ns: 1 }, queueTimeoutNs: 500 });
  scheduler.close();
  time.run();
  expect(time.nowNs()).toBe(0);
});

test("the time to wait begins anew once nothing of the request waits, whatever else is due", () => {
  const { time, scheduler, ended, work } = world();
  scheduler.submit(work, { symbols: { ns: 1000 } });
  // Something that is due earlier, so that it stands before the one that no longer counts.
  scheduler.submit(work, { symbols: { ns: 1 }, queueTimeoutNs: 250 });
  const request = scheduler.openRequest({ queueTimeoutNs: 300 });
  scheduler.submit(work, { request, symbols: { ns: 1 } }).cancel();
  time.run(200);
  scheduler.submit(work, { request, symbols: { ns: 1 } });
  time.run();
  expect(ended).toContain("3 Failed at 500");
});

test("who records and throws does not come between the master and its executor", async () => {
  const time = new SimulatedTime();
  const errors: string[] = [];
  const scheduler = new SliceScheduler({
    cluster: { accelerators: [{ name: "a", kind: "demo", hbmBytes: 1000 }] },
    executor: virtualExecutor({ seed: 1, time, operatorNs: () => 10 }),
    onEvent: () => {
      throw new Error("full disk");
    },
    onListenerError: (_error, event) => errors.push(event),
  });
  const { done } = scheduler.submit(scheduler.register(work), { symbols: { ns: 10 } });
  time.run();
  await expect(done).resolves.toMatchObject({ doneNs: 20 });
  expect(new Set(errors)).toEqual(new Set(["onEvent"]));
});
