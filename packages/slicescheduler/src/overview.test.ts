import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { SliceScheduler } from "./index.ts";

const cluster = {
  accelerators: ["a", "b", "c"].map((name) => ({ name, kind: "demo", hbmBytes: 1000, absent: name === "c" })),
  defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 },
};

const split = defineTemplate({
  name: "split",
  symbols: ["n"],
  operators: [
    { name: "first", outputs: { out: { shape: ["n"], dtype: "uint8" } } },
    { name: "second", inputs: ["first.out"], outputs: { out: { shape: ["n"], dtype: "uint8" } } },
  ],
  outputs: { out: "second.out" },
  partitions: [{ name: "split", accelerators: ["a", "b"], layout: [0, 1] }],
});

function world() {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const scheduler = new SliceScheduler({ cluster, executor });
  return { time, scheduler, split: scheduler.register(split) };
}

test("tells what runs, what is blocked, what moves, and what waits for what", () => {
  const { time, scheduler, split } = world();
  scheduler.submit(split, { symbols: { n: 400 }, label: "big" });
  scheduler.submit(split, { symbols: { n: 400 }, label: "next", priority: "offline" });
  time.run(50);
  const before = scheduler.overview();
  expect(before).toMatchObject({ atNs: 50, requests: 2, instances: 2, issuedOperators: 2, acceleratorCount: 3 });
  const [a, b, c] = before.accelerators;
  expect(a).toMatchObject({
    name: "a",
    state: "up",
    capacityBytes: 1000,
    usedBytes: 400,
    running: { instance: 0, label: "big", operator: "split/first", class: "online", state: "running", sinceNs: 0 },
    readyOperators: 0,
    blockedOperators: 0,
  });
  expect(b).toMatchObject({ running: null, predictedNs: null, blockedOperators: 1 });
  expect(b?.queue).toMatchObject([{ operator: "split/second", state: "blocked", missingInputs: 1 }]);
  expect(c?.state).toBe("absent");
  expect(before.frontier).toEqual([
    { class: "online", operators: 0 },
    { class: "offline", operators: 1 },
  ]);
  expect(before.waiting).toMatchObject([{ instance: 1, label: "next", reason: { why: "memory", heldBy: [0] } }]);
  time.run(150);
  expect(scheduler.overview().transfers).toMatchObject([
    { source: "a", destination: "b", bytes: 400, state: "sending", sinceNs: 100, waitingOperators: 1 },
  ]);
  scheduler.drainAccelerator("b");
  expect(scheduler.overview().accelerators[1]?.state).toBe("draining");
  time.run();
  expect(scheduler.overview()).toMatchObject({ instances: 0, waiting: [], transfers: [], liveTransfers: 0 });
  expect(scheduler.overview().accelerators[1]?.state, "as it was told").toBe("drained");
  scheduler.resumeAccelerator("b");
  expect(scheduler.overview().accelerators[1]?.state).toBe("up");
});

test("lists end at the rows asked for, counts do not, and nothing is changed", () => {
  const { scheduler, split } = world();
  for (let i = 0; i < 30; i++) scheduler.submit(split, { symbols: { n: 100 } });
  const { accelerators, waiting, frontier, acceleratorCount, issuedOperators } = scheduler.overview({ rows: 2 });
  expect(accelerators).toHaveLength(2);
  expect(acceleratorCount).toBe(3);
  expect(waiting).toHaveLength(2);
  expect((frontier[0]?.operators ?? 0) + issuedOperators).toBeGreaterThanOrEqual(30);
  for (const { queue } of accelerators) expect(queue.length).toBeLessThanOrEqual(2);
  expect(scheduler.overview({ rows: 2 })).toEqual(scheduler.overview({ rows: 2 }));
  scheduler.validate();
  expect(() => scheduler.overview({ rows: 0 })).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS" }));
});

test("an instance can be cancelled by its number", async () => {
  const { time, scheduler, split } = world();
  const handle = scheduler.submit(split, { symbols: { n: 10 } });
  scheduler.cancelInstance(handle.id);
  await expect(handle.done).rejects.toMatchObject({ code: "INSTANCE_CANCELLED" });
  time.run();
  scheduler.cancelInstance(handle.id);
  for (const unknown of [1, -1, 0.5, Number.NaN])
    expect(() => scheduler.cancelInstance(unknown)).toThrow(expect.objectContaining({ code: "UNKNOWN_INSTANCE" }));
});
