import { EVENT_KIND, SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
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
