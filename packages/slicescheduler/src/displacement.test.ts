import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { SliceScheduler, type SliceSchedulerOptions } from "./index.ts";

const bytes = (count: number | string) => ({ shape: [count], dtype: "uint8" as const });

const work = defineTemplate({
  name: "work",
  symbols: ["n", "ns"],
  operators: [{ name: "run", outputs: { out: bytes("n") } }],
  outputs: { out: "run.out" },
  partitions: ["a", "b"].map((name) => ({ name, accelerators: [name], layout: [0] })),
});

function world(scheduling: SliceSchedulerOptions["scheduling"] = {}, names = ["a"]) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: ({ symbols }) => symbols["ns"] ?? 1 });
  const accelerators = ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 }));
  const scheduler = new SliceScheduler({ cluster: { accelerators }, executor, scheduling });
  const told: string[] = [];
  scheduler.on("operatorWithdrawn", ({ label, atNs }) => told.push(`${label} back at ${atNs}`));
  scheduler.on("operatorStarted", ({ label, acceleratorName, atNs }) =>
    told.push(`${label} on ${acceleratorName} at ${atNs}`),
  );
  const handle = scheduler.register(work);
  const submit = (label: string, priority: "online" | "offline", n: number, ns: number) =>
    scheduler.submit(handle, { symbols: { n, ns }, priority, partitions: names, label });
  return { time, executor, scheduler, told, submit };
}

test("a request of which nothing has started gives its memory to a more urgent one, and runs later", () => {
  const { time, executor, scheduler, told, submit } = world();
  submit("running", "offline", 100, 50);
  submit("waiting", "offline", 800, 50);
  submit("urgent", "online", 600, 50);
  time.run();
  expect(told).toEqual(["running on a at 0", "waiting back at 0", "urgent on a at 50", "waiting on a at 100"]);
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("it may go elsewhere then", () => {
  const { time, told, submit } = world({}, ["a", "b"]);
  submit("long", "online", 900, 1000);
  submit("running", "offline", 100, 50);
  submit("waiting", "offline", 700, 50);
  submit("urgent", "online", 800, 50);
  time.run();
  expect(told.filter((line) => line.startsWith("urgent"))).toEqual(["urgent on b at 50"]);
});

test("an equally urgent one does not, nor one that has started", () => {
  const { time, told, submit } = world();
  submit("running", "offline", 700, 50);
  submit("equal", "offline", 700, 50);
  submit("urgent", "online", 700, 50);
  time.run();
  expect(told).toEqual(["running on a at 0", "urgent on a at 50", "equal on a at 100"]);
});

test("a full budget of issued work that has not started gives way, so many times at most", () => {
  const { time, told, submit } = world({ operatorsPerAcceleratorMax: 2, preemptionsPerRequestMax: 1 });
  submit("running", "offline", 10, 50);
  for (const label of ["second", "third", "fourth"]) submit(label, "offline", 10, 50);
  for (const label of ["urgent", "urgent too"]) submit(label, "online", 10, 50);
  time.run();
  const back = told.filter((line) => line.includes("back"));
  expect(back).toEqual(["second back at 0"]);
  expect(told.filter((line) => !line.includes("back"))).toEqual([
    "running on a at 0",
    "urgent on a at 50",
    "urgent too on a at 100",
    "second on a at 150",
    "third on a at 200",
    "fourth on a at 250",
  ]);
});

test("nobody is put off before that frees enough", () => {
  const { time, told, submit } = world();
  submit("running", "offline", 500, 50);
  submit("small", "offline", 100, 50);
  submit("urgent", "online", 900, 50);
  time.run();
  expect(told).toEqual(["running on a at 0", "small back at 50", "urgent on a at 50", "small on a at 100"]);
});

test("room is made for the second urgent request as well, while the first waits for what has started", () => {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: ({ symbols }) => symbols["ns"] ?? 1 });
  const accelerators = ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 }));
  const scheduler = new SliceScheduler({ cluster: { accelerators }, executor });
  const handle = scheduler.register(work);
  const started = new Map<string, number>();
  scheduler.on("operatorStarted", ({ label, atNs }) => started.set(label, atNs));
  const submit = (label: string, priority: string, on: string, n: number, ns: number) =>
    scheduler.submit(handle, { symbols: { n, ns }, priority, partitions: [on], label });
  submit("started on a", "offline", "a", 900, 5000);
  submit("started on b", "offline", "b", 100, 50);
  submit("untouched on b", "offline", "b", 800, 5000);
  submit("urgent on a", "online", "a", 900, 50);
  submit("urgent on b", "online", "b", 800, 50);
  time.run();
  expect(started.get("urgent on b")).toBe(50);
  expect(started.get("urgent on a")).toBe(5000);
});

test("an idle accelerator has its own budget, whatever the others have", () => {
  const { time, told, submit } = world({ operatorsPerAcceleratorMax: 1 }, ["a", "b"]);
  submit("long", "online", 1, 1000);
  submit("other", "online", 1, 50);
  time.run();
  expect(told.map((line) => line.slice(-4))).toEqual(["at 0", "at 0"]);
});
