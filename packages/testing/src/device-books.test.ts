import type { Executor, ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { DeviceBooks } from "./device-books.ts";

const cluster = {
  accelerators: ["a", "b"].map((name) => ({ name, kind: "k", hbmBytes: 1000, granularityBytes: 10 })),
  defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 },
};

/** 45 bytes, rounded up to 50, continued in place to 80; 20 bytes of workspace each. */
const growing = defineTemplate({
  name: "growing",
  symbols: [],
  operators: [
    {
      name: "make",
      outputs: { out: { shape: [45], dtype: "uint8" } },
      workspaceBytes: 20,
      weights: { w: 100 },
    },
    {
      name: "grow",
      inputs: ["make.out"],
      outputs: { out: { shape: [80], dtype: "uint8", aliases: "make.out" } },
      workspaceBytes: 20,
    },
    { name: "read", inputs: ["make.out"], outputs: { out: { shape: [5], dtype: "uint8" } } },
  ],
  outputs: { out: "grow.out" },
  partitions: [{ name: "split", accelerators: ["a", "b"], layout: [0, 0, 1] }],
});

/** An executor that says what it is told to say, and whose instructions understate every size. */
function overheard() {
  const books = new DeviceBooks(cluster, [growing]);
  let deliver: (event: ExecutorEvent) => void = () => {};
  const passed: ExecutorInstruction[] = [];
  const executor = books.overhear({
    manifest: { name: "told", simulatedTime: true },
    clock: { nowNs: () => 0, callAt: () => () => {} },
    open: (context) => {
      deliver = (event) => context.deliver(event);
    },
    execute: (instructions) => passed.push(...instructions),
    close: () => {},
  } satisfies Executor);
  const heard: ExecutorEvent[] = [];
  executor.open({ cluster, deliver: (event) => heard.push(event) });
  const issue = (operator: number, accelerator: number, inputs: readonly (readonly [number, number | null])[]) =>
    executor.execute([
      {
        type: "issue",
        issueNumber: operator,
        accelerator,
        instance: 0,
        template: "growing",
        operator,
        symbols: {},
        rank: 0,
        activated: true,
        inputs: inputs.map(([tensor, transfer]) => ({ tensor, transfer, source: 0 })),
        outputs: [{ tensor: operator, bytes: 1, aliases: operator === 1 ? 0 : null }],
        workspaceBytes: 1,
      },
    ]);
  const say = (type: "operatorStarted" | "operatorDone" | "operatorFailed" | "withdrawn", issueNumber: number) =>
    deliver({ type, issueNumber, observedNs: 1, reason: "told so" } as ExecutorEvent);
  const move = (type: "recvReady" | "transferDone" | "transferFailed" | "transferCancelled") =>
    deliver({ type, transfer: 0, observedNs: 1, reason: "told so" } as ExecutorEvent);
  const release = (tensor: number, accelerator: number) => executor.execute([{ type: "release", tensor, accelerator }]);
  const used = () => [books.usedBytes(0), books.usedBytes(1)];
  const tell = (event: ExecutorEvent) => deliver(event);
  return { books, executor, passed, heard, issue, say, move, release, used, tell };
}

test("counts true sizes through the life of tensors that grow, move and go, and passes everything on", () => {
  const { books, executor, passed, heard, issue, say, move, release, used } = overheard();
  executor.execute([{ type: "loadWeights", accelerator: 0, name: "w", bytes: 1 }]);
  expect(used()).toEqual([100, 0]);
  issue(0, 0, []);
  issue(1, 0, [[0, null]]);
  issue(2, 1, [[0, 0]]);
  expect(used()).toEqual([100, 0]);
  say("operatorStarted", 0);
  expect(used()).toEqual([170, 0]);
  say("operatorDone", 0);
  for (const accelerator of [0, 1]) release(0, accelerator);
  expect(used()).toEqual([150, 0]);
  say("operatorStarted", 1);
  move("recvReady");
  expect(used()).toEqual([200, 50]);
  say("operatorDone", 1);
  move("transferDone");
  expect(used()).toEqual([180, 50]);
  release(1, 0);
  say("operatorStarted", 2);
  expect(used()).toEqual([100, 60]);
  release(2, 1);
  say("operatorDone", 2);
  expect(used()).toEqual([books.restingBytes(0), books.restingBytes(1)]);
  expect(books.violations).toEqual([]);
  expect(passed).toHaveLength(8);
  expect(heard).toHaveLength(8);
});

test("what fails, is withdrawn or never arrives leaves nothing behind", () => {
  const { issue, say, move, release, used } = overheard();
  issue(0, 0, []);
  issue(1, 0, [[0, null]]);
  issue(2, 1, [[0, 0]]);
  say("operatorStarted", 0);
  say("operatorDone", 0);
  for (const accelerator of [0, 1]) release(0, accelerator);
  say("operatorStarted", 1);
  say("operatorFailed", 1);
  move("recvReady");
  // The buffer had grown, and one copy in it is still to be sent.
  expect(used()).toEqual([80, 50]);
  move("transferFailed");
  say("withdrawn", 2);
  expect(used()).toEqual([0, 0]);
});

test("a planned transfer that is cancelled is waited for no longer", () => {
  const { issue, say, move, release, used } = overheard();
  issue(0, 0, []);
  issue(2, 1, [[0, 0]]);
  move("transferCancelled");
  say("withdrawn", 2);
  say("operatorStarted", 0);
  release(0, 0);
  say("operatorDone", 0);
  expect(used()).toEqual([0, 0]);
});

test("a device that is lost takes everything along, takes nothing while it is absent and returns empty", () => {
  const { books, executor, issue, say, move, release, used, tell } = overheard();
  executor.execute([{ type: "loadWeights", accelerator: 0, name: "w", bytes: 100 }]);
  issue(0, 0, []);
  issue(2, 1, [[0, 0]]);
  say("operatorStarted", 0);
  say("operatorDone", 0);
  move("recvReady");
  expect(used()).toEqual([150, 50]);
  tell({ type: "acceleratorLost", accelerator: 0, reason: "told so" });
  expect(used()).toEqual([0, 0]);
  executor.execute([{ type: "loadWeights", accelerator: 0, name: "w", bytes: 100 }]);
  say("withdrawn", 2);
  tell({ type: "acceleratorReturned", accelerator: 0 });
  expect(used()).toEqual([0, 0]);
  issue(0, 0, []);
  executor.execute([{ type: "loadWeights", accelerator: 0, name: "w", bytes: 100 }]);
  say("operatorStarted", 0);
  release(0, 0);
  executor.execute([{ type: "hold", tensor: 0, accelerator: 0 }]);
  say("operatorDone", 0);
  expect(used()).toEqual([150, 0]);
  expect(books.violations).toEqual([]);
});

test("an issue whose inputs have gone takes nothing", () => {
  const { issue, say, used } = overheard();
  issue(1, 0, [[0, null]]);
  say("operatorFailed", 1);
  expect(used()).toEqual([0, 0]);
});

test("tells of capacities that are passed and of operators that run twice", () => {
  const { books, executor, issue, say } = overheard();
  expect(books.overCapacity()).toEqual([]);
  executor.execute([{ type: "loadWeights", accelerator: 1, name: "other", bytes: 1001 }]);
  expect(books.overCapacity()).toEqual([
    { kind: "overCapacity", words: "accelerator b has 1010 bytes in use of 1000", amount: 1 },
  ]);
  issue(0, 0, []);
  for (let run = 0; run < 2; run++) say("operatorStarted", 0);
  expect(books.violations).toMatchObject([{ kind: "doubled", words: expect.stringMatching(/make .*started again/) }]);
});
