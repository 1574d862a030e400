import { compileCluster } from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";
import { drain, newCore } from "../test/drain.ts";
import { cluster, issue, local, output, recv, register, template } from "../test/world.ts";
import { ExecutorCore, type ExecutorInstruction } from "./index.ts";

const remote = (tensor: number, transfer: number) => ({ tensor, transfer, source: 0 });
const consumer = (issueNumber: number, tensor: number, transfer: number) =>
  issue(issueNumber, { accelerator: 1, inputs: [remote(tensor, transfer)] });
const withdraw = (issueNumber: number): ExecutorInstruction => ({ type: "withdraw", issueNumber });
const send = (transfer: number): ExecutorInstruction => ({ type: "activateSend", transfer });

test("an operator's end raises its intents before it is reported, and what the master answers goes before the next start", () => {
  const core = newCore();
  core.execute([issue(1), issue(2), consumer(3, 1, 7), issue(4, { accelerator: 1, outputs: [output(4, 900)] })], 0);
  expect(drain(core)).toEqual(["run 1", "operatorStarted 1", "run 4", "operatorStarted 4"]);
  core.operatorEnded(1, 5);
  expect(core.next(5)).toMatchObject({ event: { type: "intentsRaised", transfers: [7] } });
  core.execute([recv(7, 1, 10), issue(5, { outputs: [] }), withdraw(2)], 5);
  expect(drain(core, 5)).toEqual(["operatorDone 1", "recvReady 7", "withdrawn 2", "run 5", "operatorStarted 5"]);
  core.execute([send(7)], 6);
  expect(drain(core, 6)).toEqual(["move 7"]);
  core.transferEnded(7, 9);
  core.operatorEnded(4, 9);
  expect(drain(core, 9)).toEqual(["transferDone 7", "operatorDone 4", "run 3", "operatorStarted 3"]);
});

test("all intents of a batch come at once, in the order of their numbers, before anything starts", () => {
  const core = newCore();
  core.execute([issue(1), issue(2)], 0);
  drain(core);
  core.operatorEnded(1, 1);
  drain(core, 1);
  core.operatorEnded(2, 2);
  drain(core, 2);
  core.execute([consumer(3, 2, 8), consumer(4, 1, 9), issue(5)], 2);
  expect(drain(core, 2)).toEqual(["intentsRaised 8,9", "run 5", "operatorStarted 5"]);
});

test("onTaken hears of what was carried out or ignored, in order, and not of what was refused", () => {
  const taken: string[] = [];
  const core = new ExecutorCore(compileCluster(cluster), { onTaken: ({ type }) => taken.push(type) });
  core.execute([register], 0);
  const late: ExecutorInstruction = { type: "activate", issueNumber: 1 };
  const wrong: ExecutorInstruction = { type: "rerank", issueNumber: 99, rank: 0 };
  expect(() => core.execute([issue(1), withdraw(1), late, wrong, issue(2)], 0)).toThrow(/99/);
  expect(taken).toEqual(["registerTemplate", "issue", "withdraw", "activate"]);
});

test("frees what is released before the completion is reported", () => {
  const core = newCore();
  core.execute(
    [issue(1), issue(2, { inputs: [local(1)], outputs: [] }), { type: "release", tensor: 1, accelerator: 0 }],
    0,
  );
  drain(core);
  core.operatorEnded(1, 1);
  drain(core, 1);
  expect(core.ledger.usedBytes(0)).toBe(10);
  core.operatorEnded(2, 2);
  expect(core.ledger.usedBytes(0)).toBe(0);
  expect(drain(core, 2)).toEqual(["operatorDone 2"]);
});

test("a copy that is there, or still expected, is held again; one that has gone is not, and that is counted", () => {
  const core = newCore();
  const release: ExecutorInstruction = { type: "release", tensor: 1, accelerator: 0 };
  const hold: ExecutorInstruction = { type: "hold", tensor: 1, accelerator: 0 };
  core.execute([issue(1), release, hold, issue(2, { inputs: [local(1)], outputs: [] }), release], 0);
  drain(core);
  core.operatorEnded(1, 1);
  core.execute([hold, hold], 1);
  drain(core, 1);
  core.operatorEnded(2, 2);
  drain(core, 2);
  expect(core.ledger.isHeld(1, 0)).toBe(true);
  expect(core.stats(2).ignored).toBe(0);
  core.execute([release, hold, { type: "hold", tensor: 1, accelerator: 1 }], 3);
  expect([core.ledger.has(1, 0), core.ledger.has(1, 1), core.stats(3).ignored]).toEqual([false, false, 2]);
  expect(drain(core, 3)).toEqual([]);
});

test("two consumers share a transfer; withdrawing both ends it while it is planned, and not later", () => {
  for (const isIntent of [false, true]) {
    const core = newCore();
    core.execute([issue(1), consumer(2, 1, 7), consumer(3, 1, 7)], 0);
    drain(core);
    if (isIntent) core.operatorEnded(1, 1);
    drain(core, 1);
    core.execute([withdraw(2)], 2);
    expect(drain(core, 2)).toEqual(["withdrawn 2"]);
    core.execute([withdraw(3)], 2);
    expect(drain(core, 2)).toEqual(isIntent ? ["withdrawn 3"] : ["transferCancelled 7", "withdrawn 3"]);
    expect(core.ledger.has(1, 1)).toBe(isIntent);
  }
});

/** Transfer 7 has its receive buffer on accelerator 1, and nothing but its pending send keeps what it moves on accelerator 0. */
function withRecvBuffer() {
  const core = newCore();
  core.execute([issue(1), consumer(2, 1, 7)], 0);
  drain(core);
  core.operatorEnded(1, 1);
  core.execute([recv(7, 1, 10), { type: "release", tensor: 1, accelerator: 0 }], 1);
  drain(core, 1);
  return core;
}

test("a transfer that has its receive buffer can be given up: buffer and pending send end, and what comes late is ignored", () => {
  const core = withRecvBuffer();
  core.execute([{ type: "cancelTransfer", transfer: 7 }], 2);
  expect(drain(core, 2)).toEqual(["transferCancelled 7"]);
  expect([core.ledger.has(1, 0), core.ledger.has(1, 1)]).toEqual([false, false]);
  core.execute([send(7), { type: "cancelTransfer", transfer: 7 }, withdraw(2)], 3);
  expect(drain(core, 3)).toEqual(["withdrawn 2"]);
  expect(core.stats(3).ignored).toBe(2);
  expect(core.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("a transfer whose data move cannot be given up", () => {
  const core = withRecvBuffer();
  core.execute([send(7), { type: "cancelTransfer", transfer: 7 }], 2);
  expect(drain(core, 2)).toEqual(["move 7"]);
  expect(core.stats(2).ignored).toBe(1);
  core.transferEnded(7, 9);
  expect(drain(core, 9)).toEqual(["transferDone 7", "run 2", "operatorStarted 2"]);
});

test("a failed producer takes along the transfers of its outputs; consumers stay blocked until they are withdrawn", () => {
  const core = newCore();
  core.execute([issue(1), consumer(2, 1, 7), issue(3, { inputs: [local(1)] })], 0);
  drain(core);
  core.operatorFailed(1, 3, "device fault");
  expect(drain(core, 3)).toEqual(["transferCancelled 7", "operatorFailed 1"]);
  expect(core.leftovers().operators).toMatchObject([
    { issueNumber: 3, state: "blocked", missingInputs: 1 },
    { issueNumber: 2, state: "blocked", missingInputs: 1 },
  ]);
  core.execute([withdraw(2), withdraw(3)], 4);
  drain(core, 4);
  expect(core.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("a failed transfer frees its buffer and leaves its consumers blocked", () => {
  const core = newCore();
  core.execute([issue(1), consumer(2, 1, 7)], 0);
  drain(core);
  core.operatorEnded(1, 1);
  core.execute([recv(7, 1, 10), send(7)], 1);
  drain(core, 1);
  core.transferFailed(7, 4, "cable pulled");
  expect(drain(core, 4)).toEqual(["transferFailed 7"]);
  expect(core.ledger.usedBytes(1)).toBe(0);
  expect(core.ledger.reasons(1, 0)).toMatchObject({ sends: 0 });
  expect(core.leftovers().operators).toMatchObject([{ issueNumber: 2, state: "blocked" }]);
});

test("a copy that arrives can be sent on, and one that is lost takes along what was to be made of it", () => {
  for (const isLost of [false, true]) {
    const core = newCore();
    const onward = issue(3, { accelerator: 2, inputs: [{ tensor: 1, transfer: 8, source: 1 }] });
    core.execute([issue(1), consumer(2, 1, 7), onward], 0);
    drain(core);
    if (isLost) core.operatorFailed(1, 1, "fault");
    else core.operatorEnded(1, 1);
    if (!isLost) core.execute([recv(7, 1, 10), send(7)], 1);
    const first = drain(core, 1);
    core.transferEnded(7, 2);
    if (isLost) {
      expect(first).toEqual(["transferCancelled 8", "transferCancelled 7", "operatorFailed 1"]);
      expect(core.leftovers().tensors.map(({ tensor }) => tensor)).toEqual([2, 3]);
    } else {
      expect(drain(core, 2)).toEqual(["transferDone 7", "intentsRaised 8", "run 2", "operatorStarted 2"]);
    }
    expect(core.leftovers().transfers).toHaveLength(isLost ? 0 : 1);
  }
});

test("a receive buffer that does not fit is refused with numbers and can be asked for again", () => {
  const core = newCore();
  core.execute([issue(1), consumer(2, 1, 7), issue(3, { accelerator: 1, outputs: [output(3, 995)] })], 0);
  drain(core);
  core.operatorEnded(1, 1);
  drain(core, 1);
  core.execute([recv(7, 1, 10)], 1);
  expect(core.next(1)).toMatchObject({ event: { type: "recvFailed", reason: expect.stringMatching(/995 of 1000/) } });
  expect(core.stats(1)).toMatchObject({ overCapacityRefused: 1 });
  core.operatorEnded(3, 2);
  core.execute([{ type: "release", tensor: 3, accelerator: 1 }, recv(7, 1, 10)], 2);
  expect(drain(core, 2)).toEqual(["operatorDone 3", "recvReady 7"]);
});

test("an operator that does not fit fails with numbers, and the next one has its turn", () => {
  const core = newCore();
  core.execute(
    [issue(1, { outputs: [output(1, 600), output(9, 600)] }), issue(2, { workspaceBytes: 1001 }), issue(3)],
    0,
  );
  const failures: unknown[] = [];
  for (let action = core.next(0); action !== undefined; action = core.next(0))
    if (action.type === "deliver" && action.event.type === "operatorFailed") failures.push(action.event);
  expect(failures).toMatchObject([
    { cause: "outOfMemory", reason: expect.stringMatching(/600 of 1000/) },
    { cause: "outOfMemory", reason: expect.stringMatching(/1001 bytes/) },
  ]);
  expect(core.stats(0)).toMatchObject({ overCapacityRefused: 2, operatorsFailed: 2 });
  expect(core.ledger.usedBytes(0)).toBe(10);
  expect(core.stats(4).accelerators[0]).toMatchObject({ busyNs: 4, operators: 0, peakHbmBytes: 600 });
});

test("an input that timing has taken away fails the operator instead of throwing", () => {
  const core = newCore();
  core.execute([issue(1)], 0);
  drain(core);
  core.operatorFailed(1, 1, "fault");
  core.execute([issue(2, { inputs: [local(1)] }), consumer(3, 1, 7)], 1);
  const events = [core.next(1), core.next(1), core.next(1)];
  expect(events).toMatchObject([
    { event: { type: "operatorFailed", issueNumber: 1, cause: "fault", reason: "fault" } },
    {
      event: { type: "operatorFailed", issueNumber: 2, cause: "inputLost", reason: expect.stringMatching(/tensor 1/) },
    },
    { event: { type: "operatorFailed", issueNumber: 3, cause: "inputLost" } },
  ]);
  expect(drain(core, 1)).toEqual([]);
  expect(core.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
});

test("attempts count what was issued in vain, and begin again when the operator is done", () => {
  const core = newCore();
  const again = (issueNumber: number) => issue(issueNumber, { instance: 5 });
  const attemptOf = () => {
    const action = core.next(0);
    core.next(0);
    return action?.type === "startOperator" ? action.attempt : -1;
  };
  core.execute([issue(1, { instance: 5, activated: false }), withdraw(1)], 0);
  drain(core);
  core.execute([again(2)], 0);
  expect(attemptOf()).toBe(1);
  core.operatorFailed(2, 0, "fault");
  drain(core);
  core.execute([again(3)], 0);
  expect(attemptOf()).toBe(2);
  core.operatorEnded(3, 0);
  drain(core);
  core.execute([again(4)], 0);
  expect(attemptOf()).toBe(0);
});

test("an operator that has not started gets another class, whatever its state, and runs in that order", () => {
  const rerank = (issueNumber: number, rank: number): ExecutorInstruction => ({ type: "rerank", issueNumber, rank });
  const core = newCore();
  const held = issue(5, { rank: 3, activated: false });
  core.execute(
    [issue(1), issue(2, { rank: 2 }), issue(3, { rank: 1 }), issue(4, { rank: 2, inputs: [local(1)] }), held],
    0,
  );
  expect(drain(core)).toEqual(["run 1", "operatorStarted 1"]);
  core.execute([rerank(5, 0), rerank(4, 1), rerank(2, 0)], 1);
  expect(drain(core, 1)).toEqual([]);
  core.operatorEnded(1, 2);
  // In one class the one that was ready first comes first, whenever it got into that class.
  core.execute([{ type: "activate", issueNumber: 5 }], 2);
  expect(drain(core, 2)).toEqual(["operatorDone 1", "run 2", "operatorStarted 2"]);
  expect(core.stats(2).ignored).toBe(0);
  core.execute([rerank(2, 4), rerank(1, 4), rerank(5, 0)], 3);
  expect(core.stats(3).ignored).toBe(3);
  const order: string[] = [];
  for (const running of [2, 5, 3, 4]) {
    core.operatorEnded(running, 3 + running);
    order.push(...drain(core, 3 + running).filter((word) => word.startsWith("run")));
  }
  expect(order).toEqual(["run 5", "run 3", "run 4"]);
  const none = { operators: [], transfers: [] };
  expect(core.leftovers()).toMatchObject(none);
});

test("a class that changes in the batch that issues counts before anything starts", () => {
  const core = newCore();
  core.execute([issue(1, { rank: 1 }), issue(2, { rank: 1 }), { type: "rerank", issueNumber: 2, rank: 0 }], 0);
  expect(drain(core)).toEqual(["run 2", "operatorStarted 2"]);
});

test("late and duplicate messages change nothing and are counted", () => {
  const core = newCore();
  core.execute([issue(1), consumer(2, 1, 7)], 0);
  drain(core);
  core.operatorEnded(1, 1);
  core.execute([recv(7, 1, 10), send(7)], 1);
  drain(core, 1);
  core.transferEnded(7, 2);
  drain(core, 2);
  const late: ExecutorInstruction[] = [
    withdraw(1),
    { type: "activate", issueNumber: 1 },
    { type: "activate", issueNumber: 2 },
    { type: "rerank", issueNumber: 1, rank: 3 },
    { type: "rerank", issueNumber: 2, rank: 3 },
    recv(7, 1, 10),
    send(7),
    { type: "release", tensor: 99, accelerator: 0 },
  ];
  core.execute(late, 2);
  core.operatorEnded(1, 2);
  core.operatorFailed(1, 2, "late");
  core.transferEnded(7, 2);
  core.transferFailed(7, 2, "late");
  expect(drain(core, 2)).toEqual([]);
  expect(core.stats(2).ignored).toBe(12);
  core.execute([withdraw(2)], 2);
  expect(drain(core, 2)).toEqual([]);
  core.operatorEnded(2, 3);
  expect(drain(core, 3)).toEqual(["operatorDone 2"]);
});

describe("instructions that no correct master gives", () => {
  const refused: [string, ExecutorInstruction, string][] = [
    ["a template that is not registered", issue(5, { template: "nosuch" }), "UNKNOWN_TEMPLATE"],
    ["an operator the template lacks", issue(5, { operator: 2 }), "INVALID_INSTRUCTION"],
    ["an accelerator the cluster lacks", issue(5, { accelerator: 3 }), "UNKNOWN_ACCELERATOR"],
    ["an issue number that does not rise", issue(2), "ISSUE_ORDER"],
    ["bytes that are not whole", issue(5, { outputs: [output(5, 1.5)] }), "INVALID_INSTRUCTION"],
    ["a negative workspace", issue(5, { workspaceBytes: -1 }), "INVALID_INSTRUCTION"],
    ["an input twice", issue(5, { inputs: [local(1), local(1)] }), "INVALID_INSTRUCTION"],
    ["an output twice", issue(5, { outputs: [output(5, 1), output(5, 1)] }), "INVALID_INSTRUCTION"],
    ["an output that is there", issue(5, { outputs: [output(1, 1)] }), "DUPLICATE_OUTPUT"],
    ["an alias of what it does not read", issue(5, { outputs: [output(5, 1, 1)] }), "INVALID_INSTRUCTION"],
    ["a transfer to itself", issue(5, { inputs: [remote(1, 8)] }), "INVALID_INSTRUCTION"],
    ["a way that does not exist", issue(5, { accelerator: 2, inputs: [remote(1, 8)] }), "INVALID_INSTRUCTION"],
    ["the number of another transfer", consumer(5, 2, 7), "INVALID_INSTRUCTION"],
    ["a withdrawal of what was never issued", withdraw(9), "UNKNOWN_ISSUE"],
    ["an activation of what was never issued", { type: "activate", issueNumber: 9 }, "UNKNOWN_ISSUE"],
    ["another class of what was never issued", { type: "rerank", issueNumber: 9, rank: 0 }, "UNKNOWN_ISSUE"],
    ["a class that is no number", { type: "rerank", issueNumber: 2, rank: -1 }, "INVALID_INSTRUCTION"],
    ["a receive that nobody planned", recv(9, 1, 10), "UNKNOWN_TRANSFER"],
    ["a receive of another tensor", recv(7, 2, 10), "INVALID_INSTRUCTION"],
    ["a receive of another size", recv(7, 1, 11), "INVALID_INSTRUCTION"],
    ["a send before its receive", send(7), "ILLEGAL_MOVE"],
    ["weights over the capacity", { type: "loadWeights", accelerator: 0, name: "w", bytes: 1001 }, "OVER_CAPACITY"],
    ["a hold nowhere", { type: "hold", tensor: 1, accelerator: 7 }, "UNKNOWN_ACCELERATOR"],
    ["a hold of no tensor", { type: "hold", tensor: -1, accelerator: 0 }, "INVALID_INSTRUCTION"],
    ["a release nowhere", { type: "release", tensor: 1, accelerator: 7 }, "UNKNOWN_ACCELERATOR"],
    [
      "another template of the same name",
      { type: "registerTemplate", template: { ...template, symbols: ["tokens", "more"] } },
      "TEMPLATE_CONFLICT",
    ],
    ["a word it does not know", { type: "explode" } as never, "INVALID_INSTRUCTION"],
  ];

  test.each(refused)("%s", (_, instruction, code) => {
    const core = newCore();
    core.execute([issue(1), issue(2), consumer(3, 1, 7)], 0);
    drain(core);
    core.operatorEnded(1, 1);
    drain(core, 1);
    const before = JSON.stringify([core.leftovers(), core.ledger.save()]);
    expect(() => core.execute([instruction], 1)).toThrow(expect.objectContaining({ name: "ExecutorError", code }));
    expect(drain(core, 1)).toEqual([]);
    expect(JSON.stringify([core.leftovers(), core.ledger.save()])).toBe(before);
  });

  test("those before it in the batch stay carried out", () => {
    const core = newCore();
    expect(() => core.execute([issue(1), withdraw(9)], 0)).toThrow(/issue 9 was never given/);
    expect(drain(core)).toEqual(["run 1", "operatorStarted 1"]);
  });

  test("an illegal move tells the whole life of what it concerns", () => {
    const core = newCore();
    core.execute([issue(1), consumer(2, 1, 7)], 0);
    drain(core);
    expect(() => core.execute([recv(7, 1, 10)], 4)).toThrow(
      /transfer 7 of tensor 1 from accelerator 0 to 1 cannot become receiving at 4 ns, it is planned \(history: planned at 0 ns\)/,
    );
  });

  test("the same template again is welcome", () => {
    const core = newCore();
    core.execute([register], 1);
    expect(core.template("t").operators).toHaveLength(2);
  });
});
