import { ResidencyLedger } from "@slicescheduler/memory";
import fc from "fast-check";
import { expect, test } from "vitest";
import { QueueTwin, type TwinOperator } from "../test/queue-twin.ts";
import { AcceleratorQueue, type IssueInstruction } from "./index.ts";

const pick = fc.nat({ max: 1 << 20 });
const command = fc.oneof(
  {
    weight: 60,
    arbitrary: fc.record({
      type: fc.constant("issue" as const),
      rank: fc.nat({ max: 2 }),
      activated: fc.nat({ max: 3 }).map((one) => one > 0),
      inputs: fc.array(pick, { maxLength: 3 }),
      outputs: fc.array(fc.nat({ max: 60 }), { maxLength: 2 }),
      workspaceBytes: fc.nat({ max: 40 }),
    }),
  },
  { weight: 20, arbitrary: fc.record({ type: fc.constant("expect" as const), bytes: fc.nat({ max: 60 }) }) },
  // It undoes what the others have built up.
  { weight: 3, arbitrary: fc.record({ type: fc.constant("loseEverything" as const) }) },
  {
    weight: 80,
    arbitrary: fc.record({
      type: fc.constantFrom(
        "arrive",
        "activate",
        "rerank",
        "rerank",
        "withdraw",
        "release",
        "hold",
        "end",
        "end",
        "fail",
        "start",
        "start",
        "lose",
      ),
      pick,
    }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** A queue and its twin, given the same commands; picks count modulo what exists. */
class Pair {
  readonly ledger: ResidencyLedger;
  readonly queue: AcceleratorQueue;
  readonly twin: QueueTwin;
  readonly freed: number[] = [];
  /** Activated ones that got another class beside other activated ones. */
  reordered = 0;
  nowNs = 0;
  #tensors = 0;

  constructor(capacityBytes: number) {
    this.ledger = new ResidencyLedger([{ capacityBytes, baselineBytes: 0, granularityBytes: 1 }], {
      onFreed: (tensor) => this.freed.push(tensor),
    });
    this.queue = new AcceleratorQueue(0, this.ledger);
    this.twin = new QueueTwin(capacityBytes);
  }

  run(next: Command): void {
    if (next.type === "issue") this.#issue(next);
    else if (next.type === "expect") this.#expect(next.bytes);
    else if (next.type === "loseEverything") this.#loseEverything();
    else this.#step(next.type, next.pick);
  }

  check(): void {
    this.queue.validate();
    this.ledger.validate();
    const { twin, queue, ledger } = this;
    const operators = Array.from(queue.operators(), ({ instruction, rank, state, readyNs }) => [
      instruction,
      rank,
      state,
      readyNs,
    ]);
    const tensors = [...twin.tensors.keys()].filter((tensor) => ledger.has(tensor, 0));
    // One comparison per step: a comparison costs more than a step.
    expect({
      operators,
      next: queue.next()?.instruction,
      usedBytes: ledger.usedBytes(0),
      tensors,
      present: tensors.filter((tensor) => ledger.isPresent(tensor, 0)),
      isWithin: ledger.peakBytes(0) <= twin.capacityBytes,
      freedTwice: this.freed.length - new Set(this.freed).size,
    }).toEqual({
      operators: twin.queued.map((one) => [one.instruction, one.rank, twin.stateOf(one), one.readyNs]),
      next: twin.next()?.instruction,
      usedBytes: twin.usedBytes(),
      tensors: twin.thatAre(({ state }) => state !== "gone"),
      present: twin.thatAre(({ state }) => state === "present"),
      isWithin: true,
      freedTwice: 0,
    });
  }

  #issue(next: Extract<Command, { type: "issue" }>): void {
    const there = [...this.twin.tensors].filter(([, { state }]) => state !== "gone").map(([tensor]) => tensor);
    const inputs = there.length === 0 ? [] : next.inputs.map((at) => there[at % there.length] ?? 0);
    const instruction: IssueInstruction = {
      type: "issue",
      issueNumber: this.twin.operators.length,
      accelerator: 0,
      instance: 0,
      template: "t",
      operator: 0,
      symbols: {},
      rank: next.rank,
      activated: next.activated,
      inputs: [...new Set(inputs)].map((tensor) => ({ tensor, transfer: null, source: -1 })),
      outputs: next.outputs.map((bytes) => ({ tensor: this.#tensors++, bytes, aliases: null })),
      workspaceBytes: next.workspaceBytes,
    };
    this.queue.issue(instruction, this.nowNs);
    this.twin.issue(instruction, this.nowNs);
  }

  /** A copy that a transfer is to bring. */
  #expect(bytes: number): void {
    const tensor = this.#tensors++;
    this.ledger.expect(tensor, 0);
    this.twin.tensors.set(tensor, { bytes, state: "expected", held: true });
  }

  #loseEverything(): void {
    const { queued } = this.twin;
    const before = this.twin.thatAre(({ state }) => state !== "gone").length + this.freed.length;
    const lost = this.queue.loseEverything(this.nowNs);
    expect(lost.map(({ instruction, state }) => [instruction, state])).toEqual(
      queued.map(({ instruction }) => [instruction, "lost"]),
    );
    this.twin.loseEverything();
    expect(this.freed).toHaveLength(before);
  }

  #step(type: Exclude<Command, { type: "issue" | "expect" | "loseEverything" }>["type"], at: number): void {
    const { twin, queue, nowNs } = this;
    const made = new Set(twin.operators.flatMap(({ instruction }) => instruction.outputs.map(({ tensor }) => tensor)));
    const coming = [...twin.tensors].filter(([tensor, { state }]) => state === "expected" && !made.has(tensor));
    const [tensor, found] = coming[at % Math.max(coming.length, 1)] ?? [-1, undefined];
    const operator: TwinOperator | undefined = twin.queued[at % Math.max(twin.queued.length, 1)];
    if (type === "start") this.#start();
    else if (type === "arrive" && found !== undefined && twin.usedBytes() + found.bytes <= twin.capacityBytes) {
      this.ledger.allocate(tensor, 0, found.bytes);
      this.ledger.markPresent(tensor, 0);
      queue.arrived(tensor, nowNs);
      twin.arrive(tensor, nowNs);
    } else if (type === "lose" && found !== undefined) {
      queue.lose(tensor);
      found.state = "gone";
      for (const { instruction, lost } of twin.queued)
        if (instruction.inputs.some((input) => input.tensor === tensor)) lost.add(tensor);
    } else if ((type === "release" || type === "hold") && twin.tensors.size > 0) {
      const [copy, state] = [...twin.tensors][at % twin.tensors.size] ?? [-1, undefined];
      if (state === undefined || state.state === "gone") return;
      this.ledger[type](copy, 0);
      state.held = type === "hold";
      twin.settle(nowNs);
    } else if (operator !== undefined) this.#operatorStep(type, operator, at);
  }

  #operatorStep(type: string, operator: TwinOperator, at: number): void {
    const { twin, queue, nowNs } = this;
    const { issueNumber } = operator.instruction;
    if (type === "activate") {
      expect(queue.activate(issueNumber, nowNs)).toBe(!operator.activated);
      operator.activated = true;
    } else if (type === "rerank") {
      const rank = at % 3;
      const isChange = operator !== twin.running && operator.rank !== rank;
      const others = twin.queued.filter((one) => twin.stateOf(one) === "activated" && one !== operator);
      if (isChange && twin.stateOf(operator) === "activated" && others.length > 0) this.reordered++;
      expect(queue.rerank(issueNumber, rank)).toBe(isChange);
      if (isChange) operator.rank = rank;
    } else if (type === "withdraw") {
      if (operator === twin.running)
        expect(() => queue.withdraw(issueNumber, nowNs)).toThrow(/cannot become withdrawn/);
      else {
        queue.withdraw(issueNumber, nowNs);
        twin.abort(operator, "withdrawn", nowNs);
      }
    } else if (type === "end" || type === "fail") this.#finish(type, issueNumber);
  }

  #finish(type: "end" | "fail", other: number): void {
    const { twin, queue, nowNs } = this;
    const { running } = twin;
    if (running?.instruction.issueNumber !== other) expect(() => queue[type](other, nowNs)).toThrow(/cannot be/);
    if (running === null) return;
    queue[type](running.instruction.issueNumber, nowNs);
    if (type === "end") twin.end(nowNs);
    else twin.abort(running, "failed", nowNs);
  }

  #start(): void {
    const next = this.twin.next();
    const started = this.queue.start(this.nowNs);
    expect(started?.operator.instruction).toBe(next?.instruction);
    if (next === undefined) return;
    expect(started?.refused === null).toBe(this.twin.start(next, this.nowNs));
  }
}

test("a queue does what a list does that is sorted every time, and never passes the capacity", () => {
  const steps = fc.array(fc.tuple(command, fc.nat({ max: 2 })), { maxLength: 60, size: "max" });
  let started = 0;
  let refused = 0;
  let lost = 0;
  let reranked = 0;
  fc.assert(
    fc.property(steps, fc.constantFrom(120, 400, 100_000), (commands, capacityBytes) => {
      const pair = new Pair(capacityBytes);
      for (const [next, waitNs] of commands) {
        pair.nowNs += waitNs;
        pair.run(next);
        pair.check();
      }
      started += pair.twin.operators.filter(({ ended }) => ended === "done").length;
      refused += pair.twin.operators.filter(({ ended }) => ended === "failed").length;
      reranked += pair.reordered;
      lost += pair.twin.operators.filter(({ ended }) => ended === "lost").length;
    }),
    { numRuns: 120 },
  );
  // The commands reach what they are to test.
  expect(started).toBeGreaterThan(5);
  expect(refused).toBeGreaterThan(2);
  expect(lost).toBeGreaterThan(2);
  expect(reranked).toBeGreaterThan(2);
});
