import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { type OutputHandle, SliceScheduler, type SliceSchedulerOptions } from "./index.ts";

/** A cache of `past + 10` bytes that grows in place. */
const step = defineTemplate({
  name: "step",
  symbols: ["past"],
  inputs: { cache: { shape: ["past"], dtype: "uint8" } },
  operators: [
    {
      name: "attend",
      inputs: ["cache"],
      outputs: { cache: { shape: ["past + 10"], dtype: "uint8", aliases: "cache" } },
    },
  ],
  outputs: { cache: "attend.cache" },
  partitions: [{ name: "only", accelerators: ["a"], layout: [0] }],
});

function world(memorySafety: NonNullable<SliceSchedulerOptions["memorySafety"]>, names: readonly string[] = ["a"]) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const cluster = { accelerators: names.map((name) => ({ name, kind: "demo", hbmBytes: 100 })) };
  const scheduler = new SliceScheduler({ cluster, executor, memorySafety });
  const template = scheduler.register(step);
  const request = (steps: number) => scheduler.openRequest({ limits: [{ template, symbols: { past: 10 * steps } }] });
  const run = async () => {
    for (let quiet = 0; quiet < 20; ) {
      quiet = time.step() ? 0 : quiet + 1;
      await Promise.resolve();
    }
  };
  /** So many steps, each submitted when the one before is done. */
  const grow = async (steps: number) => {
    const opened = request(8);
    let before: { output: OutputHandle; release(): void } | null = null;
    try {
      for (let count = 0; count < steps; count++) {
        const inputs: { cache?: OutputHandle } = before === null ? {} : { cache: before.output };
        const handle = scheduler.submit(template, {
          request: opened,
          symbols: { past: 10 * count },
          inputs,
          retain: ["cache"],
        });
        before?.release();
        await handle.done;
        before = { output: handle.output("cache"), release: () => handle.release("cache") };
      }
      return "done";
    } catch (error) {
      return (error as Error).message;
    } finally {
      before?.release();
      opened.close();
    }
  };
  return { time, executor, scheduler, template, run, grow };
}

test("guaranteed: three that together would not fit end one after the other", async () => {
  const { scheduler, executor, run, grow } = world("guaranteed");
  const standstills: unknown[] = [];
  scheduler.on("standstill", (notice) => standstills.push(notice));
  const outcomes = Promise.all([grow(8), grow(8), grow(8)]);
  await run();
  await expect(outcomes).resolves.toEqual(["done", "done", "done"]);
  expect(standstills).toEqual([]);
  expect(executor.stats()).toMatchObject({ overCapacityRefused: 0 });
});

test("predicted: they start together, stand still, and the least urgent gives way so that the others end", async () => {
  const { scheduler, executor, run, grow } = world("predicted");
  const failed: (number | null)[] = [];
  const reasons: string[] = [];
  scheduler.on("standstill", ({ failed: victim, reason }) => {
    failed.push(victim);
    reasons.push(reason);
  });
  const outcomes = Promise.all([grow(8), grow(8), grow(8)]);
  await run();
  const [first, ...others] = await outcomes;
  expect(first).toBe("done");
  expect(others.some((outcome) => /it gave way, since nothing moved any more/.test(outcome))).toBe(true);
  expect(failed.length).toBeGreaterThan(0);
  expect(reasons[0]).toMatch(
    /step\/attend of instance \d+ waits for \d+ bytes on a, where \d+ are free and requests 0, 1, 2 hold the rest/,
  );
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
  expect(executor.stats()).toMatchObject({ overCapacityRefused: 0 });
});

test("predicted: what is larger than an empty accelerator is refused as well", () => {
  const { scheduler, template } = world("predicted");
  expect(() => scheduler.openRequest({ limits: [{ template, symbols: { past: 91 } }] })).toThrow(
    expect.objectContaining({ code: "NEVER_FITS" }),
  );
});

test("predicted: a request that waits for one that may release by itself is told, and waits", async () => {
  const { scheduler, template, time, run } = world("predicted");
  const told: unknown[] = [];
  scheduler.on("standstill", (notice) => told.push(notice));
  const idle = scheduler.openRequest({ limits: [{ template, symbols: { past: 80 } }] });
  const kept = scheduler.submit(template, { request: idle, symbols: { past: 0 }, retain: ["cache"] });
  const other = scheduler.openRequest({ limits: [{ template, symbols: { past: 80 } }] });
  const many = Array.from({ length: 10 }, () =>
    scheduler.submit(template, { request: other, symbols: { past: 0 }, retain: ["cache"] }),
  );
  await run();
  expect(told).toMatchObject([{ failed: null }]);
  kept.release("cache");
  await run();
  await expect(Promise.all(many.map(({ done }) => done))).resolves.toHaveLength(10);
  expect(time.nowNs()).toBeGreaterThan(0);
});

test("predicted: a standstill is found although other work goes on all the time", async () => {
  const { time, scheduler, run, grow } = world("predicted", ["a", "b"]);
  const traffic = scheduler.register({
    ...step,
    name: "traffic",
    partitions: [{ name: "b", accelerators: ["b"], layout: [0] }],
  });
  const stream = scheduler.openRequest({ limits: [{ template: traffic, symbols: { past: 0 } }] });
  const submit = () => scheduler.submit(traffic, { request: stream, symbols: { past: 0 } });
  scheduler.on("instanceDone", ({ request }) => {
    if (request === stream.id && time.nowNs() < 100_000) submit();
  });
  const told: number[] = [];
  scheduler.on("standstill", ({ atNs }) => told.push(atNs));
  submit();
  const outcomes = Promise.all([grow(8), grow(8), grow(8)]);
  await run();
  expect((await outcomes)[0]).toBe("done");
  expect(told.length).toBeGreaterThan(0);
  for (const atNs of told) expect(atNs).toBeLessThan(50_000);
});
