import { expect, test } from "vitest";
import { drain, newCore } from "../test/drain.ts";
import { cluster, issue, local, output, recv } from "../test/world.ts";
import type { ExecutorCore, ExecutorInstruction, IssueInstruction } from "./index.ts";

const NOTHING = { operators: [], tensors: [], transfers: [] };
const send = (transfer: number): ExecutorInstruction => ({ type: "activateSend", transfer });
const withdraw = (issueNumber: number): ExecutorInstruction => ({ type: "withdraw", issueNumber });
const release = (tensor: number, accelerator: number): ExecutorInstruction => ({
  type: "release",
  tensor,
  accelerator,
});
const weights = (accelerator: number): ExecutorInstruction => ({
  type: "loadWeights",
  accelerator,
  name: "w",
  bytes: 300,
});

/** Reads tensor `tensor` on accelerator 1, to which `transfer` brings it from `source`. */
function consumer(issueNumber: number, tensor: number, transfer: number, changes: Partial<IssueInstruction> = {}) {
  return issue(issueNumber, { accelerator: 1, inputs: [{ tensor, transfer, source: 0 }], ...changes });
}

function give(core: ExecutorCore, instructions: readonly ExecutorInstruction[], nowNs = 0): string[] {
  core.execute(instructions, nowNs);
  return drain(core, nowNs);
}

test("everything on a lost accelerator is gone at once, and its loss comes after the events already in line", () => {
  const freed: string[] = [];
  const core = newCore(cluster, (tensor, accelerator) => freed.push(`${tensor}@${accelerator}`));
  give(core, [
    weights(0),
    issue(1, { workspaceBytes: 5 }),
    issue(2),
    issue(3, { inputs: [local(1)] }),
    issue(4, { accelerator: 1 }),
  ]);
  core.operatorEnded(4, 7);
  expect(core.loseAccelerator(0, 7, "bus error")).toEqual({ operators: [1], transfers: [] });
  expect(core.ledger.usedBytes(0)).toBe(0);
  expect(freed).toEqual(["1@0", "2@0", "3@0"]);
  expect(core.leftovers().operators).toEqual([]);
  expect(core.next(7)).toMatchObject({ event: { type: "operatorDone", issueNumber: 4 } });
  expect(core.next(7)).toEqual({
    type: "deliver",
    event: { type: "acceleratorLost", accelerator: 0, reason: "bus error" },
  });
  expect(drain(core, 7)).toEqual([]);
  expect(core.stats(9).accelerators[0]).toMatchObject({
    busyNs: 7,
    operators: 0,
    peakHbmBytes: 315,
    losses: 1,
    absent: true,
  });
  expect(core.stats(9)).toMatchObject({ ignored: 0, operatorsFailed: 0 });
});

test("completions of what ran there are late: ignored and counted", () => {
  const core = newCore();
  give(core, [issue(1), issue(2, { accelerator: 1 }), consumer(3, 1, 7)]);
  core.operatorEnded(1, 1);
  give(core, [recv(7, 1, 10), send(7), issue(4)], 1);
  expect(core.loseAccelerator(0, 2, "gone")).toEqual({ operators: [4], transfers: [7] });
  core.operatorEnded(4, 3);
  core.operatorFailed(4, 3, "late");
  core.transferEnded(7, 3);
  core.transferFailed(7, 3, "late");
  expect(drain(core, 3)).toEqual(["acceleratorLost 0"]);
  expect(core.stats(3).ignored).toBe(4);
});

test.each(["planned", "intent", "receiving", "sending"])(
  "a transfer from it that is %s leaves nothing at its destination but a consumer that stays blocked",
  (step) => {
    const core = newCore();
    give(core, [issue(1), consumer(2, 1, 7), release(1, 1)]);
    if (step !== "planned") core.operatorEnded(1, 1);
    drain(core, 1);
    if (step === "receiving" || step === "sending") give(core, [recv(7, 1, 10)], 1);
    if (step === "sending") give(core, [send(7)], 1);
    expect(core.leftovers().transfers).toMatchObject([{ state: step }]);
    core.loseAccelerator(0, 2, "gone");
    expect(drain(core, 2)).toEqual(["acceleratorLost 0"]);
    expect(core.ledger.usedBytes(1)).toBe(0);
    expect(core.leftovers()).toMatchObject({
      operators: [{ issueNumber: 2, state: "blocked", missingInputs: 1 }],
      tensors: [{ tensor: 2, producing: true }],
      transfers: [],
    });
    expect(give(core, [withdraw(2)], 3)).toEqual(["withdrawn 2"]);
    expect(core.leftovers()).toEqual(NOTHING);
  },
);

test.each(["planned", "intent", "receiving", "sending"])(
  "a transfer to it that is %s ends its send at the source, which may free the copy there",
  (step) => {
    const core = newCore();
    give(core, [issue(1), consumer(2, 1, 7), release(1, 0)]);
    if (step !== "planned") core.operatorEnded(1, 1);
    drain(core, 1);
    if (step === "receiving" || step === "sending") give(core, [recv(7, 1, 10)], 1);
    if (step === "sending") give(core, [send(7)], 1);
    core.loseAccelerator(1, 2, "gone");
    expect(drain(core, 2)).toEqual(["acceleratorLost 1"]);
    expect(core.ledger.has(1, 0)).toBe(step === "planned");
    core.operatorEnded(1, 3);
    expect(drain(core, 3)).toEqual(step === "planned" ? ["operatorDone 1"] : []);
    expect(core.leftovers()).toEqual(NOTHING);
  },
);

test("copies that were to be made of one on its way are cancelled after the loss", () => {
  const core = newCore();
  const onward = issue(3, { accelerator: 2, inputs: [{ tensor: 1, transfer: 8, source: 1 }] });
  give(core, [issue(1), consumer(2, 1, 7), onward]);
  core.loseAccelerator(0, 1, "gone");
  expect(drain(core, 1)).toEqual(["acceleratorLost 0", "transferCancelled 8"]);
  expect(core.leftovers().operators).toMatchObject([{ issueNumber: 2 }, { issueNumber: 3, state: "blocked" }]);
});

test("a copy that is brought again after the return knows nothing of what was once planned of it", () => {
  const core = newCore();
  const onward = issue(3, { accelerator: 2, inputs: [{ tensor: 1, transfer: 8, source: 1 }] });
  give(core, [issue(1), consumer(2, 1, 7), onward]);
  core.loseAccelerator(1, 1, "gone");
  core.returnAccelerator(1);
  expect(drain(core, 1)).toEqual(["acceleratorLost 1", "acceleratorReturned 1"]);
  give(core, [consumer(4, 1, 9)], 1);
  core.operatorEnded(1, 2);
  drain(core, 2);
  give(core, [recv(9, 1, 10), send(9)], 2);
  core.transferEnded(9, 3);
  expect(drain(core, 3)).toEqual(["transferDone 9", "run 4", "operatorStarted 4"]);
});

test("what arrived from it stays, and work elsewhere goes on", () => {
  const core = newCore();
  give(core, [issue(1), consumer(2, 1, 7)]);
  core.operatorEnded(1, 1);
  give(core, [recv(7, 1, 10), send(7)], 1);
  core.transferEnded(7, 2);
  core.loseAccelerator(0, 2, "gone");
  expect(drain(core, 2)).toEqual(["transferDone 7", "acceleratorLost 0", "run 2", "operatorStarted 2"]);
  core.operatorEnded(2, 5);
  expect(drain(core, 5)).toEqual(["operatorDone 2"]);
});

test("what it was to start is not started any more, while the events of it in line still come", () => {
  const core = newCore();
  core.execute([issue(1), issue(2, { accelerator: 1 })], 0);
  expect(core.next(0)).toMatchObject({ type: "startOperator", instruction: { issueNumber: 1 } });
  core.loseAccelerator(1, 0, "gone");
  expect(drain(core)).toEqual(["operatorStarted 1", "operatorStarted 2", "acceleratorLost 1"]);
});

test("a transfer that was to begin at the instant of a loss does not begin", () => {
  const core = newCore();
  give(core, [issue(1), consumer(2, 1, 7)]);
  core.operatorEnded(1, 1);
  drain(core, 1);
  core.execute([recv(7, 1, 10), send(7)], 1);
  core.loseAccelerator(1, 1, "gone");
  expect(drain(core, 1)).toEqual(["recvReady 7", "acceleratorLost 1"]);
});

test("instructions that concern an absent accelerator are ignored and counted; their numbers are used up", () => {
  const core = newCore();
  give(core, [issue(1), issue(2, { activated: false }), consumer(3, 1, 7)]);
  core.operatorEnded(1, 1);
  drain(core, 1);
  core.loseAccelerator(0, 1, "gone");
  const ignored: ExecutorInstruction[] = [
    issue(4),
    { type: "activate", issueNumber: 2 },
    withdraw(2),
    withdraw(4),
    { type: "hold", tensor: 1, accelerator: 0 },
    release(1, 0),
    weights(0),
    recv(7, 1, 10),
    send(7),
  ];
  expect(give(core, ignored, 2)).toEqual(["acceleratorLost 0"]);
  expect(core.stats(2).ignored).toBe(ignored.length);
  expect(() => core.execute([issue(4, { accelerator: 1 })], 2)).toThrow(
    expect.objectContaining({ code: "ISSUE_ORDER" }),
  );
  // Nonsense is nonsense, wherever it is addressed to.
  expect(() => core.execute([issue(5, { workspaceBytes: -1 })], 2)).toThrow(/workspaceBytes -1/);
  expect(core.leftovers().operators).toMatchObject([{ issueNumber: 3 }]);
  expect(core.ledger.usedBytes(0)).toBe(0);
});

test("an issue elsewhere that wants an input from it fails after its loss is reported", () => {
  const core = newCore();
  give(core, [issue(1)]);
  core.operatorEnded(1, 1);
  drain(core, 1);
  core.loseAccelerator(0, 2, "gone");
  core.execute([consumer(2, 1, 7)], 2);
  expect(core.next(2)).toMatchObject({ event: { type: "acceleratorLost" } });
  const reason = expect.stringMatching(/tensor 1 .* accelerator 0/);
  expect(core.next(2)).toMatchObject({ event: { type: "operatorFailed", issueNumber: 2, cause: "inputLost", reason } });
  expect(drain(core, 2)).toEqual([]);
  expect(core.leftovers()).toEqual(NOTHING);
});

test("it returns empty, without weights, and works again", () => {
  const core = newCore();
  give(core, [weights(0), issue(1, { outputs: [output(1, 600)] })]);
  core.loseAccelerator(0, 3, "gone");
  drain(core, 3);
  core.returnAccelerator(0);
  expect(drain(core, 4)).toEqual(["acceleratorReturned 0"]);
  expect(core.ledger.hasWeights(0, "w")).toBe(false);
  expect(give(core, [weights(0), issue(2, { outputs: [output(2, 700)] })], 4)).toEqual(["run 2", "operatorStarted 2"]);
  core.operatorEnded(2, 9);
  give(core, [release(2, 0)], 9);
  expect(core.leftovers()).toEqual(NOTHING);
  expect(core.stats(9)).toMatchObject({
    ignored: 0,
    accelerators: [{ busyNs: 8, usedHbmBytes: 300, losses: 1, absent: false }, {}, {}],
  });
});

test("until the master hears that it has returned, what it says is meant for the one that was lost", () => {
  const core = newCore();
  give(core, [issue(1)]);
  core.operatorEnded(1, 1);
  core.loseAccelerator(0, 1, "gone");
  core.returnAccelerator(0);
  expect(core.next(1)).toMatchObject({ event: { type: "operatorDone" } });
  core.execute([issue(2), weights(0)], 1);
  expect(core.next(1)).toMatchObject({ event: { type: "acceleratorLost" } });
  core.execute([issue(3)], 1);
  // Lost and back once more: the first return is no news any more.
  core.loseAccelerator(0, 1, "again");
  core.returnAccelerator(0);
  expect(core.next(1)).toMatchObject({ event: { type: "acceleratorReturned" } });
  core.execute([issue(4)], 1);
  expect(core.next(1)).toMatchObject({ event: { type: "acceleratorLost", reason: "again" } });
  expect(core.next(1)).toMatchObject({ event: { type: "acceleratorReturned" } });
  expect([core.stats(1).ignored, core.leftovers()]).toEqual([4, NOTHING]);
  expect(give(core, [issue(5)], 1)).toEqual(["run 5", "operatorStarted 5"]);
});

test("losing what is lost and returning what is there is a repeated message: ignored and counted", () => {
  const core = newCore();
  core.returnAccelerator(1);
  core.loseAccelerator(1, 0, "gone");
  expect(core.loseAccelerator(1, 0, "gone")).toEqual({ operators: [], transfers: [] });
  expect(drain(core)).toEqual(["acceleratorLost 1"]);
  expect(core.stats(0)).toMatchObject({ ignored: 2, accelerators: [{}, { losses: 1 }, {}] });
  for (const nowhere of [3, -1, 0.5])
    for (const act of [() => core.loseAccelerator(nowhere, 0, "gone"), () => core.returnAccelerator(nowhere)])
      expect(act).toThrow(expect.objectContaining({ code: "UNKNOWN_ACCELERATOR" }));
});

test("one that is declared absent takes nothing until it joins", () => {
  const [first, ...others] = cluster.accelerators;
  const core = newCore({
    ...cluster,
    accelerators: first === undefined ? [] : [{ ...first, absent: true }, ...others],
  });
  expect(core.stats(0).accelerators[0]).toMatchObject({ absent: true, losses: 0 });
  expect(give(core, [weights(0), issue(1)])).toEqual([]);
  expect(core.stats(0).ignored).toBe(2);
  core.returnAccelerator(0);
  expect(drain(core)).toEqual(["acceleratorReturned 0"]);
  expect(give(core, [issue(2)])).toEqual(["run 2", "operatorStarted 2"]);
});

test("an operator that was lost with its accelerator was issued in vain", () => {
  const core = newCore();
  give(core, [issue(1, { instance: 5 })]);
  core.loseAccelerator(0, 1, "gone");
  core.execute([issue(2, { instance: 5, accelerator: 1 })], 1);
  expect(core.next(1)).toMatchObject({ event: { type: "acceleratorLost" } });
  expect(core.next(1)).toMatchObject({ type: "startOperator", attempt: 1 });
});
