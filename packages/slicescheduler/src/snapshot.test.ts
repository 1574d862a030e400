import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { GlobalMappingGraph } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { SliceScheduler } from "./slice-scheduler.ts";

test("a snapshot of a running master can be restored at any step, and tells what ran and what waited", () => {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 1_000 });
  const scheduler = new SliceScheduler({
    cluster: { accelerators: [{ name: "a0", kind: "demo", hbmBytes: 1000 }] },
    executor,
  });
  const pass = scheduler.register({
    name: "pass",
    symbols: ["tokens"],
    operators: ["one", "two"].map((name, at) => ({
      name,
      inputs: at === 0 ? [] : ["one.hidden"],
      outputs: { hidden: { shape: ["tokens"], dtype: "uint8" as const } },
    })),
    outputs: { hidden: "two.hidden" },
    partitions: [{ name: "a0", accelerators: ["a0"], layout: [0, 0] }],
  });
  for (let each = 0; each < 3; each++) scheduler.submit(pass, { symbols: { tokens: 400 } });
  const unfinished = [];
  while (time.step()) {
    const text = JSON.stringify(scheduler.snapshot());
    const graph = GlobalMappingGraph.restore(JSON.parse(text));
    graph.validate();
    expect(JSON.stringify(graph.snapshot())).toBe(text);
    unfinished.push(graph.counts().instances);
  }
  expect(unfinished[0]).toBe(3);
  expect(unfinished.at(-1)).toBe(0);
  scheduler.close();
  expect(() => scheduler.snapshot()).toThrow(expect.objectContaining({ code: "CLOSED" }));
});
