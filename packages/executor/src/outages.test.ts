import { compileCluster } from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";
import { cluster, issue, register } from "../test/world.ts";
import { type ExecutorEvent, type Outage, SimulatedTime, virtualExecutor } from "./index.ts";
import { changesOf } from "./outages.ts";

const context = { cluster, deliver: () => {} };
const [first, ...others] = cluster.accelerators;
const joining = { ...cluster, accelerators: first === undefined ? [] : [{ ...first, absent: true }, ...others] };

describe("outages that make no sense are refused before anything happens", () => {
  const atConstruction: [string, Outage, RegExp][] = [
    ["a fraction", { accelerator: 0, lostNs: 0.5 }, /outages\[0\]\.lostNs is 0\.5; give whole nanoseconds/],
    ["a negative time", { accelerator: 0, lostNs: -1 }, /lostNs is -1/],
    ["not a number", { accelerator: 0, lostNs: 0, backNs: Number.NaN }, /backNs is NaN/],
    ["no length", { accelerator: 0, lostNs: 5, backNs: 5 }, /back at 5 ns, not after it is lost at 5 ns/],
  ];
  test.each(atConstruction)("%s, at construction", (_, outage, message) => {
    const make = () => virtualExecutor({ seed: 1, outages: [outage] });
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) }));
  });

  const atOpening: [string, readonly Outage[], string, RegExp][] = [
    ["a name the cluster lacks", [{ accelerator: "a9", lostNs: 1 }], "UNKNOWN_ACCELERATOR", /"a9" .* a0, a1, far/],
    ["an index the cluster lacks", [{ accelerator: 3, lostNs: 1 }], "UNKNOWN_ACCELERATOR", /accelerator 3/],
    [
      "an overlap",
      [
        { accelerator: "a1", lostNs: 8 },
        { accelerator: 1, lostNs: 1, backNs: 9 },
      ],
      "INVALID_OPTION",
      /outage of a1 from 8 to ∞ ns: before 9 ns/,
    ],
    [
      "a second outage after one that never ends",
      [
        { accelerator: 0, lostNs: 1 },
        { accelerator: 0, lostNs: 2, backNs: 3 },
      ],
      "INVALID_OPTION",
      /outage of a0 from 2 to 3 ns/,
    ],
  ];
  test.each(atOpening)("%s, at opening, which can be tried again", (_, outages, code, message) => {
    const time = new SimulatedTime();
    const executor = virtualExecutor({ seed: 1, outages, time });
    for (let attempt = 0; attempt < 2; attempt++)
      expect(() => executor.open(context)).toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(message) }),
      );
    expect(time.pending).toBe(0);
  });

  test("one that begins before the run does", () => {
    const time = new SimulatedTime();
    time.run(10);
    const open =
      (outage: Outage, spec = cluster) =>
      () =>
        virtualExecutor({ seed: 1, time, outages: [outage] }).open({ ...context, cluster: spec });
    expect(open({ accelerator: 0, lostNs: 9 })).toThrow(/before 10 ns the run had not begun/);
    expect(open({ accelerator: 0, lostNs: 10 })).not.toThrow();
    expect(open({ accelerator: 0, lostNs: 0, backNs: 9 }, joining)).toThrow(/before 10 ns/);
    expect(open({ accelerator: 0, lostNs: 0, backNs: 10 }, joining)).not.toThrow();
    expect(open({ accelerator: 0, lostNs: 1, backNs: 20 }, joining)).toThrow(/absent at first.* begins at 1 ns/);
  });
});

test("changes come by time, then by accelerator; at the instant of its return one may be lost again", () => {
  const outages: Outage[] = [
    { accelerator: "a1", lostNs: 5, backNs: 8 },
    { accelerator: 0, lostNs: 8 },
    { accelerator: 1, lostNs: 8, backNs: 9 },
    { accelerator: 0, lostNs: 1, backNs: 5 },
  ];
  const changes = changesOf(outages, compileCluster(cluster), 0);
  expect(changes.map(({ atNs, accelerator, isLoss }) => `${atNs} ${isLoss ? "lost" : "back"} ${accelerator}`)).toEqual([
    "1 lost 0",
    "5 back 0",
    "5 lost 1",
    "8 lost 0",
    "8 back 1",
    "8 lost 1",
    "9 back 1",
  ]);
});

test("an accelerator that is absent at first joins when its first outage ends, if it ends", () => {
  const compiled = compileCluster(joining);
  expect(changesOf([{ accelerator: 0, lostNs: 0, backNs: 7 }], compiled, 0)).toEqual([
    { atNs: 7, accelerator: 0, isLoss: false },
  ]);
  expect(changesOf([{ accelerator: 0, lostNs: 0 }], compiled, 0)).toEqual([]);
  const log: string[] = [];
  const time = new SimulatedTime();
  const outages = [{ accelerator: "a0", lostNs: 0, backNs: 7 }];
  const executor = virtualExecutor({ seed: 1, time, outages, operatorNs: () => 3 });
  executor.open({
    cluster: joining,
    deliver(event: ExecutorEvent) {
      log.push(`${time.nowNs()} ${event.type}`);
      if (event.type === "acceleratorReturned") executor.execute([issue(2)]);
    },
  });
  executor.execute([register, issue(1)]);
  time.run();
  expect(log).toEqual(["7 acceleratorReturned", "7 operatorStarted", "10 operatorDone"]);
  expect(executor.stats().ignored).toBe(1);
});
