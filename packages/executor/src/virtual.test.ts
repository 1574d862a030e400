import { expect, test, vi } from "vitest";
import { subjectOf } from "../test/drain.ts";
import { cluster, issue, local, output, recv, register } from "../test/world.ts";
import {
  EVENT_KIND,
  type ExecutorEvent,
  type ExecutorInstruction,
  SimulatedTime,
  type VirtualExecutorOptions,
  virtualExecutor,
} from "./index.ts";

function world(options: Partial<VirtualExecutorOptions> = {}, answer: (event: ExecutorEvent) => void = () => {}) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, ...options });
  const log: string[] = [];
  executor.open({
    cluster,
    deliver(event) {
      log.push(`${time.nowNs()} ${event.type} ${subjectOf(event)}`);
      answer(event);
    },
  });
  executor.execute([register]);
  return { time, executor, log };
}

/** A world whose master activates every transfer at once. */
function eager(options: Partial<VirtualExecutorOptions> = {}) {
  const here = world(options, (event) => {
    if (event.type === "intentsRaised")
      here.executor.execute(
        event.transfers.flatMap((transfer) => [recv(transfer, transfer, 10), activateSend(transfer)]),
      );
  });
  return here;
}

function activateSend(transfer: number): ExecutorInstruction {
  return { type: "activateSend", transfer };
}

test("an operator here, a transfer, an operator there", () => {
  const { time, executor, log } = eager({ operatorNs: ({ symbols }) => (symbols["tokens"] ?? 0) * 100 });
  executor.execute([
    { type: "loadWeights", accelerator: 0, name: "w", bytes: 300 },
    issue(1, { workspaceBytes: 5 }),
    issue(2, { accelerator: 1, inputs: [{ tensor: 1, transfer: 1, source: 0 }], symbols: { tokens: 2 } }),
    { type: "release", tensor: 1, accelerator: 0 },
    { type: "release", tensor: 1, accelerator: 1 },
    { type: "release", tensor: 2, accelerator: 1 },
  ]);
  time.run();
  expect(log).toEqual([
    "0 operatorStarted 1",
    "100 intentsRaised 1",
    "100 operatorDone 1",
    "100 recvReady 1",
    "120 transferDone 1",
    "120 operatorStarted 2",
    "320 operatorDone 2",
  ]);
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
  expect(executor.stats()).toMatchObject({
    overCapacityRefused: 0,
    operatorsFailed: 0,
    ignored: 0,
    accelerators: [
      { name: "a0", busyNs: 100, usedHbmBytes: 300, peakHbmBytes: 315, operators: 1, transfersIn: 0, transfersOut: 1 },
      { name: "a1", busyNs: 200, usedHbmBytes: 0, peakHbmBytes: 20, operators: 1, transfersIn: 1, transfersOut: 0 },
      { name: "far", busyNs: 0, peakHbmBytes: 0 },
    ],
  });
});

test("durations are the roofline of declared work and the declared link, unless told otherwise", () => {
  const { time, executor, log } = eager();
  executor.execute([
    issue(1, { symbols: { tokens: 3 } }),
    issue(2, { accelerator: 1, operator: 1, symbols: { tokens: 5 } }),
    issue(3, { accelerator: 1, rank: 1, inputs: [{ tensor: 1, transfer: 1, source: 0 }], symbols: { tokens: 0 } }),
  ]);
  time.run();
  // 3 000 000 FLOPs at 10^12/s; 35 bytes at 10^9/s; 10 ns of latency and 10 bytes at 10^9/s; nothing takes 1 ns.
  expect(log).toContain("3000 operatorDone 1");
  expect(log).toContain("35 operatorDone 2");
  expect(log).toContain("3020 transferDone 1");
  expect(log).toContain("3021 operatorDone 3");
});

test("an operator held back waits for its activation; its ready time counts from when it was ready", () => {
  const { time, executor, log } = world({ operatorNs: () => 10 });
  executor.execute([issue(1, { activated: false }), issue(2)]);
  time.run(5);
  executor.execute([issue(3), { type: "activate", issueNumber: 1 }]);
  time.run();
  expect(log.filter((line) => line.includes("Started"))).toEqual([
    "0 operatorStarted 2",
    "10 operatorStarted 1",
    "20 operatorStarted 3",
  ]);
});

test("a withdrawn operator never runs; one that runs ends normally", () => {
  const { time, executor, log } = world({ operatorNs: () => 10 });
  executor.execute([issue(1), issue(2)]);
  time.run(3);
  executor.execute([
    { type: "withdraw", issueNumber: 1 },
    { type: "withdraw", issueNumber: 2 },
  ]);
  time.run();
  expect(log).toEqual(["0 operatorStarted 1", "3 withdrawn 2", "10 operatorDone 1"]);
  expect(executor.stats().ignored).toBe(0);
});

test("events are never delivered inside another delivery", () => {
  let depth = 0;
  const { time, executor, log } = world({ operatorNs: () => 10 }, (event) => {
    expect(depth).toBe(0);
    depth++;
    if (event.type === "operatorStarted" && event.issueNumber === 1) executor.execute([issue(2, { accelerator: 1 })]);
    depth--;
  });
  executor.execute([issue(1)]);
  expect(log).toEqual(["0 operatorStarted 1", "0 operatorStarted 2"]);
  time.run();
  expect(log).toHaveLength(4);
});

test("a growing alias takes its growth alone", () => {
  const { time, executor } = world({ operatorNs: () => 1 });
  executor.execute([
    issue(1, { outputs: [output(1, 500)] }),
    issue(2, { inputs: [local(1)], outputs: [output(2, 700, 1)] }),
    { type: "release", tensor: 1, accelerator: 0 },
  ]);
  time.run();
  expect(executor.stats().accelerators[0]).toMatchObject({ usedHbmBytes: 700, peakHbmBytes: 700 });
  executor.execute([{ type: "release", tensor: 2, accelerator: 0 }]);
  expect(executor.stats().accelerators[0]?.usedHbmBytes).toBe(0);
});

test("the same seed gives the same durations in whatever order operators run, another seed others", () => {
  const durations = (seed: number, ranks: readonly number[]) => {
    const observed = new Map<number, number>();
    const { time, executor } = world({ seed, operatorNs: () => 1_000_000, operatorCv: 0.01 }, (event) => {
      if (event.type === "operatorDone") observed.set(event.issueNumber, event.observedNs);
    });
    executor.execute(ranks.map((rank, index) => issue(index, { rank, outputs: [] })));
    time.run();
    return ranks.map((_, index) => observed.get(index));
  };
  const forwards = durations(5, [0, 1, 2, 3, 4]);
  expect(durations(5, [4, 3, 2, 1, 0])).toEqual(forwards);
  expect(new Set(forwards).size).toBe(5);
  expect(durations(6, [0, 1, 2, 3, 4])).not.toEqual(forwards);
});

test("an impossible duration fails the operator, tells the driver, and the rest goes on", () => {
  const { time, executor, log } = eager({
    operatorNs: ({ issueNumber }) => (issueNumber === 1 ? Number.NaN : 5),
    transferNs: () => -1,
  });
  expect(() => executor.execute([issue(1), issue(2), issue(3, { accelerator: 1 })])).toThrow(
    expect.objectContaining({ code: "INVALID_DURATION", message: expect.stringMatching(/t\/compute is NaN ns/) }),
  );
  executor.execute([issue(4, { accelerator: 1, inputs: [{ tensor: 2, transfer: 2, source: 0 }] })]);
  expect(() => time.run()).toThrow(expect.objectContaining({ code: "INVALID_DURATION" }));
  time.run();
  expect(log).toEqual([
    "0 operatorStarted 1",
    "0 operatorStarted 3",
    "0 operatorFailed 1",
    "0 operatorStarted 2",
    "5 intentsRaised 2",
    "5 operatorDone 2",
    "5 recvReady 2",
    "5 transferFailed 2",
    "5 operatorDone 3",
  ]);
});

test("a master that throws loses no event; every error comes out", () => {
  const { time, executor, log } = world({ operatorNs: () => 5 }, ({ type }) => {
    if (type === "operatorStarted") throw new RangeError("listener");
  });
  expect(() => executor.execute([issue(1), issue(2, { accelerator: 1 })])).toThrow(AggregateError);
  time.run();
  expect(log).toHaveLength(4);
  expect(() => executor.execute([issue(3)])).toThrow(RangeError);
});

test("time cannot be driven from within a delivery, and nothing is lost by trying", () => {
  const { time, executor, log } = world({ operatorNs: () => 5 }, ({ type }) => {
    if (type === "operatorStarted") time.run();
  });
  expect(() => executor.execute([issue(1)])).toThrow(expect.objectContaining({ code: "REENTRANT" }));
  time.run();
  expect(log).toEqual(["0 operatorStarted 1", "5 operatorDone 1"]);
});

test("nothing is delivered after close, not even what was under way", () => {
  const { time, executor, log } = world({ operatorNs: () => 5 }, (event) => {
    if (event.type === "operatorDone") executor.close();
  });
  executor.execute([issue(1), issue(2), issue(3, { accelerator: 1 })]);
  time.run();
  expect(log).toEqual(["0 operatorStarted 1", "0 operatorStarted 3", "5 operatorDone 1"]);
  expect(time.pending).toBe(0);
  expect(() => executor.execute([])).toThrow(expect.objectContaining({ code: "CLOSED" }));
  expect(executor.leftovers().operators.map(({ issueNumber }) => issueNumber)).toEqual([2, 3]);
  executor.close();
});

test("an outage takes what is there, time does not wait for it, and the accelerator returns empty", () => {
  const { time, executor, log } = eager({
    operatorNs: () => 100,
    outages: [{ accelerator: "a0", lostNs: 130, backNs: 500 }],
  });
  executor.execute([
    { type: "loadWeights", accelerator: 0, name: "w", bytes: 300 },
    issue(1),
    issue(2),
    issue(3, { accelerator: 1, inputs: [{ tensor: 1, transfer: 1, source: 0 }], outputs: [] }),
    issue(4, { accelerator: 1, inputs: [{ tensor: 2, transfer: 2, source: 0 }], outputs: [] }),
  ]);
  time.run();
  expect(log).toEqual([
    "0 operatorStarted 1",
    "100 intentsRaised 1",
    "100 operatorDone 1",
    "100 recvReady 1",
    "100 operatorStarted 2",
    "120 transferDone 1",
    "120 operatorStarted 3",
    "130 acceleratorLost 0",
    "220 operatorDone 3",
    "500 acceleratorReturned 0",
  ]);
  expect(executor.stats()).toMatchObject({
    ignored: 0,
    accelerators: [
      { busyNs: 130, operators: 1, usedHbmBytes: 0, losses: 1, absent: false },
      { busyNs: 100, operators: 1, losses: 0 },
      {},
    ],
  });
  executor.execute([
    { type: "withdraw", issueNumber: 4 },
    { type: "release", tensor: 1, accelerator: 1 },
  ]);
  expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("what ends at the instant of a loss has ended; an application that looks then sees the loss", () => {
  const seen: boolean[] = [];
  const { time, executor, log } = world({ operatorNs: () => 10, outages: [{ accelerator: 0, lostNs: 10 }] });
  time.at(10, { kind: EVENT_KIND.application, number: 0 }, () => {
    seen.push(executor.stats().accelerators[0]?.absent ?? false);
  });
  executor.execute([issue(1), issue(2)]);
  time.run();
  expect(seen).toEqual([true]);
  expect(log).toEqual(["0 operatorStarted 1", "10 operatorDone 1", "10 operatorStarted 2", "10 acceleratorLost 0"]);
  expect([time.nowNs(), time.pending]).toEqual([10, 0]);
});

test("an accelerator can be lost and brought back at any time, also from within a delivery", () => {
  const reasons: string[] = [];
  const { time, executor, log } = world({ operatorNs: () => 10 }, (event) => {
    if (event.type === "operatorStarted" && event.issueNumber === 1) executor.loseAccelerator("a0", "hit by lightning");
    if (event.type === "acceleratorLost") reasons.push(event.reason);
    if (event.type === "acceleratorReturned") executor.execute([issue(3)]);
  });
  executor.execute([issue(1), issue(2, { accelerator: 1 })]);
  time.run(4);
  executor.loseAccelerator(1);
  executor.returnAccelerator("a0");
  executor.returnAccelerator("a0");
  time.run();
  expect(log).toEqual([
    "0 operatorStarted 1",
    "0 operatorStarted 2",
    "0 acceleratorLost 0",
    "4 acceleratorLost 1",
    "4 acceleratorReturned 0",
    "4 operatorStarted 3",
    "14 operatorDone 3",
  ]);
  expect(reasons).toEqual(["hit by lightning", "it was lost by request"]);
  expect(executor.stats()).toMatchObject({ ignored: 1, accelerators: [{ busyNs: 10 }, { busyNs: 4 }, {}] });
  expect(() => executor.loseAccelerator("a9")).toThrow(expect.objectContaining({ code: "UNKNOWN_ACCELERATOR" }));
  executor.close();
  for (const act of [() => executor.loseAccelerator(0), () => executor.returnAccelerator(1)])
    expect(act).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

test("outages to come end with the executor", () => {
  const { time, executor, log } = world({ outages: [{ accelerator: 0, lostNs: 5, backNs: 9 }] });
  time.run(6);
  executor.close();
  time.run();
  expect([log, time.nowNs(), time.pending]).toEqual([["5 acceleratorLost 0"], 6, 0]);
});

test("open comes first, once, and before close", () => {
  const executor = virtualExecutor({ seed: 1 });
  const context = { cluster, deliver: () => {} };
  for (const early of [
    () => executor.execute([]),
    () => executor.stats(),
    () => executor.leftovers(),
    () => executor.loseAccelerator(0),
  ])
    expect(early).toThrow(expect.objectContaining({ code: "NOT_OPEN" }));
  executor.open(context);
  expect(() => executor.open(context)).toThrow(expect.objectContaining({ code: "ALREADY_OPEN" }));
  executor.close();
  expect(() => executor.open(context)).toThrow(expect.objectContaining({ code: "CLOSED" }));
  expect(() => virtualExecutor({ seed: -1 })).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});

test("without a clock of the caller's, time passes by itself", async () => {
  const done = vi.fn();
  const executor = virtualExecutor({ seed: 1 });
  const ended = new Promise<void>((resolve) => {
    executor.open({
      cluster,
      deliver(event) {
        if (event.type !== "operatorDone") return;
        done(event.issueNumber);
        if (event.issueNumber === 2) resolve();
      },
    });
  });
  executor.execute([register, issue(1), issue(2)]);
  await ended;
  expect(done.mock.calls).toEqual([[1], [2]]);
});
