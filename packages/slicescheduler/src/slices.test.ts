import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { SliceScheduler, type SliceSchedulerOptions } from "./index.ts";

const bytes = (count: number | string) => ({ shape: [count], dtype: "uint8" as const });

/** One operator of `ms` milliseconds, on "a" or on "b". */
const work = defineTemplate({
  name: "work",
  symbols: ["ms"],
  operators: [{ name: "run", outputs: { out: bytes(1) } }],
  outputs: { out: "run.out" },
  partitions: ["a", "b"].map((name) => ({ name, accelerators: [name], layout: [0] })),
});

/** On "a" for 10 ms, on "b" for 20 ms, and on "a" again. */
const urgent = defineTemplate({
  name: "urgent",
  symbols: ["n"],
  operators: [
    { name: "first", outputs: { out: bytes("n") } },
    { name: "second", inputs: ["first.out"], outputs: { out: bytes("n") } },
    { name: "third", inputs: ["second.out"], outputs: { out: bytes("n") } },
  ],
  outputs: { out: "third.out" },
  partitions: [{ name: "both", accelerators: ["a", "b"], layout: [0, 1, 0] }],
});

const URGENT_MS = [10, 20, 10];

/** Durations are learned exactly before anything is measured. */
function world(options: Partial<SliceSchedulerOptions> = {}) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({
    seed: 1,
    time,
    operatorNs: ({ template, symbols, operator }) =>
      1e6 * (template === "work" ? (symbols["ms"] ?? 0) : (URGENT_MS[operator] ?? 0)),
  });
  const cluster = {
    accelerators: ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 1e6 })),
    defaultLink: { latencyNs: 1000, bytesPerSecond: 1e9 },
  };
  const scheduler = new SliceScheduler({ cluster, executor, ...options });
  const handles = { work: scheduler.register(work), urgent: scheduler.register(urgent) };
  for (let i = 0; i < 4; i++) {
    for (const ms of [4, 8, 9, 15, 30]) scheduler.submit(handles.work, { symbols: { ms } });
    scheduler.submit(handles.urgent, { symbols: { n: 10 } });
    time.run();
  }
  const originNs = time.nowNs();
  const started: string[] = [];
  scheduler.on("operatorStarted", ({ label, operatorName, acceleratorName, atNs }) => {
    started.push(`${label || operatorName} on ${acceleratorName} at ${Math.floor((atNs - originNs) / 1e6)} ms`);
  });
  const offline = (ms: number, partition = "a") =>
    scheduler.submit(handles.work, {
      symbols: { ms },
      priority: "offline",
      partitions: [partition],
      label: `${ms} ms`,
    });
  const online = () => scheduler.submit(handles.urgent, { symbols: { n: 10 } });
  return { time, scheduler, started, offline, online, originNs };
}

test("less urgent work goes where it ends before the urgent operator starts, and what does not fit waits", () => {
  const { time, started, offline, online } = world();
  online();
  offline(30);
  offline(15);
  time.run();
  expect(started).toEqual([
    "first on a at 0 ms",
    "15 ms on a at 10 ms",
    "second on b at 10 ms",
    "third on a at 30 ms",
    "30 ms on a at 40 ms",
  ]);
});

test("the slice is filled with what fits into it best", () => {
  const { time, started, offline, online } = world();
  online();
  for (const ms of [15, 9, 9]) offline(ms);
  time.run();
  // 9 and 9 leave 2 of 20 ms unused, 15 would leave 5.
  expect(started.slice(1)).toEqual([
    "9 ms on a at 10 ms",
    "second on b at 10 ms",
    "9 ms on a at 19 ms",
    "third on a at 30 ms",
    "15 ms on a at 40 ms",
  ]);
});

test("without slices it runs as soon as nothing more urgent is ready, and holds up what becomes ready meanwhile", () => {
  const { time, started, offline, online } = world({ scheduling: { slices: false } });
  online();
  offline(30);
  time.run();
  expect(started).toEqual(["first on a at 0 ms", "30 ms on a at 10 ms", "second on b at 10 ms", "third on a at 40 ms"]);
});

test("a tolerance lets it end so much later", () => {
  const { time, started, offline, online } = world({ scheduling: { slices: { toleranceNs: 10_500_000 } } });
  online();
  offline(30);
  time.run();
  expect(started.slice(1)).toEqual(["30 ms on a at 10 ms", "second on b at 10 ms", "third on a at 40 ms"]);
});

test("once the urgent work is cancelled, what was held back runs", () => {
  const { time, started, offline, online, originNs } = world();
  const handle = online();
  offline(30);
  time.run(originNs + 15e6);
  expect(started.at(-1)).toBe("second on b at 10 ms");
  handle.cancel();
  time.run();
  expect(started.at(-1)).toBe("30 ms on a at 15 ms");
});

test("what was let go for the sake of urgent work is held back again when that is cancelled", () => {
  const { time, scheduler, started, offline, online, originNs } = world();
  const handle = scheduler.register({
    ...work,
    name: "joined",
    inputs: { before: bytes(1) },
    operators: [{ name: "run", inputs: ["before"], outputs: { out: bytes(1) } }],
  });
  online();
  const held = offline(30);
  scheduler.submit(handle, { symbols: { ms: 1 }, priority: "online", inputs: { before: held.output("out") } }).cancel();
  time.run();
  expect(started.filter((line) => line.includes(" on a "))).toEqual([
    "first on a at 0 ms",
    "third on a at 30 ms",
    "30 ms on a at 40 ms",
  ]);
  expect(originNs).toBeGreaterThan(0);
});
