import { describe, expect, test } from "vitest";
import type { ExecutorEvent, ExecutorInstruction, VirtualExecutorOptions, VirtualFaults } from "./index.ts";
import { SimulatedTime, virtualExecutor } from "./index.ts";

/** `make` on `a0`, whose 10 bytes `read` on `a1` gets; operators take 100 ns, transfers 20 ns. */
const template = {
  name: "pair",
  symbols: [],
  operators: [
    { name: "make", outputs: { made: { shape: [10], dtype: "uint8" } } },
    { name: "read", inputs: ["make.made"], outputs: { out: { shape: [10], dtype: "uint8" } } },
  ],
  outputs: { out: "read.out" },
  partitions: [{ name: "p", accelerators: ["a0", "a1"], layout: [0, 1] }],
} as const;

const cluster = {
  accelerators: ["a0", "a1"].map((name) => ({ name, kind: "k", hbmBytes: 100 })),
  defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 },
};

function pair(first: number): ExecutorInstruction[] {
  const common = { type: "issue", instance: first / 2, template: "pair", symbols: {}, rank: 0 } as const;
  const output = (tensor: number) => [{ tensor, bytes: 10, aliases: null }];
  return [
    {
      ...common,
      issueNumber: first,
      accelerator: 0,
      operator: 0,
      activated: true,
      inputs: [],
      outputs: output(first),
      workspaceBytes: 0,
    },
    {
      ...common,
      issueNumber: first + 1,
      accelerator: 1,
      operator: 1,
      activated: true,
      inputs: [{ tensor: first, transfer: first / 2, source: 0 }],
      outputs: output(first + 1),
      workspaceBytes: 0,
    },
  ];
}

/** A master that admits every transfer at once; events as `"time type number"`. */
function run(faults: VirtualFaults, options: Partial<VirtualExecutorOptions> = {}, pairs = 1, onto = cluster) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({
    seed: 3,
    time,
    operatorNs: () => 100,
    transferNs: () => 20,
    faults,
    ...options,
  });
  const events: string[] = [];
  const asked = new Set<string>();
  const isNews = (what: string) => asked.size < asked.add(what).size;
  const answer = (event: ExecutorEvent): ExecutorInstruction[] => {
    if (event.type === "intentsRaised") {
      return event.transfers
        .filter((transfer) => isNews(`recv ${transfer}`))
        .map((transfer) => ({
          type: "activateRecv" as const,
          transfer,
          tensor: 2 * transfer,
          source: 0,
          destination: 1,
          bytes: 10,
        }));
    }
    return event.type === "recvReady" && isNews(`send ${event.transfer}`)
      ? [{ type: "activateSend", transfer: event.transfer }]
      : [];
  };
  executor.open({
    cluster: onto,
    deliver: (event) => {
      const number = "issueNumber" in event ? event.issueNumber : "transfer" in event ? event.transfer : "";
      const cause = "cause" in event ? ` ${event.cause}` : "healthy" in event ? ` ${event.healthy}` : "";
      events.push(`${time.nowNs()} ${event.type} ${number}${cause}`.trimEnd());
      executor.execute(answer(event));
    },
  });
  executor.execute([{ type: "registerTemplate", template }]);
  for (let i = 0; i < pairs; i++) executor.execute(pair(2 * i));
  time.run();
  executor.validate();
  return { executor, time, events, counts: executor.faultCounts() };
}

const ALL_WELL = [
  "0 operatorStarted 0",
  "100 intentsRaised",
  "100 operatorDone 0",
  "100 recvReady 0",
  "120 transferDone 0",
  "120 operatorStarted 1",
  "220 operatorDone 1",
];

describe("named points", () => {
  test("nothing goes wrong where nothing is declared", () => {
    const { events, counts } = run({});
    expect(events).toEqual(ALL_WELL);
    expect(counts).toEqual({});
  });

  test("an operator fails after a share of its duration, and leaves nothing", () => {
    const { events, counts, executor } = run({ operator: { numbers: [0], afterShare: 0.25 } });
    expect(events).toEqual(["0 operatorStarted 0", "25 transferCancelled 0", "25 operatorFailed 0 fault"]);
    expect(counts).toEqual({ operator: 1 });
    expect(executor.leftovers().operators).toMatchObject([{ issueNumber: 1, state: "blocked" }]);
  });

  test("an operator does not get its memory", () => {
    const { events, counts } = run({ operatorAllocation: { numbers: [1] } });
    expect(events.slice(-2)).toEqual(["120 operatorStarted 1", "120 operatorFailed 1 outOfMemory"]);
    expect(counts).toEqual({ operatorAllocation: 1 });
  });

  test("a receive buffer is refused once, and the transfer stays an intent", () => {
    const { events, counts, executor, time } = run({ recvAllocation: { numbers: [0] } });
    expect(events.at(-1)).toBe("100 recvFailed 0");
    expect(counts).toEqual({ recvAllocation: 1 });
    executor.execute([{ type: "activateRecv", transfer: 0, tensor: 0, source: 0, destination: 1, bytes: 10 }]);
    time.run();
    expect(events.at(-1)).toBe("220 operatorDone 1");
  });

  test("a transfer fails at its end", () => {
    const { events } = run({ transfer: { every: 1 } });
    expect(events.at(-1)).toBe("120 transferFailed 0");
  });

  test("stragglers and a slow link take longer", () => {
    const { events, counts } = run({
      operatorStraggles: { numbers: [0], factor: 4 },
      transferStraggles: { numbers: [0], factor: 2 },
      slowLinks: [{ source: "a0", destination: "a1", factor: 3, fromNs: 400, untilNs: 401 }],
    });
    expect(events).toContain("400 operatorDone 0");
    expect(events).toContain("520 transferDone 0");
    expect(counts).toEqual({ operatorStraggles: 1, transferStraggles: 1, slowLinks: 1 });
  });

  test("a broken accelerator fails all that starts there, and says so to a probe", () => {
    const { events, executor, time } = run({ broken: [{ accelerator: "a1", fromNs: 50, untilNs: 200 }] });
    expect(events.slice(-2)).toEqual(["120 operatorStarted 1", "120 operatorFailed 1 fault"]);
    executor.execute([{ type: "probe", accelerator: 1, probe: 7 }]);
    time.run(200);
    executor.execute([{ type: "probe", accelerator: 1, probe: 8 }]);
    expect(events.slice(-2)).toEqual(["120 probed  false", "200 probed  true"]);
  });

  test("a hung accelerator ends nothing and answers no probe; given up, it returns empty when it hangs no longer", () => {
    const { events, executor, time } = run({ hung: [{ accelerator: 1, fromNs: 150, untilNs: 900 }] });
    expect(events.at(-1)).toBe("120 operatorStarted 1");
    time.run(160);
    executor.execute([{ type: "probe", accelerator: 1, probe: 0 }]);
    expect(events.at(-1)).toBe("120 operatorStarted 1");
    executor.execute([{ type: "giveUp", accelerator: 1, reason: "silent" }]);
    expect(events.at(-1)).toBe("160 acceleratorLost");
    time.run();
    expect(events.at(-1)).toBe("900 acceleratorReturned");
    expect(executor.stats().accelerators[1]).toMatchObject({ usedHbmBytes: 0, absent: false, losses: 1 });
  });

  test("one that was given up while an outage lasts returns with the outage", () => {
    const outages = [{ accelerator: 1, lostNs: 130, backNs: 700 }];
    const { events, executor } = run({}, { outages });
    expect(events.slice(-2)).toEqual(["130 acceleratorLost", "700 acceleratorReturned"]);
    executor.execute([{ type: "giveUp", accelerator: 1, reason: "by hand" }]);
    executor.loseAccelerator(1);
    expect(executor.stats().accelerators[1]).toMatchObject({ absent: true, losses: 2 });
  });

  test("one can be asked to fail, by number", () => {
    const time = new SimulatedTime();
    const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
    executor.failOperator(0);
    const events: string[] = [];
    executor.open({ cluster, deliver: (event) => events.push(event.type) });
    executor.execute([{ type: "registerTemplate", template }, ...pair(0)]);
    time.run();
    expect(events).toContain("operatorFailed");
  });
});

describe("messages", () => {
  test("are lost, by type and number", () => {
    const { events, counts } = run({ messages: { lost: { operatorDone: { numbers: [0] } } } });
    expect(events).toEqual(ALL_WELL.filter((line) => line !== "100 operatorDone 0"));
    expect(counts).toEqual({ lost: 1 });
  });

  test("come twice", () => {
    const { events } = run({ messages: { doubled: { operatorStarted: { rate: 1 } } } });
    expect(events.filter((line) => line.includes("operatorStarted"))).toHaveLength(4);
  });

  test("that are late hold up those behind them on the same accelerator, and no others", () => {
    const { events, counts } = run({ messages: { late: { operatorStarted: { numbers: [0], nsMax: 1000 } } } });
    const startedNs = Number.parseInt(events.find((line) => line.endsWith("operatorStarted 0")) ?? "", 10);
    expect(startedNs).toBeGreaterThan(100);
    // The end of the operator and the intent wait behind it; nothing of the other accelerator could come before.
    expect(new Set(events.map((line) => line.replace(/^\d+ /, "")))).toEqual(
      new Set(ALL_WELL.map((line) => line.replace(/^\d+ /, ""))),
    );
    expect(events.slice(0, 3).map((line) => Number.parseInt(line, 10))).toEqual([startedNs, startedNs, startedNs]);
    expect(counts).toEqual({ late: 1 });
  });

  test("that are reordered are overtaken", () => {
    const { events } = run({ messages: { reordered: { operatorStarted: { numbers: [0], nsMax: 10_000 } } } });
    expect(events.at(-1)).toMatch(/operatorStarted 0$/);
  });

  test("of an accelerator that is cut off are not heard, but for its loss", () => {
    const outages = [{ accelerator: 1, lostNs: 200 }];
    const { events, counts } = run({ messages: { cut: [{ accelerator: 1, fromNs: 0 }] } }, { outages });
    expect(events).toEqual(["0 operatorStarted 0", "100 intentsRaised", "100 operatorDone 0", "200 acceleratorLost"]);
    expect(counts).toEqual({ cut: 1 });
  });
});

test("the same seed gives the same faults, another one others", () => {
  const faults: VirtualFaults = {
    operator: { rate: 0.3 },
    transfer: { rate: 0.3 },
    messages: { late: { any: { rate: 0.5, nsMax: 50 } }, doubled: { any: { rate: 0.3 } } },
  };
  const events = (seed: number) => run({ ...faults, seed }, {}, 20).events;
  expect(events(1)).toEqual(events(1));
  expect(events(1)).not.toEqual(events(2));
});

test("a rate strikes about as often as it says", () => {
  const ample = { ...cluster, accelerators: cluster.accelerators.map((it) => ({ ...it, hbmBytes: 1e6 })) };
  const { counts } = run({ operatorStraggles: { rate: 0.25, factor: 1 } }, {}, 200, ample);
  // Of 400; the standard deviation is 9.
  expect(counts.operatorStraggles).toBeGreaterThan(60);
  expect(counts.operatorStraggles).toBeLessThan(140);
});

test.each([
  [{ seed: -1 }, "faults.seed is -1"],
  [{ operator: { rate: 1.5 } }, "faults.operator.rate is 1.5"],
  [{ operator: { afterShare: 2 } }, "faults.operator.afterShare is 2"],
  [{ transfer: { every: 0 } }, "faults.transfer.every is 0"],
  [{ operatorStraggles: { factor: 0.5 } }, "faults.operatorStraggles.factor is 0.5"],
  [{ hung: [{ accelerator: 0, fromNs: 5, untilNs: 5 }] }, "faults.hung[0].untilNs is 5"],
  [{ messages: { lost: { any: { rate: Number.NaN } } } }, "faults.messages.lost.any.rate is NaN"],
  [{ messages: { late: { any: { nsMax: 0 } } } }, "faults.messages.late.any.nsMax is 0"],
] as const)("%j is refused", (faults, found) => {
  expect(() => virtualExecutor({ seed: 1, faults })).toThrow(
    expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(found) }),
  );
});

test("an accelerator that the cluster does not have is refused as it opens", () => {
  const executor = virtualExecutor({ seed: 1, faults: { broken: [{ accelerator: "a9", fromNs: 0 }] } });
  expect(() => executor.open({ cluster, deliver: () => {} })).toThrow(
    expect.objectContaining({ code: "UNKNOWN_ACCELERATOR" }),
  );
});
