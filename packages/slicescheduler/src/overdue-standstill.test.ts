import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import type { OutputHandle } from "./index.ts";
import { EMPTY, overdueWorld } from "./overdue.fixture.ts";

/** A cache on accelerator 1 that grows in place by 40 bytes. */
const step = defineTemplate({
  name: "step",
  symbols: ["past"],
  inputs: { cache: { shape: ["past"], dtype: "uint8" } },
  operators: [
    {
      name: "attend",
      inputs: ["cache"],
      outputs: { cache: { shape: ["past + 40"], dtype: "uint8", aliases: "cache" } },
    },
  ],
  outputs: { cache: "attend.cache" },
  partitions: [{ name: "1", accelerators: ["a1"], layout: [0] }],
});

test("requests that wait only for each other, beside what a quarantined transfer keeps, do not wait for ever", async () => {
  const accelerators = ["a0", "a1", "a2"].map((name) => ({ name, kind: "demo", hbmBytes: 300 }));
  const cluster = { accelerators, defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 } };
  const { time, scheduler, pass, atRest } = overdueWorld({ movesNs: 1e6 }, { cluster, memorySafety: "predicted" });
  const told: string[] = [];
  scheduler.on("standstill", ({ failed, reason }) => told.push(`${failed === null ? "nobody" : "one"}: ${reason}`));
  scheduler.submit(pass, { partitions: ["01"], symbols: {} });
  time.run(2000);
  const template = scheduler.register(step);
  /** Five steps, each submitted when the one before is done: 200 bytes, which fit beside the 100 that are quarantined once. */
  const grow = async () => {
    const request = scheduler.openRequest({ limits: [{ template, symbols: { past: 160 } }] });
    let before: { output: OutputHandle; release(): void } | null = null;
    try {
      for (let past = 0; past < 200; past += 40) {
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
  const outcomes = Promise.all([grow(), grow()]);
  for (let quiet = 0; quiet < 20 && time.nowNs() < 10_000; ) {
    quiet = time.step(10_000) ? 0 : quiet + 1;
    await Promise.resolve();
  }
  const [older, younger] = await outcomes;
  expect(older).toBe("done");
  expect(younger).toMatch(/it gave way, since nothing moved any more/);
  // Between two steps of a request it may still give way, and nobody has to.
  expect(told.filter((line) => line.startsWith("one"))).toHaveLength(1);
  expect(told.at(-1)).toMatch(/^one: .*; transfer 0 is quarantined and keeps 100 bytes on a0 and on a1$/);
  time.run();
  expect(atRest()).toEqual(EMPTY);
});
