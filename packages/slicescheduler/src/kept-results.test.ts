/** Requests that lost an accelerator between two instances and kept results elsewhere: the next instance is placed with them, or without. */
import { EVENT_KIND, SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { type OutputHandle, SliceScheduler } from "./index.ts";

const BYTES = 10;
const tensor = { shape: [BYTES], dtype: "uint8" } as const;
/** Where each operator goes, by partition: the last one makes what is kept. */
const PAIRS = { left: ["a0", "a1"], right: ["a2", "a3"] } as const;

function partitionsOf(names: readonly (keyof typeof PAIRS)[], layout: number[]) {
  return names.map((name) => ({ name, accelerators: [...PAIRS[name]], layout }));
}

/** Two operators, and one that reads their result where it was made. */
function templates(names: readonly (keyof typeof PAIRS)[]) {
  return {
    make: defineTemplate({
      name: "make",
      symbols: [],
      inputs: {},
      operators: [
        { name: "x", outputs: { o: tensor } },
        { name: "y", inputs: ["x.o"], outputs: { o: tensor } },
      ],
      outputs: { kept: "y.o" },
      partitions: partitionsOf(names, [0, 1]),
    }),
    go: defineTemplate({
      name: "go",
      symbols: [],
      inputs: { kept: tensor },
      operators: [
        { name: "u", inputs: ["kept"], outputs: { o: tensor } },
        { name: "v", inputs: ["u.o"], outputs: { o: tensor } },
      ],
      outputs: {},
      partitions: partitionsOf(names, [1, 0]),
    }),
    /** As large as an accelerator, on the second one of the pair alone. */
    fill: defineTemplate({
      name: "fill",
      symbols: ["bytes"],
      inputs: {},
      operators: [{ name: "f", outputs: { o: { shape: ["bytes"], dtype: "uint8" } } }],
      outputs: { all: "f.o" },
      partitions: names.map((name) => ({ name, accelerators: [...PAIRS[name]], layout: [1] })),
    }),
  };
}

interface Options {
  readonly hbmBytes: number;
  readonly hasLimits: boolean;
  readonly mayPause?: boolean;
  readonly names?: readonly (keyof typeof PAIRS)[];
}

function world({ hbmBytes, hasLimits, mayPause = false, names = ["left"] }: Options) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const accelerators = names.flatMap((name) => PAIRS[name]).map((name) => ({ name, kind: "demo", hbmBytes }));
  const cluster = { accelerators, defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 } };
  const scheduler = new SliceScheduler({ cluster, executor });
  const specs = templates(names);
  const make = scheduler.register(specs.make);
  const go = scheduler.register(specs.go);
  const fill = scheduler.register(specs.fill);
  const limits = [
    { template: make, symbols: {} },
    { template: go, symbols: {} },
  ];
  const request = scheduler.openRequest(hasLimits ? { limits, mayPause } : {});
  const told: string[] = [];
  const runs: string[] = [];
  scheduler.on("standstill", ({ reason }) => told.push(reason));
  scheduler.on("operatorDone", ({ template, operator, acceleratorName }) => {
    const { name } = Object.values(specs).find((spec) => spec.name === template)?.operators[operator] ?? {};
    runs.push(`${name} on ${acceleratorName}`);
  });
  /** Until nothing is left to happen, as promises settle in between. */
  const run = async () => {
    for (let quiet = 0; quiet < 20; ) {
      quiet = time.step() ? 0 : quiet + 1;
      await Promise.resolve();
    }
  };
  const submitGo = (kept: OutputHandle) => scheduler.submit(go, { request, symbols: {}, inputs: { kept } });
  const expectAtRest = () => {
    scheduler.validate();
    expect(told).toEqual([]);
    expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
    expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
  };
  return { time, executor, scheduler, request, make, fill, submitGo, runs, run, expectAtRest };
}

/** What `go` needs beside what it reads, and what it reads, and no more. */
const TIGHT_BYTES = leastBytes();

function leastBytes(): number {
  for (let hbmBytes = BYTES; ; hbmBytes += BYTES) {
    try {
      world({ hbmBytes, hasLimits: true });
      return hbmBytes;
    } catch {}
  }
}

test.each([
  { hasLimits: true, mayPause: false },
  { hasLimits: true, mayPause: true },
  { hasLimits: false, mayPause: false },
])(
  "what was kept is gone on from when the accelerator has come back, on a cluster without a byte more than that takes: %o",
  async (kind) => {
    const { executor, scheduler, request, make, submitGo, runs, run, expectAtRest } = world({
      hbmBytes: TIGHT_BYTES,
      ...kind,
    });
    const first = scheduler.submit(make, { request, symbols: {}, retain: ["kept"] });
    await run();
    executor.loseAccelerator("a0");
    await run();
    executor.returnAccelerator("a0");
    await run();
    const second = submitGo(first.output("kept"));
    first.release("kept");
    await run();
    await expect(second.done).resolves.toBeDefined();
    expect(runs).toEqual(["x on a0", "y on a1", "u on a1", "v on a0"]);
    request.close();
    expectAtRest();
  },
);

test.each([true, false])(
  "where others hold the memory it is given up, made again in its turn, and nobody stands still (limits %s)",
  async (hasLimits) => {
    const { executor, scheduler, request, make, fill, submitGo, runs, run, expectAtRest, time } = world({
      hbmBytes: TIGHT_BYTES,
      hasLimits,
    });
    const first = scheduler.submit(make, { request, symbols: {}, retain: ["kept"] });
    await run();
    executor.loseAccelerator("a0");
    await run();
    executor.returnAccelerator("a0");
    await run();
    // All that is free beside what is kept.
    const other = scheduler.submit(fill, { symbols: { bytes: TIGHT_BYTES - BYTES }, retain: ["all"] });
    await run();
    const second = submitGo(first.output("kept"));
    first.release("kept");
    await run();
    expect(scheduler.explain(second.id)?.operators[0]).toBeDefined();
    expect(runs.filter((each) => each.startsWith("y"))).toHaveLength(1);
    time.at(1e6, { kind: EVENT_KIND.outage, number: 0 }, () => other.release("all"));
    await run();
    await expect(second.done).resolves.toBeDefined();
    expect(runs.slice(2)).toEqual(["f on a1", "x on a0", "y on a1", "u on a1", "v on a0"]);
    request.close();
    expectAtRest();
  },
);

test.each([true, false])(
  "a result on an accelerator of no partition that is left is read from there (limits %s)",
  async (hasLimits) => {
    const { executor, scheduler, request, make, submitGo, runs, run, expectAtRest } = world({
      hbmBytes: TIGHT_BYTES,
      hasLimits,
      names: ["left", "right"],
    });
    const first = scheduler.submit(make, { request, symbols: {}, retain: ["kept"] });
    await run();
    expect(runs).toEqual(["x on a0", "y on a1"]);
    executor.loseAccelerator("a0");
    await run();
    const second = submitGo(first.output("kept"));
    first.release("kept");
    await run();
    await expect(second.done).resolves.toBeDefined();
    expect(runs.slice(2)).toEqual(["u on a3", "v on a2"]);
    request.close();
    expectAtRest();
  },
);

test.each([true, false])(
  "a drain between refuses the next instance, and what was kept serves the one after the resumption (limits %s)",
  async (hasLimits) => {
    const { executor, scheduler, request, make, submitGo, runs, run, expectAtRest } = world({
      hbmBytes: TIGHT_BYTES,
      hasLimits,
    });
    const first = scheduler.submit(make, { request, symbols: {}, retain: ["kept"] });
    await run();
    executor.loseAccelerator("a0");
    await run();
    executor.returnAccelerator("a0");
    await run();
    scheduler.drainAccelerator("a1");
    await run();
    expect(() => submitGo(first.output("kept"))).toThrow(expect.objectContaining({ code: "ACCELERATOR_UNAVAILABLE" }));
    scheduler.resumeAccelerator("a1");
    const second = submitGo(first.output("kept"));
    first.release("kept");
    await run();
    await expect(second.done).resolves.toBeDefined();
    expect(runs.slice(2)).toEqual(["u on a1", "v on a0"]);
    request.close();
    expectAtRest();
  },
);
