import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { expect, test } from "vitest";
import { SliceScheduler } from "./index.ts";

const accelerators = ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 }));
const cluster = { accelerators, defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 } };
const template = {
  name: "work",
  symbols: ["n"],
  operators: [{ name: "work", outputs: { out: { shape: ["n"], dtype: "uint8" } }, weights: { w: 100 } }],
  outputs: {},
  partitions: accelerators.map(({ name }) => ({ name, accelerators: [name], layout: [0] })),
} as const;

function world() {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  return { time, executor, scheduler: new SliceScheduler({ cluster, executor }) };
}

test("what the executor finds wrong with a template leaves its name free", async () => {
  const { time, executor, scheduler } = world();
  const asked: string[] = [];
  executor.checkTemplate = ({ name, operators }) => {
    asked.push(name);
    if (operators[0]?.weights?.["w"] !== 200) throw new RangeError("w has 200 bytes");
  };
  const before = scheduler.snapshot();
  expect(() => scheduler.register(template)).toThrow("w has 200 bytes");
  expect(scheduler.snapshot()).toEqual(before);
  const mended = { ...template, operators: [{ ...template.operators[0], weights: { w: 200 } }] };
  const handle = scheduler.register(mended);
  const { done } = scheduler.submit(handle, { symbols: { n: 8 } });
  time.run();
  await done;
  expect(() => scheduler.register(template)).toThrow(expect.objectContaining({ code: "TEMPLATE_EXISTS" }));
  expect(asked).toEqual(["work", "work"]);
});

test("weights that could not be loaded are loaded when the template is registered again", async () => {
  const { time, executor, scheduler } = world();
  const execute = executor.execute.bind(executor);
  const full = new Set([1]);
  executor.execute = (instructions) => {
    const at = instructions.findIndex((each) => each.type === "loadWeights" && full.has(each.accelerator));
    execute(at < 0 ? instructions : instructions.slice(0, at));
    if (at >= 0) throw new RangeError("b is full");
  };
  for (let attempts = 0; attempts < 2; attempts++) expect(() => scheduler.register(template)).toThrow("b is full");
  const other = { ...template, symbols: ["n", "m"] };
  expect(() => scheduler.register(other)).toThrow(expect.objectContaining({ code: "TEMPLATE_EXISTS" }));
  full.clear();
  const handle = scheduler.register(template);
  const runs = ["a", "b"].map((name) => scheduler.submit(handle, { symbols: { n: 8 }, partitions: [name] }).done);
  time.run();
  await Promise.all(runs);
  expect(executor.stats().accelerators.map(({ usedHbmBytes }) => usedHbmBytes)).toEqual([100, 100]);
  expect(() => scheduler.register(template)).toThrow(expect.objectContaining({ code: "TEMPLATE_EXISTS" }));
});
