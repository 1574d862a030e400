import { type Executor, SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { expect, test } from "vitest";
import { SliceScheduler, type SliceSchedulerOptions } from "./index.ts";

const bytes = (count: number | string) => ({ shape: [count], dtype: "uint8" as const });

/** One operator that makes `n` bytes, on either of two accelerators, or both for a pair of operators. */
const spec = {
  name: "make",
  symbols: ["n"],
  operators: [
    { name: "first", outputs: { out: bytes("n") } },
    { name: "second", inputs: ["first.out"], outputs: { out: bytes("n") } },
  ],
  outputs: { out: "second.out" },
  partitions: [
    { name: "a", accelerators: ["a"], layout: [0, 0] },
    { name: "b", accelerators: ["b"], layout: [0, 0] },
  ],
} as const;

/** Every operator takes 1,000 ns, which is also what is predicted where nothing is known. */
function world(options: Partial<SliceSchedulerOptions> = {}, operatorNs: () => number = () => 1000) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs });
  const accelerators = ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 }));
  const scheduler = new SliceScheduler({ cluster: { accelerators }, executor, ...options });
  return { time, scheduler, make: scheduler.register(spec) };
}

const small = { symbols: { n: 10 } };

test("a what-if tells where it is laid, when it starts and ends, and whom it delays by how much", () => {
  const { time, scheduler, make } = world();
  const offline = { ...small, priority: "offline" };
  const [on, off] = [scheduler.submit(make, offline), scheduler.submit(make, offline)];
  time.run(500);
  const { refused, submitted, affected, plan } = scheduler.whatIf(make, { ...small, label: "urgent" });
  expect(refused).toBe(null);
  expect(submitted).toEqual([
    {
      instance: 2,
      request: 2,
      label: "urgent",
      template: "make",
      partition: "a",
      startNs: 1000,
      outcome: "done",
      endNs: 3000,
      error: null,
      waiting: [],
    },
  ]);
  expect(affected).toMatchObject([{ delayNs: 2000, without: { instance: on.id, endNs: 2000 }, with: { endNs: 4000 } }]);
  expect(plan).toMatchObject({ atNs: 500, stopped: "settled" });
  expect(plan.instances.map(({ instance, startNs, endNs }) => [instance, startNs, endNs])).toEqual([
    [on.id, 0, 4000],
    [off.id, 0, 2000],
    [2, 1000, 3000],
  ]);
  // Nothing of it has happened.
  expect(scheduler.stats()).toMatchObject({ requests: 2, instances: 2, rounds: 2 });
  expect(scheduler.plan().instances.map(({ endNs }) => endNs)).toEqual([2000, 2000]);
});

test("a dry run counts its own earlier decisions", async () => {
  const { time, scheduler, make } = world({ scheduling: { operatorsPerAcceleratorMax: 1, batchOperatorsMax: 2 } });
  for (let i = 0; i < 6; i++) scheduler.submit(make, small);
  const { decisions, instances } = scheduler.plan();
  // Each accelerator has one pair at a time: the end of that makes room for the next, and finds the last one where it was planned to be.
  expect(decisions.map(({ instance, partition, atNs }) => [instance, partition, atNs])).toEqual([
    [2, "a", 2000],
    [3, "b", 2000],
    [4, "a", 4000],
    [5, "b", 4000],
  ]);
  expect(instances.map(({ endNs }) => endNs)).toEqual([2000, 2000, 4000, 4000, 6000, 6000]);
  await Promise.resolve();
  const made: unknown[] = [];
  scheduler.on("decision", (decision) => made.push(decision));
  time.run();
  expect(made).toEqual(decisions);
});

test("what would be refused is told with its reason, and what waits with what it waits for", () => {
  const { time, scheduler, make } = world();
  expect(scheduler.whatIf(make, { symbols: { n: 600 } }).refused).toMatchObject({ code: "NEVER_FITS" });
  expect(scheduler.whatIf(make, { ...small, priority: "soon" }).refused).toMatchObject({ code: "UNKNOWN_PRIORITY" });
  const unknown = { name: "other", spec };
  expect(scheduler.whatIf(unknown, small)).toMatchObject({ refused: { code: "UNKNOWN_TEMPLATE" }, submitted: [] });
  for (let i = 0; i < 2; i++) {
    const request = scheduler.openRequest({ limits: [{ template: make, symbols: { n: 450 } }], mayPause: true });
    scheduler.submit(make, { request, symbols: { n: 300 }, retain: ["out"] });
  }
  time.run();
  const { submitted, plan } = scheduler.whatIf(make, { symbols: { n: 300 } });
  expect(plan.stopped).toBe("standstill");
  expect(submitted).toMatchObject([
    { outcome: "open", startNs: null, endNs: null, waiting: [{ operator: "first", reason: { why: "memory" } }] },
  ]);
});

test("a horizon bounds how far is looked", () => {
  const { scheduler, make } = world();
  for (let i = 0; i < 6; i++) scheduler.submit(make, small);
  const plan = scheduler.plan({ horizonNs: 4500 });
  expect(plan).toMatchObject({ atNs: 0, untilNs: 4500, stopped: "horizon" });
  expect(plan.instances.map(({ outcome }) => outcome)).toEqual(["done", "done", "open", "open", "open", "open"]);
  for (const horizonNs of [0, -1, 1.5, Number.NaN])
    expect(() => scheduler.plan({ horizonNs })).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS" }));
});

test("an operator that is overdue is expected to take as long again", () => {
  const { time, scheduler, make } = world({}, () => 9000);
  scheduler.submit(make, small);
  time.run(1600);
  expect(scheduler.plan().instances).toMatchObject([{ startNs: 0, endNs: 1600 + 600 + 1000 }]);
});

test("a request that would run out of time fails in the plan as it will", async () => {
  const { time, scheduler, make } = world();
  for (let i = 0; i < 4; i++) scheduler.submit(make, small);
  const late = scheduler.submit(make, { ...small, queueTimeoutNs: 3500, priority: "offline" });
  const missed = scheduler.submit(make, { ...small, deadlineNs: 4500, failAtDeadline: true, priority: "offline" });
  time.run(700);
  const ends = scheduler.plan().instances.slice(4);
  expect(ends).toMatchObject([
    { instance: late.id, outcome: "failed", endNs: 3500, error: { code: "QUEUE_TIMEOUT" } },
    { instance: missed.id, outcome: "failed", endNs: 4500, error: { code: "DEADLINE_EXCEEDED" } },
  ]);
  const failed: [number, number][] = [];
  scheduler.on("instanceFailed", ({ instance, atNs }) => failed.push([instance, atNs]));
  time.run();
  await expect(late.done).rejects.toThrow();
  await expect(missed.done).rejects.toThrow();
  expect(failed).toEqual(ends.map(({ instance, endNs }) => [instance, endNs]));
});

test("from within a listener a plan is made of what is known then", () => {
  const { time, scheduler, make } = world();
  const plans: (number | null | undefined)[] = [];
  scheduler.on("operatorDone", () => plans.push(scheduler.plan().instances.at(-1)?.endNs));
  scheduler.submit(make, small);
  time.run();
  expect(plans).toEqual([2000, undefined]);
});

test("a closed scheduler makes no plans", () => {
  const { scheduler, make } = world();
  scheduler.close();
  expect(() => scheduler.plan()).toThrow(expect.objectContaining({ code: "CLOSED" }));
  expect(() => scheduler.whatIf(make, small)).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

test("what an executor was asked and has not answered counts as asked now", () => {
  const clock = new SimulatedTime();
  const silent: Executor = {
    manifest: { name: "silent", simulatedTime: true },
    clock,
    open: () => {},
    execute: () => {},
    close: () => {},
  };
  const { scheduler, make } = world({ executor: silent });
  const { cancel } = scheduler.submit(make, small);
  clock.run(40);
  expect(scheduler.plan().instances).toMatchObject([{ startNs: 40, endNs: 2040 }]);
  cancel();
  clock.run(60);
  expect(scheduler.whatIf(make, small)).toMatchObject({
    affected: [],
    submitted: [{ partition: "a", startNs: 60, endNs: 2060 }],
  });
});
