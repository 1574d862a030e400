import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { SliceScheduler } from "./index.ts";

const bytes = (count: number | string) => ({ shape: [count], dtype: "uint8" as const });

const work = defineTemplate({
  name: "work",
  symbols: ["n"],
  operators: [
    { name: "first", outputs: { out: bytes("n") } },
    { name: "second", inputs: ["first.out"], outputs: { out: bytes("n") } },
  ],
  outputs: { out: "second.out" },
  partitions: [{ name: "one", accelerators: ["a"], layout: [0, 0] }],
});

/** Urgent work of 10 ns per operator without end, so many requests of it at a time; then one less urgent request. */
function endlessStream({ hbmBytes, atOnce, slices }: { hbmBytes: number; atOnce: number; slices?: false }) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 10 });
  const cluster = { accelerators: [{ name: "a", kind: "demo", hbmBytes }] };
  const scheduling = { starvationBoundNs: 1000, memoryPatienceNs: 1000, ...(slices === undefined ? {} : { slices }) };
  const scheduler = new SliceScheduler({ cluster, executor, scheduling });
  const handle = scheduler.register(work);
  let endless = true;
  const next = () => endless && scheduler.submit(handle, { symbols: { n: 100 } });
  for (let i = 0; i < atOnce; i++) next();
  scheduler.on("instanceDone", ({ label }) => label === "" && next());
  const patient = scheduler.submit(handle, { symbols: { n: 100 }, priority: "offline", label: "patient" });
  let doneNs: number | null = null;
  scheduler.on("instanceDone", ({ label, atNs }) => {
    if (label !== "patient") return;
    doneNs = atNs;
    endless = false;
  });
  time.run(20_000);
  endless = false;
  time.run();
  return { scheduler, executor, patient, doneNs: () => doneNs };
}

test.each([
  ["an accelerator that never idles", { hbmBytes: 100_000, atOnce: 3 }],
  ["an accelerator that never idles, without slices", { hbmBytes: 100_000, atOnce: 3, slices: false as const }],
  ["memory that never suffices for both", { hbmBytes: 500, atOnce: 3 }],
  ["a budget that never suffices for both", { hbmBytes: 100_000, atOnce: 40 }],
])("an endless stream of urgent work does not starve the rest beyond the bound: %s", (_name, options) => {
  const { scheduler, executor, doneNs } = endlessStream(options);
  expect(doneNs()).not.toBeNull();
  // Each of its two operators waits for the bound, up to a quarter more until it is looked at, and what is before it then.
  expect(doneNs()).toBeLessThan(2 * (1000 + 250 + 1000 + 40 * 20));
  expect(doneNs()).toBeGreaterThan(1000);
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("nor under a full budget of requests of one operator each", () => {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 10e6 });
  const cluster = { accelerators: [{ name: "a", kind: "demo", hbmBytes: 1e6 }] };
  const scheduler = new SliceScheduler({ cluster, executor, scheduling: { starvationBoundNs: 1e9 } });
  const single = scheduler.register({
    name: "single",
    symbols: ["n"],
    operators: [{ name: "run", outputs: { out: bytes("n") } }],
    outputs: { out: "run.out" },
    partitions: [{ name: "one", accelerators: ["a"], layout: [0] }],
  });
  let endless: boolean = true;
  const next = () => {
    if (endless) scheduler.submit(single, { symbols: { n: 1 } });
  };
  scheduler.on("instanceDone", ({ label }) => {
    if (label === "") next();
  });
  let doneNs = Number.NaN;
  scheduler.on("instanceDone", ({ label, atNs }) => {
    if (label === "patient") doneNs = atNs;
  });
  for (let i = 0; i < 40; i++) next();
  scheduler.submit(single, { symbols: { n: 1 }, priority: "offline", label: "patient" });
  time.run(4e9);
  endless = false;
  time.run();
  expect(doneNs).toBeLessThan(2e9);
});
