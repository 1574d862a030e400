import { EventEmitter } from "node:events";
import { defineTemplate } from "@slicescheduler/gmg";
import type { Notices, SliceScheduler } from "slicescheduler";
import { expect, test } from "vitest";
import { RunWatcher } from "./run-watcher.ts";

const cluster = {
  accelerators: ["a", "b"].map((name) => ({ name, kind: "k", hbmBytes: 1000 })),
  defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 },
};

const tensor = { shape: [8], dtype: "uint8" } as const;

const pair = defineTemplate({
  name: "pair",
  symbols: [],
  inputs: { before: [tensor, tensor] },
  operators: [
    { name: "first", inputs: ["before[1]"], outputs: { out: tensor } },
    { name: "second", inputs: ["first.out"], outputs: { out: tensor } },
  ],
  outputs: { both: ["first.out", "second.out"] },
  partitions: [
    { name: "split", accelerators: ["a", "b"], layout: [0, 1] },
    { name: "whole", accelerators: ["b"], layout: [0, 0] },
  ],
});

/** A scheduler that says what it is told to say. */
function watched() {
  const emitter = new EventEmitter();
  const watcher = new RunWatcher(emitter as unknown as SliceScheduler, cluster);
  watcher.registered(pair);
  watcher.submitted(0, { template: "pair" });
  watcher.submitted(1, { template: "pair", inputs: { before: { instance: 0, output: "both" } } });
  const say = (name: keyof Notices, atNs: number, instance: number, operator = 0, accelerator = operator, more = {}) =>
    emitter.emit(name, {
      instance,
      operator,
      accelerator,
      operatorName: operator === 0 ? "first" : "second",
      acceleratorName: cluster.accelerators[accelerator]?.name,
      atNs,
      ...more,
    });
  const run = (instance: number, sinceNs: number) => {
    for (const operator of [0, 1]) {
      const startNs = sinceNs + operator * 10;
      say("operatorIssued", startNs, instance, operator);
      say("operatorStarted", startNs, instance, operator);
      say("operatorDone", startNs + 10, instance, operator, operator, { observedNs: 10 });
    }
    say("instanceDone", sinceNs + 20, instance);
  };
  return { watcher, say, run };
}

test("after a loss what was lost runs again, elsewhere if need be, and what was made before counts", () => {
  const { watcher, say, run } = watched();
  say("operatorIssued", 0, 0);
  say("operatorStarted", 0, 0);
  say("operatorDone", 5, 0, 0, 0, { observedNs: 5 });
  say("operatorIssued", 5, 0, 1, 1);
  say("operatorStarted", 6, 0, 1, 1);
  say("acceleratorLost", 7, 0, 0, 1);
  say("operatorIssued", 8, 0, 1, 1);
  say("operatorStarted", 8, 0, 1, 1);
  say("operatorDone", 9, 0, 1, 1, { observedNs: 1 });
  say("instanceDone", 9, 0);
  run(1, 20);
  watcher.finish();
  // Without a further loss there is no further reason.
  say("operatorIssued", 50, 1);
  expect(watcher.found).toMatchObject([{ kind: "doubled" }, { kind: "broken" }]);
});

test("when messages travel, durations cannot be told from their times", () => {
  const emitter = new EventEmitter();
  const watcher = new RunWatcher(emitter as unknown as SliceScheduler, cluster, { messagesTravel: true });
  watcher.registered(pair);
  watcher.submitted(0, { template: "pair" });
  const notice = { instance: 0, operator: 0, operatorName: "first", accelerator: 0, acceleratorName: "a" };
  for (const [name, atNs] of [
    ["operatorIssued", 0],
    ["operatorStarted", 4],
    ["operatorDone", 5],
  ] as const) {
    emitter.emit(name, { ...notice, atNs, observedNs: 3 });
  }
  expect(watcher.violations).toEqual([]);
});

test("a correct run has no violations", () => {
  const { watcher, run } = watched();
  run(0, 0);
  run(1, 20);
  watcher.finish();
  expect(watcher.outcome(1)).toBe("done");
});

const broken: [string, (world: ReturnType<typeof watched>) => void, RegExp][] = [
  ["an operator issued twice", ({ say }) => [0, 1].map((ns) => say("operatorIssued", ns, 0)), /was issued twice/],
  [
    "an operator started twice",
    ({ say }) => {
      say("operatorIssued", 0, 0);
      say("operatorStarted", 0, 0);
      say("operatorDone", 5, 0, 0, 0, { observedNs: 5 });
      say("operatorStarted", 5, 0);
    },
    /started when it was done/,
  ],
  [
    "an operator before the one it reads from",
    ({ say }) => {
      say("operatorIssued", 0, 0);
      say("operatorIssued", 0, 0, 1);
      say("operatorStarted", 0, 0, 1);
    },
    /second \(1\) of instance 0 started when operator 0 of instance 0 was issued/,
  ],
  [
    "an operator before the tensor of a bundle that it reads",
    ({ say }) => {
      say("operatorIssued", 0, 0);
      say("operatorIssued", 0, 1);
      say("operatorStarted", 0, 1);
    },
    /first \(0\) of instance 1 started when operator 1 of instance 0 was unissued/,
  ],
  [
    "two operators at a time",
    ({ say, watcher }) => {
      watcher.submitted(2, { template: "pair" });
      for (const instance of [0, 2]) say("operatorIssued", 0, instance);
      for (const instance of [0, 2]) say("operatorStarted", 0, instance);
    },
    /of instance 2 started beside operator first \(0\) of instance 0/,
  ],
  [
    "one instance on two partitions",
    ({ say }) => {
      say("operatorIssued", 0, 0, 0, 1);
      say("operatorIssued", 0, 0, 1, 0);
    },
    /was laid on a: no allowed partition/,
  ],
  [
    "a partition that was not allowed",
    ({ say, watcher }) => {
      watcher.submitted(2, { template: "pair", partitions: ["split"] });
      say("operatorIssued", 0, 2, 0, 1);
    },
    /was laid on b: no allowed partition/,
  ],
  [
    "a duration that is not the time between start and end",
    ({ say }) => {
      say("operatorIssued", 0, 0);
      say("operatorStarted", 0, 0);
      say("operatorDone", 5, 0, 0, 0, { observedNs: 6 });
    },
    /ran from 0 to 5 ns and reports 6 ns/,
  ],
  [
    "an instance done before its operators",
    ({ say }) => say("instanceDone", 0, 0),
    /done and 2 of its operators are not/,
  ],
  [
    "two outcomes",
    ({ say }) => {
      say("instanceCancelled", 0, 0);
      say("instanceFailed", 0, 0);
    },
    /instance 0 was cancelled, then failed/,
  ],
  [
    "an issue after the outcome",
    ({ say }) => {
      say("instanceCancelled", 0, 0);
      say("operatorIssued", 0, 0);
    },
    /was issued after the instance was cancelled/,
  ],
  [
    "time that steps back",
    ({ say }) => {
      say("operatorIssued", 5, 0);
      say("operatorStarted", 4, 0);
    },
    /was told of at 4 ns, after 5 ns/,
  ],
  ["an instance nobody submitted", ({ say }) => say("operatorIssued", 0, 9), /was issued and was never submitted/],
  ["an instance without outcome", () => {}, /instance 0 has no outcome/],
  [
    "an operator that runs for ever",
    ({ say }) => {
      say("operatorIssued", 0, 0);
      say("operatorStarted", 0, 0);
      say("instanceCancelled", 0, 0);
    },
    /first \(0\) of instance 0 runs at the end/,
  ],
];

test.each(broken)("tells of %s", (_what, happen, words) => {
  const world = watched();
  happen(world);
  const violated = expect.objectContaining({ code: "INVARIANT_VIOLATED", message: expect.stringMatching(words) });
  expect(() => world.watcher.finish()).toThrow(violated);
});
