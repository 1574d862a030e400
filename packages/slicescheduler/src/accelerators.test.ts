import { EVENT_KIND, SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate, GlobalMappingGraph } from "@slicescheduler/gmg";
import { expect, test, vi } from "vitest";
import { type OutputHandle, SliceScheduler } from "./index.ts";

/** A cache that grows in place on the second accelerator of a pair, between two operators on the first. */
const step = defineTemplate({
  name: "step",
  symbols: ["past"],
  inputs: { cache: { shape: ["past"], dtype: "uint8" } },
  operators: [
    { name: "embed", outputs: { hidden: { shape: [8], dtype: "uint8" } }, weights: { w: 20 } },
    {
      name: "attend",
      inputs: ["embed.hidden", "cache"],
      outputs: {
        cache: { shape: ["past + 1"], dtype: "uint8", aliases: "cache" },
        hidden: { shape: [8], dtype: "uint8" },
      },
      weights: { w: 20 },
    },
    { name: "head", inputs: ["attend.hidden"], outputs: { token: { shape: [4], dtype: "uint8" } }, weights: { w: 20 } },
  ],
  outputs: { cache: "attend.cache" },
  partitions: [
    { name: "left", accelerators: ["a0", "a1"], layout: [0, 1, 0] },
    { name: "right", accelerators: ["a2", "a3"], layout: [0, 1, 0] },
  ],
});

const STEPS = 6;

function world(absent: readonly string[] = []) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const accelerators = ["a0", "a1", "a2", "a3"].map((name) => ({
    name,
    kind: "demo",
    hbmBytes: 1000,
    absent: absent.includes(name),
  }));
  const cluster = { accelerators, defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 } };
  const scheduler = new SliceScheduler({ cluster, executor });
  const template = scheduler.register(step);
  /** A request of so many steps, each submitted when the one before is done. */
  const chat = async () => {
    const request = scheduler.openRequest({ limits: [{ template, symbols: { past: STEPS } }] });
    let before: { output: OutputHandle; release(): void } | null = null;
    try {
      for (let past = 0; past < STEPS; past++) {
        const inputs: { cache?: OutputHandle } = before === null ? {} : { cache: before.output };
        const handle = scheduler.submit(template, { request, symbols: { past }, inputs, retain: ["cache"] });
        before?.release();
        await handle.done;
        before = { output: handle.output("cache"), release: () => handle.release("cache") };
      }
      return "done";
    } catch (error) {
      return (error as Error).message;
    } finally {
      before?.release();
      request.close();
    }
  };
  /** Time goes on until nothing is left to happen, as promises settle in between. */
  const run = async () => {
    for (let quiet = 0; quiet < 20; ) {
      quiet = time.step() ? 0 : quiet + 1;
      await Promise.resolve();
    }
  };
  const expectAtRest = () => {
    scheduler.validate();
    expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
    expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
  };
  return { time, executor, scheduler, template, chat, run, expectAtRest };
}

test("a request goes on elsewhere when its accelerator is lost, whenever that is", async () => {
  for (let lostNs = 0; lostNs <= 2000; lostNs += 37) {
    for (const accelerator of ["a0", "a1"]) {
      const { time, executor, scheduler, chat, run, expectAtRest } = world();
      const told: string[] = [];
      scheduler.on("acceleratorLost", ({ acceleratorName }) => told.push(`lost ${acceleratorName}`));
      scheduler.on("acceleratorReturned", ({ acceleratorName }) => told.push(`returned ${acceleratorName}`));
      time.at(lostNs, { kind: EVENT_KIND.outage, number: 0 }, () => executor.loseAccelerator(accelerator));
      time.at(lostNs + 500, { kind: EVENT_KIND.outage, number: 0 }, () => executor.returnAccelerator(accelerator));
      const first = chat();
      const second = chat();
      await run();
      await expect(Promise.all([first, second])).resolves.toEqual(["done", "done"]);
      expect(told).toEqual([`lost ${accelerator}`, `returned ${accelerator}`]);
      expectAtRest();
    }
  }
});

test("with nowhere to go it fails at once, and tells why", async () => {
  const { time, executor, scheduler, chat, run, expectAtRest } = world(["a3"]);
  time.at(150, { kind: EVENT_KIND.outage, number: 0 }, () => executor.loseAccelerator("a1", "ECC error"));
  const failed: string[] = [];
  scheduler.on("instanceFailed", ({ error }) => failed.push(error.message));
  const outcome = chat();
  await run();
  await expect(outcome).resolves.toMatch(/an accelerator of it was lost, and none of its partitions is left/);
  expect(failed).toHaveLength(1);
  expect(() =>
    scheduler.openRequest({ limits: [{ template: { name: "step", spec: step }, symbols: { past: 1 } }] }),
  ).toThrow(expect.objectContaining({ code: "ACCELERATOR_UNAVAILABLE" }));
  expectAtRest();
  executor.returnAccelerator("a3");
  const again = chat();
  await run();
  await expect(again).resolves.toBe("done");
  expectAtRest();
});

test("a drained accelerator is told when nothing lies on it any more, and can be resumed", async () => {
  const { time, scheduler, chat, run, expectAtRest } = world();
  const told: string[] = [];
  scheduler.on("acceleratorDraining", ({ acceleratorName }) => told.push(`draining ${acceleratorName}`));
  scheduler.on("acceleratorDrained", ({ acceleratorName }) => told.push(`drained ${acceleratorName}`));
  const placed = new Set<string>();
  scheduler.on("operatorIssued", ({ acceleratorName }) => placed.add(acceleratorName));
  const first = chat();
  time.run(150);
  expect([...placed].sort()).toEqual(["a0", "a1"]);
  scheduler.drainAccelerator("a0");
  const second = chat();
  await run();
  await expect(Promise.all([first, second])).resolves.toEqual(["done", "done"]);
  expect([...placed].sort()).toEqual(["a0", "a1", "a2", "a3"]);
  expect(told).toEqual(["draining a0", "drained a0"]);
  scheduler.resumeAccelerator("a0");
  placed.clear();
  const third = chat();
  await run();
  await expect(third).resolves.toBe("done");
  expect([...placed].sort()).toEqual(["a0", "a1"]);
  expectAtRest();
});

/** One operator of so many bytes on each of the accelerators. */
function single(name: string, accelerators: readonly string[]) {
  return defineTemplate({
    name,
    symbols: ["bytes"],
    operators: [{ name: "op", outputs: { y: { shape: ["bytes"], dtype: "uint8" } } }],
    outputs: { y: "op.y" },
    partitions: accelerators.map((accelerator) => ({ name: accelerator, accelerators: [accelerator], layout: [0] })),
  });
}

/** What is told of accelerators, in order. */
function toldOf(scheduler: SliceScheduler): string[] {
  const told: string[] = [];
  for (const name of ["acceleratorLost", "acceleratorReturned", "acceleratorDraining", "acceleratorDrained"] as const) {
    scheduler.on(name, ({ acceleratorName }) => told.push(`${name.slice("accelerator".length)} ${acceleratorName}`));
  }
  return told;
}

test("only its executor can say that a lost or an absent accelerator is there", async () => {
  for (const absent of [[], ["a0"]]) {
    const { executor, scheduler, chat, run, expectAtRest } = world([...absent, "a3"]);
    if (absent.length === 0) executor.loseAccelerator("a0", "gone");
    const told = toldOf(scheduler);
    scheduler.drainAccelerator("a0");
    scheduler.resumeAccelerator("a0");
    await run();
    await expect(chat().catch((error: Error) => error)).resolves.toMatchObject({ code: "ACCELERATOR_UNAVAILABLE" });
    executor.returnAccelerator("a0");
    const outcome = chat();
    await run();
    await expect(outcome).resolves.toBe("done");
    expect(told.filter((each) => each !== "Lost a0")).toEqual(["Draining a0", "Drained a0", "Returned a0"]);
    expectAtRest();
  }
});

test("a drained accelerator that is lost comes back drained, and each change is told once", async () => {
  const { time, executor, scheduler, chat, run, expectAtRest } = world(["a3"]);
  const told = toldOf(scheduler);
  const first = chat();
  time.run(150);
  scheduler.drainAccelerator("a0");
  scheduler.drainAccelerator("a0");
  executor.loseAccelerator("a0", "gone");
  await run();
  await expect(first).resolves.toMatch(/lost/);
  executor.returnAccelerator("a0");
  await run();
  expect(told).toEqual(["Draining a0", "Lost a0", "Drained a0", "Returned a0"]);
  await expect(chat().catch((error: Error) => error)).resolves.toMatchObject({ code: "ACCELERATOR_UNAVAILABLE" });
  scheduler.resumeAccelerator("a0");
  const second = chat();
  await run();
  await expect(second).resolves.toBe("done");
  expect(told.slice(4)).toEqual(["Returned a0"]);
  expectAtRest();
});

test("an open request that holds nothing lets accelerators be drained, and goes on elsewhere", async () => {
  const { scheduler, run, expectAtRest } = world();
  const template = scheduler.register(single("single", ["a0", "a1"]));
  const placed: string[] = [];
  scheduler.on("operatorIssued", ({ acceleratorName }) => placed.push(acceleratorName));
  const told = toldOf(scheduler);
  const request = scheduler.openRequest({});
  const submit = () => scheduler.submit(template, { request, symbols: { bytes: 10 } });
  submit();
  await run();
  for (const accelerator of ["a3", "a0"]) scheduler.drainAccelerator(accelerator);
  await run();
  expect(told).toEqual(["Draining a3", "Drained a3", "Draining a0", "Drained a0"]);
  submit();
  await run();
  expect(placed).toEqual(["a0", "a1"]);
  request.close();
  expectAtRest();
});

test("a request that came to hold nothing while its accelerator was drained goes on elsewhere", async () => {
  const { scheduler, run, expectAtRest } = world();
  const template = scheduler.register(single("single", ["a0", "a1"]));
  const placed: string[] = [];
  scheduler.on("operatorIssued", ({ acceleratorName }) => placed.push(acceleratorName));
  const told = toldOf(scheduler);
  const request = scheduler.openRequest({});
  const submit = () => scheduler.submit(template, { request, symbols: { bytes: 10 } });
  submit();
  scheduler.drainAccelerator("a0");
  expect(told).toEqual([]);
  await run();
  expect(told).toEqual(["Draining a0", "Drained a0"]);
  submit();
  await run();
  expect(placed).toEqual(["a0", "a1"]);
  request.close();
  expectAtRest();
});

test("what a request had reserved elsewhere is free when it has left a drained accelerator", async () => {
  const { scheduler, run, expectAtRest } = world();
  const pair = scheduler.register({
    name: "pair",
    symbols: [],
    operators: [
      { name: "keep", outputs: { y: { shape: [10], dtype: "uint8" } } },
      { name: "work", inputs: ["keep.y"], outputs: { z: { shape: [10], dtype: "uint8" } }, workspaceBytes: 800 },
    ],
    outputs: { y: "keep.y" },
    partitions: [{ name: "pair", accelerators: ["a0", "a1"], layout: [0, 1] }],
  });
  const waiting = scheduler.register(single("waiting", ["a1"]));
  const request = scheduler.openRequest({});
  const first = scheduler.submit(pair, { request, symbols: {}, retain: ["y"] });
  await run();
  await first.done;
  const placed: string[] = [];
  scheduler.on("operatorIssued", ({ template }) => placed.push(template));
  scheduler.submit(waiting, { symbols: { bytes: 500 } });
  scheduler.drainAccelerator("a0");
  await run();
  expect(placed).toEqual([]);
  first.release("y");
  await run();
  expect(placed).toEqual(["waiting"]);
  request.close();
  expectAtRest();
});

test("while an accelerator that holds results is drained, nobody looks through the requests", async () => {
  const isIdle = vi.spyOn(GlobalMappingGraph.prototype, "isIdle");
  const { scheduler, run, expectAtRest } = world();
  const [held, other] = [single("held", ["a0"]), single("other", ["a1"])].map((spec) => scheduler.register(spec));
  if (held === undefined || other === undefined) throw new Error("unreachable");
  const told = toldOf(scheduler);
  const handle = scheduler.submit(held, { symbols: { bytes: 10 }, retain: ["y"] });
  await run();
  scheduler.drainAccelerator("a0");
  for (let count = 0; count < 20; count++) scheduler.submit(other, { symbols: { bytes: 10 } });
  await run();
  expect(isIdle).not.toHaveBeenCalled();
  handle.release("y");
  await run();
  expect(told).toEqual(["Draining a0", "Drained a0"]);
  expect(isIdle).toHaveBeenCalledTimes(1);
  isIdle.mockRestore();
  expectAtRest();
});

test("while requests without copies lie on a drained accelerator, they are looked through only when a claim has fallen", async () => {
  const isIdle = vi.spyOn(GlobalMappingGraph.prototype, "isIdle");
  const { scheduler, run, expectAtRest } = world();
  const template = scheduler.register(single("single", ["a0"]));
  const told = toldOf(scheduler);
  const request = scheduler.openRequest({ limits: [{ template, symbols: { bytes: 10 } }] });
  scheduler.submit(template, { request, symbols: { bytes: 10 } });
  await run();
  scheduler.drainAccelerator("a0");
  for (let count = 0; count < 20; count++) scheduler.openRequest({}).close();
  await run();
  expect(isIdle.mock.calls.length).toBeLessThan(5);
  expect(told).toEqual(["Draining a0"]);
  request.close();
  await run();
  expect(told).toEqual(["Draining a0", "Drained a0"]);
  isIdle.mockRestore();
  expectAtRest();
});

test("limits that name no template are refused as such", () => {
  const { scheduler, expectAtRest } = world();
  expect(() => scheduler.openRequest({ limits: [] })).toThrow(
    expect.objectContaining({ code: "INVALID_REQUEST", message: expect.stringMatching(/limits name no template/) }),
  );
  expectAtRest();
});
