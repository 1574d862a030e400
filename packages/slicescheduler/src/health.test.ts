import {
  type ExecutorManifest,
  type FaultyTime,
  SimulatedTime,
  type VirtualFaults,
  virtualExecutor,
} from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { SliceScheduler, type SliceSchedulerOptions } from "./index.ts";

/** Three operators of 100 ns in a row, on one of three accelerators, or the first on `a0` and the others on `a1`. */
const chain = defineTemplate({
  name: "chain",
  symbols: [],
  operators: [
    { name: "a", outputs: { out: { shape: [10], dtype: "uint8" } } },
    { name: "b", inputs: ["a.out"], outputs: { out: { shape: [10], dtype: "uint8" } } },
    { name: "c", inputs: ["b.out"], outputs: { out: { shape: [10], dtype: "uint8" } } },
  ],
  outputs: { out: "c.out" },
  partitions: [
    ...["a0", "a1", "a2"].map((name) => ({ name, accelerators: [name], layout: [0, 0, 0] })),
    { name: "pair", accelerators: ["a0", "a1"], layout: [0, 1, 1] },
  ],
});

const HEALTH = { faultsToSuspect: 2, probeNs: 1000, probesMax: 3, silentNsMin: 2000, silentFactor: 2 };

interface Trouble {
  readonly faults?: VirtualFaults;
  readonly health?: SliceSchedulerOptions["health"];
  readonly manifest?: Partial<ExecutorManifest>;
}

function world({ faults = {}, health = HEALTH, manifest }: Trouble) {
  const time = new SimulatedTime();
  const device = virtualExecutor({ seed: 1, time, operatorNs: () => 100, faults });
  const executor = manifest === undefined ? device : withManifest(device, manifest);
  const scheduler = new SliceScheduler({
    cluster: {
      accelerators: ["a0", "a1", "a2"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 })),
      defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 },
    },
    executor,
    health,
  });
  const told: string[] = [];
  for (const name of [
    "acceleratorSuspect",
    "acceleratorCleared",
    "acceleratorLost",
    "acceleratorReturned",
    "acceleratorDrained",
  ] as const)
    scheduler.on(name, ({ acceleratorName, atNs }) => told.push(`${atNs} ${name} ${acceleratorName}`));
  scheduler.on("operatorFailed", ({ operatorName, again }) =>
    told.push(`${operatorName} failed${again ? ", again" : ""}`),
  );
  const ends = new Map<number, string>();
  for (const name of ["instanceDone", "instanceFailed"] as const)
    scheduler.on(name, ({ instance, atNs }) => ends.set(instance, `${name.slice(8)} ${atNs}`));
  const issuedOn: string[] = [];
  scheduler.on("operatorIssued", ({ acceleratorName }) => issuedOn.push(acceleratorName));
  return { time, device, scheduler, told, ends, issuedOn, chain: scheduler.register(chain) };
}

function withManifest(device: ReturnType<typeof virtualExecutor>, manifest: Partial<ExecutorManifest>) {
  return {
    manifest: { ...device.manifest, ...manifest },
    clock: device.clock,
    open: device.open.bind(device),
    execute: device.execute.bind(device),
    close: device.close.bind(device),
  };
}

const on = (partition: string) => ({ symbols: {}, partitions: [partition] });

test("an operator that fails once is made again, and so is what it needs", async () => {
  const { time, device, scheduler, told, chain } = world({ faults: { operator: { numbers: [1] } } });
  const { done } = scheduler.submit(chain, on("pair"));
  time.run();
  await expect(done).resolves.toMatchObject({ instance: 0 });
  expect(told).toEqual(["b failed, again"]);
  scheduler.validate();
  expect(device.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("not more often than it may: then its instance fails with what the operator said", async () => {
  const { time, scheduler, told, chain } = world({
    faults: { operator: { every: 1 } },
    health: { ...HEALTH, faultsToSuspect: 100, retriesPerInstanceMax: 2 },
  });
  const { done } = scheduler.submit(chain, on("a0"));
  time.run();
  await expect(done).rejects.toMatchObject({ code: "INSTANCE_FAILED", details: { reason: /declared fault/ } });
  expect(told).toEqual(["a failed, again", "a failed, again", "a failed"]);
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
});

test("with health switched off it fails at once, and nobody is suspected", async () => {
  const { time, scheduler, told, chain } = world({ faults: { operator: { numbers: [0] } }, health: false });
  const { done } = scheduler.submit(chain, on("a0"));
  time.run();
  await expect(done).rejects.toMatchObject({ code: "INSTANCE_FAILED" });
  expect(told).toEqual(["a failed"]);
});

test("an accelerator on which operators fail is suspect, gets nothing new, and is trusted again when a probe is answered well", async () => {
  const broken: FaultyTime[] = [{ accelerator: "a0", fromNs: 0, untilNs: 1500 }];
  const { time, scheduler, told, issuedOn, chain } = world({ faults: { broken } });
  const first = scheduler.submit(chain, on("a0"));
  await Promise.resolve();
  expect(told.filter((line) => line.includes("accelerator"))).toEqual(["0 acceleratorSuspect a0"]);
  const elsewhere = scheduler.submit(chain, { symbols: {} });
  const waiting = scheduler.submit(chain, on("a0"));
  expect(scheduler.explain(waiting.id)?.operators[0]?.waiting).toEqual({ why: "suspect", accelerators: ["a0"] });
  issuedOn.length = 0;
  time.run(1000);
  expect(issuedOn).not.toContain("a0");
  await expect(elsewhere.done).resolves.toBeDefined();
  time.run();
  // The second probe, 1000 ns after the suspicion, finds it broken still; the third, 2000 ns later, well.
  expect(told.filter((line) => line.includes("accelerator"))).toEqual([
    "0 acceleratorSuspect a0",
    "3000 acceleratorCleared a0",
  ]);
  await expect(first.done).resolves.toBeDefined();
  await expect(waiting.done).resolves.toBeDefined();
});

test("one that stays broken is given up for good: it returns, and stays out until it is resumed", async () => {
  const broken: FaultyTime[] = [{ accelerator: "a0", fromNs: 0, untilNs: 9000 }];
  const { time, scheduler, told, chain } = world({ faults: { broken } });
  const { done } = scheduler.submit(chain, on("a0"));
  time.run();
  await expect(done).rejects.toMatchObject({ code: "INSTANCE_FAILED" });
  expect(told.filter((line) => line.includes("accelerator"))).toEqual([
    "0 acceleratorSuspect a0",
    "7000 acceleratorLost a0",
    "7000 acceleratorDrained a0",
    "9000 acceleratorReturned a0",
  ]);
  expect(() => scheduler.submit(chain, on("a0"))).toThrow(expect.objectContaining({ code: "ACCELERATOR_UNAVAILABLE" }));
  scheduler.resumeAccelerator("a0");
  const again = scheduler.submit(chain, on("a0"));
  time.run();
  await expect(again.done).resolves.toBeDefined();
});

test("a device killed in silence under load: every request reaches an outcome in bounded time", () => {
  const died: FaultyTime & { accelerator: number } = { accelerator: 0, fromNs: 250 };
  const { time, device, scheduler, told, ends, chain } = world({ faults: { hung: [died], messages: { cut: [died] } } });
  const anywhere = Array.from({ length: 12 }, () => scheduler.submit(chain, { symbols: {} }));
  const there = Array.from({ length: 4 }, () => scheduler.submit(chain, on("a0")));
  time.run();
  // Noticed within 1.5 × 2000 ns of when it was due, then three rounds of 1000, 2000 and 4000 ns, and the work itself.
  const boundNs = 250 + 3000 + 7000 + 12 * 300;
  expect(ends.size).toBe(16);
  for (const { id } of anywhere) expect(ends.get(id)).toMatch(/^Done /);
  for (const { id } of there) expect(ends.get(id)).toMatch(/^(Done|Failed) /);
  for (const end of ends.values()) expect(Number(end.split(" ")[1])).toBeLessThanOrEqual(boundNs);
  const [suspect, lost] = told;
  expect([suspect, lost]).toEqual([
    expect.stringMatching(/^\d+ acceleratorSuspect a0$/),
    expect.stringMatching(/^\d+ acceleratorLost a0$/),
  ]);
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
  scheduler.validate();
  expect(device.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
  // Nothing keeps simulated time from standing still.
  expect(time.pending).toBe(0);
});

test("a report that was lost costs a suspicion and what was there, not the accelerator: it answers, and is back at once", () => {
  const { time, scheduler, told, ends, chain } = world({
    faults: { messages: { lost: { operatorDone: { numbers: [0] } } } },
  });
  const { id } = scheduler.submit(chain, on("a0"));
  time.run();
  expect(told).toEqual([
    expect.stringMatching(/ acceleratorSuspect a0$/),
    expect.stringMatching(/ acceleratorLost a0$/),
    expect.stringMatching(/ acceleratorReturned a0$/),
  ]);
  expect(ends.get(id)).toMatch(/^(Done|Failed) /);
  const next = scheduler.submit(chain, on("a0"));
  time.run();
  expect(ends.get(next.id)).toMatch(/^Done /);
});

test("an operator that only takes long is waited for once it ends, and nobody is given up", () => {
  const { time, told, ends, scheduler, chain } = world({
    faults: { operatorStraggles: { numbers: [0], factor: 40 } },
  });
  const { id } = scheduler.submit(chain, on("a0"));
  time.run();
  expect(told).toEqual(["3000 acceleratorSuspect a0", "4000 acceleratorCleared a0"]);
  expect(ends.get(id)).toMatch(/^Done /);
});

test("where the backend has no probes, a suspect is trusted again after a time, and silence is not watched", () => {
  const faults: VirtualFaults = {
    broken: [{ accelerator: 0, fromNs: 0, untilNs: 50 }],
    hung: [{ accelerator: 1, fromNs: 0 }],
  };
  const { time, told, scheduler, chain } = world({ faults, manifest: { probes: false } });
  scheduler.submit(chain, on("a0"));
  scheduler.submit(chain, on("a1"));
  time.run();
  expect(told.filter((line) => line.includes("accelerator"))).toEqual([
    "0 acceleratorSuspect a0",
    "1000 acceleratorCleared a0",
  ]);
});

test("reports that come twice change nothing and are counted", () => {
  const doubled = { any: { rate: 1 } };
  const { time, scheduler, ends, chain, device } = world({ faults: { messages: { doubled } } });
  scheduler.submit(chain, on("pair"));
  scheduler.submit(chain, on("pair"));
  time.run();
  expect([...ends.values()].map((end) => end.split(" ")[0])).toEqual(["Done", "Done"]);
  // Each once in vain, and nothing else.
  expect(scheduler.stats().lateEvents).toBe(device.faultCounts().doubled);
});

test("the options are checked, everything at once", () => {
  expect(() => world({ health: { probesMax: 0, silentFactor: 0 } })).toThrow(/2 fault/);
  expect(() => world({ health: { probeMs: 5 } as never })).toThrow(/health\.probeMs: there is no such option/);
});

test("what ran on an accelerator before it was lost, and runs elsewhere now, keeps nobody waiting there", () => {
  const time = new SimulatedTime();
  const outages = [{ accelerator: "a0", lostNs: 50, backNs: 60 }];
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100, outages });
  const scheduler = new SliceScheduler({
    cluster: { accelerators: ["a0", "a1"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 })) },
    executor,
  });
  const single = scheduler.register(
    defineTemplate({
      name: "single",
      symbols: [],
      operators: [{ name: "run", outputs: { out: { shape: [10], dtype: "uint8" } } }],
      outputs: { out: "run.out" },
      partitions: ["a0", "a1"].map((name) => ({ name, accelerators: [name], layout: [0] })),
    }),
  );
  const started: string[] = [];
  scheduler.on("operatorStarted", ({ instance, acceleratorName, atNs }) =>
    started.push(`${instance} on ${acceleratorName} at ${atNs}`),
  );
  scheduler.submit(single, { symbols: {} });
  time.run(60);
  scheduler.submit(single, on("a0"));
  time.run();
  expect(started).toEqual(["0 on a0 at 0", "0 on a1 at 50", "1 on a0 at 60"]);
  expect(scheduler.stats().earlyEvents).toBe(0);
});
