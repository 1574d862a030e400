import { defineTemplate } from "@slicescheduler/gmg";
import { firstFit } from "@slicescheduler/scheduler";
import { expect, test } from "vitest";
import { type RunOptions, runWorkload } from "./run-workload.ts";
import type { WorkloadInstance } from "./workloads.ts";

const step = defineTemplate({
  name: "step",
  symbols: [],
  operators: [{ name: "make", outputs: { out: { shape: [100], dtype: "uint8" } } }],
  outputs: { out: "make.out" },
  partitions: [{ name: "one", accelerators: ["a"], layout: [0] }],
});

const instance: WorkloadInstance = {
  atNs: 0,
  request: null,
  template: "step",
  symbols: {},
  inputs: {},
  priority: "online",
  retain: [],
  partitions: null,
  cancelAtNs: null,
};

/** Two instances at once and one that is refused, 10 ns each on one accelerator. */
const world: RunOptions = {
  cluster: { accelerators: [{ name: "a", kind: "k", hbmBytes: 1000 }] },
  templates: [step],
  workload: {
    requests: [],
    instances: [instance, { ...instance, cancelAtNs: 5 }, instance, { ...instance, atNs: 1, partitions: [] }],
  },
  durations: { tableNs: [10], perSymbolNs: 0 },
  seed: 1,
};

test("reports what became of every instance, and when", async () => {
  const { outcomes, refusals, log, stats, executorStats, endNs } = await runWorkload(world);
  expect(outcomes).toEqual(["done", "cancelled", "done", null]);
  expect(refusals).toEqual([{ instance: 3, code: "UNKNOWN_PARTITION" }]);
  expect(log.filter(({ name }) => name === "operatorDone").map(({ value }) => value.atNs)).toEqual([10, 20]);
  expect(stats.operatorsDone).toBe(2);
  expect(executorStats.accelerators[0]).toMatchObject({ busyNs: 20, usedHbmBytes: 0, peakHbmBytes: 100 });
  expect(endNs).toBe(20);
});

test("a failing operator fails its instance, and the error stays inside", async () => {
  const { outcomes, log } = await runWorkload({ ...world, faults: { operator: { every: 1, afterShare: 0 } } });
  expect(outcomes).toEqual(["failed", "failed", "failed", null]);
  expect(log.filter(({ name }) => name === "operatorFailed")).toHaveLength(3);
});

test("an instance that never ends is told with what it waits for", async () => {
  const onQuiet: RunOptions["onQuiet"] = ({ executor, recorded }) => {
    if (recorded.some(({ event }) => event.type === "instanceCancelled")) executor.close();
  };
  await expect(runWorkload({ ...world, onQuiet })).rejects.toMatchObject({
    code: "INVARIANT_VIOLATED",
    message: expect.stringMatching(
      /instance 2 has no outcome[\s\S]*instance 2 \(2 of the workload\): .*"operator":"make"/,
    ),
  });
});

test("what the scheduler throws comes out", async () => {
  const choose = () => {
    throw new Error("this policy gives up");
  };
  await expect(runWorkload({ ...world, scheduling: { policy: { ...firstFit, choose } } })).rejects.toThrow("gives up");
});
