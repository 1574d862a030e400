import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test, vi } from "vitest";
import { SliceScheduler, type SliceSchedulerOptions } from "./index.ts";

const cluster = {
  accelerators: ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 })),
  defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 },
};

const pass = defineTemplate({
  name: "pass",
  symbols: ["n"],
  inputs: { before: { shape: ["n"], dtype: "uint8" } },
  operators: [
    { name: "first", inputs: ["before"], outputs: { out: { shape: ["n"], dtype: "uint8" } } },
    { name: "second", inputs: ["first.out"], outputs: { out: { shape: ["n"], dtype: "uint8" } } },
  ],
  outputs: { out: "second.out" },
  partitions: [
    { name: "split", accelerators: ["a", "b"], layout: [0, 1] },
    { name: "whole", accelerators: ["b"], layout: [0, 0] },
  ],
});

function world(options: Partial<SliceSchedulerOptions> = {}) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const scheduler = new SliceScheduler({ cluster, executor, ...options });
  return { time, executor, scheduler, source: scheduler.register(source), pass: scheduler.register(pass) };
}

const source = defineTemplate({
  name: "source",
  symbols: ["n"],
  operators: [{ name: "make", outputs: { out: { shape: ["n"], dtype: "uint8" } } }],
  outputs: { out: "make.out" },
  partitions: [
    { name: "split", accelerators: ["a", "b"], layout: [0] },
    { name: "whole", accelerators: ["b"], layout: [0] },
  ],
});

test("a chain of instances runs in order and leaves nothing behind", async () => {
  const { time, executor, scheduler, source, pass } = world();
  const made = scheduler.submit(source, { symbols: { n: 50 } });
  const passed = scheduler.submit(pass, { symbols: { n: 50 }, inputs: { before: made.output("out") } });
  time.run();
  await expect(made.done).resolves.toMatchObject({ submittedNs: 0, doneNs: 100 });
  // Equal predictions go to "split", by name; there 50 bytes move once, in 10 + 50 ns.
  await expect(passed.done).resolves.toMatchObject({ doneNs: 360 });
  expect(scheduler.stats()).toMatchObject({
    requests: 0,
    instances: 0,
    issuedOperators: 0,
    operatorsDone: 3,
    standstills: 0,
  });
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("explains its decisions with every candidate's predicted completion, or the memory it lacked", () => {
  const { time, scheduler, source } = world();
  const handle = scheduler.submit(source, { symbols: { n: 50 } });
  const explanation = scheduler.explain(handle.id);
  expect(explanation?.state).toBe("live");
  expect(explanation?.decisions[0]?.candidates.map((candidate) => candidate.partition)).toEqual(["split", "whole"]);
  const scores = explanation?.decisions[0]?.candidates.map(({ scoreNs }) => scoreNs) ?? [];
  const bestNs = Math.min(...scores.filter((scoreNs) => scoreNs !== null));
  for (const { scoreNs, leastNs, shortage } of explanation?.decisions[0]?.candidates ?? []) {
    expect(leastNs).toBeGreaterThan(0);
    expect(scoreNs ?? leastNs).toBeGreaterThanOrEqual(bestNs);
    expect(shortage).toBeNull();
  }
  time.run();
  expect(scheduler.explain(handle.id)?.state).toBe("gone");
  expect(scheduler.explain(12345)).toBeUndefined();
});

test("cancelling settles at once, fails what needs the results, and gives everything back", async () => {
  const { time, executor, scheduler, source, pass } = world();
  const made = scheduler.submit(source, { symbols: { n: 50 } });
  const passed = scheduler.submit(pass, { symbols: { n: 50 }, inputs: { before: made.output("out") } });
  made.cancel();
  await expect(made.done).rejects.toMatchObject({ code: "INSTANCE_CANCELLED" });
  await expect(passed.done).rejects.toMatchObject({ code: "INSTANCE_FAILED" });
  time.run();
  scheduler.validate();
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
  const again = scheduler.submit(source, { symbols: { n: 50 } });
  time.run();
  await expect(again.done).resolves.toBeDefined();
});

test("a listener may submit, and one that throws disturbs nobody", async () => {
  const onListenerError = vi.fn();
  const { time, scheduler, source, pass } = world({ onListenerError });
  scheduler.on("instanceDone", () => {
    throw new Error("mine");
  });
  const later: Promise<unknown>[] = [];
  scheduler.on("instanceDone", ({ instance }) => {
    if (instance > 0) return;
    const inputs = { before: made.output("out") };
    later.push(scheduler.submit(pass, { symbols: { n: 50 }, inputs }).done);
    made.release("out");
  });
  const made = scheduler.submit(source, { symbols: { n: 50 }, retain: ["out"] });
  time.run();
  expect(later).toHaveLength(1);
  await expect(later[0]).resolves.toMatchObject({ instance: 1 });
  expect(onListenerError).toHaveBeenCalledTimes(2);
  expect(scheduler.stats()).toMatchObject({ instances: 0, requests: 0 });
});

test("events told of a call come after the call has returned", async () => {
  const { scheduler, source } = world();
  const told: string[] = [];
  scheduler.on("operatorIssued", () => told.push("issued"));
  scheduler.on("operatorStarted", () => told.push("started"));
  scheduler.submit(source, { symbols: { n: 1 } });
  expect(told).toEqual([]);
  await Promise.resolve();
  expect(told).toEqual(["issued", "started"]);
});

test("refusals have a code, name numbers and change nothing", () => {
  const { scheduler, source, pass } = world();
  const before = scheduler.stats();
  const cases: [() => unknown, string][] = [
    [() => scheduler.submit(source, { symbols: { n: 5 }, priority: "urgent" }), "UNKNOWN_PRIORITY"],
    [() => scheduler.submit(source, { symbols: { n: 5000 } }), "NEVER_FITS"],
    [() => scheduler.submit(source, { symbols: { n: -1 } }), "INVALID_SYMBOL_VALUE"],
    [() => scheduler.submit(pass, { symbols: { n: 5 } }), "UNBOUND_INPUT"],
    [() => scheduler.submit(source, { symbols: { n: 5 }, partitions: ["hole"] }), "UNKNOWN_PARTITION"],
    [() => scheduler.register(pass.spec), "TEMPLATE_EXISTS"],
  ];
  for (const [call, code] of cases) expect(call).toThrow(expect.objectContaining({ code }));
  expect(scheduler.stats()).toEqual(before);
  scheduler.validate();
});

test("invalid options are reported together", () => {
  const executor = virtualExecutor({ seed: 1 });
  const scheduling = { timeliness: -1, batchOperatorsMax: 0.5, batchOperatorMax: 3 };
  expect(() => new SliceScheduler({ cluster, executor, priorities: ["x", "x"], scheduling })).toThrow(
    expect.objectContaining({ code: "INVALID_OPTIONS", faults: expect.objectContaining({ length: 4 }) }),
  );
});

test("a listener for once is called once, and one that was taken back not at all", () => {
  const { time, scheduler, source } = world();
  const once = vi.fn();
  const never = vi.fn();
  const always = vi.fn();
  scheduler.once("instanceDone", once).on("instanceDone", never).on("instanceDone", always).off("instanceDone", never);
  for (let i = 0; i < 3; i++) scheduler.submit(source, { symbols: { n: 1 } });
  time.run();
  expect([once, never, always].map((listener) => listener.mock.calls.length)).toEqual([1, 0, 3]);
  expect(scheduler.listenerCount("instanceDone")).toBe(1);
});

test("closing rejects what is not done, and takes nothing more", async () => {
  const { scheduler, source } = world();
  const { done } = scheduler.submit(source, { symbols: { n: 1 } });
  scheduler.close();
  scheduler.close();
  await expect(done).rejects.toMatchObject({ code: "CLOSED" });
  expect(() => scheduler.submit(source, { symbols: { n: 1 } })).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

test("an instance that joins a request may have its own urgency, and nothing else that a request has", () => {
  const { scheduler, source } = world();
  const request = scheduler.openRequest({ priority: "offline", deadlineNs: 5 });
  const before = scheduler.stats();
  const joining = (more: object) => () => scheduler.submit(source, { request, symbols: { n: 1 }, ...more });
  expect(joining({ priority: "nonsense" })).toThrow(expect.objectContaining({ code: "UNKNOWN_PRIORITY" }));
  expect(joining({ deadlineNs: -1 })).toThrow(expect.objectContaining({ code: "INVALID_URGENCY" }));
  for (const more of [{ tenant: "x" }, { queueTimeoutNs: 5 }, { failAtDeadline: true }])
    expect(joining(more)).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS" }));
  expect(scheduler.stats()).toEqual(before);
  joining({ priority: "online", deadlineNs: 6 })();
});

test("what an urgent instance needs of a less urgent request becomes as urgent, until it is cancelled", () => {
  const { time, scheduler, source, pass } = world();
  const started: string[] = [];
  scheduler.on("operatorStarted", ({ label, operatorName }) => started.push(`${label} ${operatorName}`));
  const at = { symbols: { n: 10 }, partitions: ["whole"] };
  const chain = (label: string, priority?: string) => {
    const request = scheduler.openRequest({ priority: "offline" });
    const made = scheduler.submit(source, { ...at, request, label: `${label} source` });
    const inputs = { before: made.output("out") };
    const urgency = priority === undefined ? {} : { priority };
    return scheduler.submit(pass, { ...at, request, inputs, label: `${label} pass`, ...urgency });
  };
  for (const label of ["first", "second"]) chain(label);
  chain("cancelled", "online").cancel();
  chain("urgent", "online");
  time.run();
  // The first was running already; what the urgent one needs and the urgent one itself go before all others.
  expect(started.slice(0, 4).map((line) => line.split(" ")[0])).toEqual(["first", "urgent", "urgent", "urgent"]);
  expect(started).toHaveLength(10);
});

test("a request is refused for numbers that mean nothing", () => {
  const { scheduler } = world();
  for (const concurrentInstances of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => scheduler.openRequest({ concurrentInstances })).toThrow(
      expect.objectContaining({ code: "INVALID_REQUEST" }),
    );
  }
  for (const deadlineNs of [-5, Number.NaN]) {
    expect(() => scheduler.openRequest({ deadlineNs })).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
  }
  expect(scheduler.stats().requests).toBe(0);
});

test("an executor that throws does not lose an instance that was taken on", () => {
  const { executor, scheduler, source } = world();
  const { execute } = executor;
  executor.execute = () => {
    throw new Error("link down");
  };
  expect(() => scheduler.submit(source, { symbols: { n: 1 } })).toThrow("link down");
  executor.execute = execute;
  expect(scheduler.explain(0)?.state).toBe("live");
});

test("names of symbols, inputs and outputs are checked by the compiler", () => {
  const { scheduler, source, pass } = world();
  const made = scheduler.submit(source, { symbols: { n: 5 } });
  // @ts-expect-error there is no symbol m
  expect(() => scheduler.submit(source, { symbols: { m: 5 } })).toThrow();
  // @ts-expect-error there is no output in
  expect(made.output("in")).toBeDefined();
  // @ts-expect-error there is no input behind
  expect(() => scheduler.submit(pass, { symbols: { n: 5 }, inputs: { behind: made.output("out") } })).toThrow();
});
