import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { SliceScheduler } from "slicescheduler";
import { expect, test } from "vitest";
import { assertAtRest, assertWithinCapacity } from "./at-rest.ts";

const cluster = { accelerators: [{ name: "a", kind: "k", hbmBytes: 1000 }] };

const step = defineTemplate({
  name: "step",
  symbols: [],
  operators: [{ name: "make", outputs: { out: { shape: [100], dtype: "uint8" } }, weights: { w: 300 } }],
  outputs: { out: "make.out" },
  partitions: [{ name: "one", accelerators: ["a"], layout: [0] }],
});

function world() {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 10 });
  const scheduler = new SliceScheduler({ cluster, executor });
  return { time, executor, scheduler, template: scheduler.register(step) };
}

const violated = (words: RegExp) =>
  expect.objectContaining({ code: "INVARIANT_VIOLATED", message: expect.stringMatching(words) });

test("a scheduler is at rest before and after work, not while it runs or a result is retained", () => {
  const { time, executor, scheduler, template } = world();
  assertAtRest(scheduler, executor);
  const made = scheduler.submit(template, { symbols: {}, retain: ["out"] });
  expect(() => assertAtRest(scheduler, executor)).toThrow(violated(/the graph has 1 issuedOperators/));
  expect(() => assertAtRest(scheduler, executor)).toThrow(violated(/issue 0 is running on accelerator 0/));
  time.run();
  expect(() => assertAtRest(scheduler, executor)).toThrow(
    violated(/of 100 bytes is on accelerator 0 \(0 uses, 0 sends, held\)/),
  );
  made.release("out");
  assertAtRest(scheduler, executor);
});

test("a peak over a capacity is told with both numbers", () => {
  const { time, executor, scheduler, template } = world();
  scheduler.submit(template, { symbols: {} });
  time.run();
  assertWithinCapacity(executor, cluster);
  const smaller = { accelerators: [{ name: "a", kind: "k", hbmBytes: 1000, marginBytes: 601 }] };
  expect(() => assertWithinCapacity(executor, smaller)).toThrow(violated(/a had 400 bytes in use of 399/));
});
