import type { InstanceNode, OperatorNode } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { of, Playground, u8 } from "./insert.fixture.ts";

/** Reads up to two results of earlier instances, and has one of its own. */
const pass = of([{ inputs: ["x", "y"] }], {
  symbols: ["nx", "ny"],
  inputs: { x: u8("nx"), y: u8("ny") },
  outputs: { o: "op0.o" },
  partitions: ["a", "b"].map((name) => ({ name, accelerators: [name], layout: [0] })),
});

/** A request of class 5, instances in it, and the operator of each. */
class World {
  readonly playground = new Playground();
  readonly graph = this.playground.graph;
  readonly request: number;

  constructor() {
    this.graph.registerTemplate(pass);
    this.request = this.playground.open({ rank: 5 });
  }

  submit(reads: readonly OperatorNode[] = [], more: { rank?: number; deadlineNs?: number } = {}): OperatorNode {
    const names = ["x", "y"].slice(0, reads.length);
    const inputs = Object.fromEntries(
      names.map((name, i) => [name, { instance: reads[i]?.instance.id ?? -1, output: "o" }]),
    );
    const symbols = { nx: reads.length > 0 ? 8 : 0, ny: reads.length > 1 ? 8 : 0 };
    const { operators } = this.playground.submit(this.request, { symbols, inputs, retain: ["o"], ...more });
    return operators[0] as OperatorNode;
  }

  cancel({ instance }: { readonly instance: InstanceNode }): void {
    this.graph.cancel(instance.id, 100);
    this.graph.validate();
  }

  reranks(): string[] {
    return this.graph.takeEffects().reranks.map(({ issueNumber, rank }) => `${issueNumber} → ${rank}`);
  }
}

const ranks = (...operators: readonly OperatorNode[]) => operators.map(({ rank }) => rank);

test("what urgent work depends on is as urgent, along a chain, and nothing else is", () => {
  const world = new World();
  const first = world.submit();
  const other = world.submit();
  const second = world.submit([first]);
  const beside = world.submit([first]);
  const urgent = world.submit([second], { rank: 1 });
  expect(ranks(first, second, urgent, beside, other)).toEqual([1, 1, 1, 5, 5]);
  expect([...world.graph.unscheduledFrontier]).toEqual([first, other]);
  world.cancel(urgent);
  expect(ranks(first, second, beside, other)).toEqual([5, 5, 5, 5]);
  world.playground.run();
  expect(world.graph.counts().issuedOperators).toBe(0);
});

test("two dependents of different urgency, across a diamond: it falls to the one that is left", () => {
  const world = new World();
  const root = world.submit();
  const sides = [world.submit([root]), world.submit([root])];
  const [left, right] = sides as [OperatorNode, OperatorNode];
  const two = world.submit(sides, { rank: 2 });
  const zero = world.submit([left], { rank: 0 });
  expect(ranks(root, left, right)).toEqual([0, 0, 2]);
  world.cancel(zero);
  expect(ranks(root, left, right)).toEqual([2, 2, 2]);
  world.cancel(two);
  expect(ranks(root, left, right)).toEqual([5, 5, 5]);
});

test("a less urgent instance makes nothing less urgent, and gets nothing of what it reads", () => {
  const world = new World();
  const first = world.submit([], { rank: 1 });
  const later = world.submit([first], { rank: 7 });
  expect(ranks(first, later)).toEqual([1, 7]);
});

test("in a class the earliest deadline of those that gave it the class counts", () => {
  const world = new World();
  const first = world.submit([], { deadlineNs: 10 });
  const second = world.submit([], { deadlineNs: 40 });
  const urgent = world.submit([second], { rank: 1, deadlineNs: 90 });
  const sooner = world.submit([second], { rank: 1, deadlineNs: 70 });
  expect([first, second].map(({ rank, deadlineNs }) => [rank, deadlineNs])).toEqual([
    [5, 10],
    [1, 70],
  ]);
  world.cancel(sooner);
  expect(second.deadlineNs).toBe(90);
  world.cancel(urgent);
  expect(second.deadlineNs).toBe(40);
  world.submit([second], { deadlineNs: 5 });
  expect([...world.graph.unscheduledFrontier]).toEqual([second, first]);
});

test("executors are told of what they have and have not started, and of nothing else", () => {
  const world = new World();
  const { graph, playground } = world;
  const [done, running, waiting, back] = [world.submit(), world.submit(), world.submit(), world.submit()];
  playground.run(1);
  for (const operator of [running, waiting, back]) playground.issue(operator);
  playground.start(running);
  graph.recall(back);
  graph.takeEffects();
  const urgent = world.submit([running, waiting], { rank: 3 });
  expect(world.reranks()).toEqual([`${waiting.issueNumber} → 3`]);
  world.submit([done, back], { rank: 2 });
  expect(world.reranks()).toEqual([]);
  expect(ranks(done, running, waiting, back)).toEqual([5, 3, 3, 2]);
  expect([2, 3, 5].map((rank) => graph.issuedOfRank(rank))).toEqual([1, 2, 0]);
  world.cancel(urgent);
  expect(world.reranks()).toEqual([`${waiting.issueNumber} → 5`]);
  graph.operatorWithdrawn(back, 200);
  expect(playground.issue(back)).toBe(true);
  expect(back.rank).toBe(2);
});

test("a transfer follows who waits for it until it is selected, and then keeps what it had", () => {
  const world = new World();
  const { graph, playground } = world;
  const split = of([{}, { inputs: ["op0.o"] }], {
    name: "split",
    outputs: { o: "op1.o" },
    partitions: [{ name: "ab", accelerators: ["a", "b"], layout: [0, 1] }],
  });
  graph.registerTemplate(split);
  graph.registerTemplate({ ...pass, name: "after", partitions: [{ name: "ab", accelerators: ["b"], layout: [0] }] });
  const request = playground.open({ rank: 5 });
  const base = playground.submit(request, { template: "split", retain: ["o"] });
  for (const operator of base.operators) playground.issue(operator);
  const [transfer] = graph.transfers();
  expect(transfer?.rank).toBe(5);
  const inputs = { x: { instance: base.id, output: "o" } };
  const reader = { template: "after", symbols: { nx: 8, ny: 0 }, inputs, rank: 1 };
  const urgent = playground.submit(request, reader);
  expect(transfer?.rank).toBe(1);
  graph.cancel(urgent.id, 10);
  expect(transfer?.rank).toBe(5);
  if (transfer === undefined) throw new RangeError("there is no transfer");
  graph.transferIntended(transfer, 20);
  graph.takeEffects();
  const again = playground.submit(request, reader);
  expect([transfer.rank, base.operators[1]?.rank]).toEqual([1, 1]);
  expect(graph.takeEffects().transferReranks).toEqual([{ transfer: 0, rank: 1 }]);
  graph.validate();
  transfer.state = "selected";
  graph.cancel(again.id, 30);
  expect([transfer.rank, base.operators[1]?.rank]).toEqual([1, 5]);
  expect(graph.takeEffects().transferReranks).toEqual([]);
  graph.validate();
});

/** A result on `a` that instances on `b` read. */
function acrossAccelerators() {
  const playground = new Playground();
  const { graph } = playground;
  const only = (name: string) => [{ name: "p", accelerators: [name], layout: [0] }];
  graph.registerTemplate({ ...pass, partitions: only("a") });
  graph.registerTemplate({ ...pass, name: "far", partitions: only("b") });
  const request = playground.open({ rank: 5 });
  const [made] = playground.submit(request, { symbols: { nx: 0, ny: 0 }, retain: ["o"] }).operators;
  const read = (rank: number) => {
    const inputs = { x: { instance: 0, output: "o" } };
    return playground.submit(request, { template: "far", symbols: { nx: 8, ny: 0 }, inputs, rank }).operators[0];
  };
  return { playground, graph, made: made as OperatorNode, read: (rank: number) => read(rank) as OperatorNode };
}

test("a planned transfer is as urgent as those that still wait for it", () => {
  const { playground, graph, made, read } = acrossAccelerators();
  const readers = [read(4), read(1)];
  for (const operator of [made, ...readers]) playground.issue(operator);
  const [transfer] = graph.transfers();
  expect(transfer?.rank).toBe(1);
  graph.cancel(readers[1]?.instance.id ?? -1, 10);
  graph.operatorWithdrawn(readers[1] as OperatorNode, 11);
  graph.validate();
  expect([transfer?.rank, made.rank]).toEqual([4, 4]);
});

test("a lost result is forgotten with the last instance that was to read it, not when an executor has answered", () => {
  const { playground, graph, made, read } = acrossAccelerators();
  const reader = read(1);
  for (const operator of [made, reader]) playground.issue(operator);
  graph.releaseOutput(0, "o");
  playground.finish(made);
  const [transfer] = graph.transfers();
  if (transfer === undefined) throw new Error("a transfer is planned");
  graph.transferReceiving(transfer);
  graph.transferFailed(transfer, 20);
  expect(graph.counts()).toMatchObject({ instances: 1, tensors: 1, issuedOperators: 1 });
  graph.operatorWithdrawn(reader, 21);
  expect(graph.counts()).toMatchObject({ instances: 0, tensors: 0, issuedOperators: 0 });
});

test("results that are lost and made again are as urgent as what waits for them", () => {
  const world = new World();
  const { graph, playground } = world;
  const first = world.submit();
  const second = world.submit([first]);
  playground.run();
  graph.releaseOutput(first.instance.id, "o");
  const urgent = world.submit([second], { rank: 1 });
  expect(ranks(first, second)).toEqual([5, 5]);
  graph.loseAccelerator(0, 50);
  graph.validate();
  // The first one had left the graph, and comes back.
  const again = graph.instance(first.instance.id)?.operators[0] as OperatorNode;
  expect([again.state, second.state]).toEqual(["unscheduled", "unscheduled"]);
  expect(ranks(again, second)).toEqual([1, 1]);
  world.cancel(urgent);
  expect(ranks(again, second)).toEqual([5, 5]);
});

test("promotion is for good, reaches what the operator needs, and keeps the order of those promoted", () => {
  const world = new World();
  const { graph, playground } = world;
  const late = world.submit([], { deadlineNs: 9 });
  const base = world.submit();
  const early = world.submit([base], { deadlineNs: 3 });
  playground.issue(base);
  graph.takeEffects();
  expect(graph.promote(late, 1)).toBe(true);
  expect(graph.promote(early, 1)).toBe(true);
  expect(graph.promote(early, 4)).toBe(false);
  expect(ranks(late, base, early)).toEqual([1, 1, 1]);
  expect(world.reranks()).toEqual([`${base.issueNumber} → 1`]);
  expect([...graph.unscheduledFrontier]).toEqual([early, late]);
  const urgent = world.submit([early], { rank: 0 });
  expect(ranks(base, early)).toEqual([0, 0]);
  world.cancel(urgent);
  expect(ranks(base, early)).toEqual([1, 1]);
  graph.takeEffects();
  graph.recall(base);
  graph.operatorWithdrawn(base, 60);
  expect(base.rank).toBe(1);
  world.cancel(early);
  expect(ranks(late, base)).toEqual([1, 5]);
  expect(() => graph.promote(early, 0)).toThrow(expect.objectContaining({ code: "ILLEGAL_MOVE" }));
  for (const rank of [-1, 0.5, Number.NaN]) expect(() => graph.promote(late, rank)).toThrow(TypeError);
});

test("an urgency that is none is refused, and changes nothing", () => {
  const world = new World();
  const first = world.submit();
  const wrong = [{ rank: -1 }, { rank: 65_536 }, { rank: 0.5 }, { deadlineNs: -1 }, { deadlineNs: Number.NaN }];
  for (const more of wrong) {
    expect(() => world.submit([first], more)).toThrow(expect.objectContaining({ code: "INVALID_URGENCY" }));
  }
  expect(() => world.submit([first], { rank: -1, deadlineNs: -1 })).toThrow(/rank -1 is not .*; deadline -1 ns is not/);
  expect(ranks(first)).toEqual([5]);
  world.graph.validate();
});
