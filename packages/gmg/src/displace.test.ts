import type { OperatorNode } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

const on = (...names: readonly string[]) => names.map((name) => ({ name, accelerators: [name], layout: [0, 0] }));

/** Two operators in a row, on `a` or on `b`, with 1,000 bytes between them. */
const pair = of([{ outputs: { o: u8(1000) } }, { inputs: ["op0.o"] }], { partitions: on("a", "b") });

function operatorsOf(playground: Playground, request: number): readonly [OperatorNode, OperatorNode] {
  return playground.submit(request).operators as unknown as readonly [OperatorNode, OperatorNode];
}

test("the least urgent class is offered first, in it the latest issue, and never an equal", () => {
  const playground = new Playground();
  const { graph } = playground;
  graph.registerTemplate(pair);
  const issued = [2, 0, 1, 2].map((rank) => {
    const [first] = operatorsOf(playground, playground.open({ rank }));
    playground.issue(first);
    return first;
  });
  const [a, b, c, d] = issued;
  expect([...graph.displaceable(0)]).toEqual([d, a, c]);
  expect([...graph.displaceable(1)]).toEqual([d, a]);
  expect([...graph.displaceable(2)]).toEqual([]);
  playground.start(a as OperatorNode);
  for (const operator of graph.displaceable(0)) graph.displace(operator);
  expect(graph.takeEffects().withdrawals).toEqual([d?.issueNumber, c?.issueNumber]);
  expect([...graph.displaceable(0)]).toEqual([]);
  expect(issued.map((operator) => operator.instance.request.preemptions)).toEqual([0, 0, 1, 1]);
  for (const operator of [a, d]) {
    expect(() => graph.displace(operator as OperatorNode)).toThrow(expect.objectContaining({ code: "ILLEGAL_MOVE" }));
  }
  graph.displace(b as OperatorNode);
  expect(b?.instance.request.preemptions).toBe(1);
});

test("the list of the displaceable stays right over many issues and ends", () => {
  const playground = new Playground({}, false);
  const { graph } = playground;
  graph.registerTemplate(pair);
  const request = playground.open({ rank: 1 });
  const stays = operatorsOf(playground, request)[0];
  playground.issue(stays);
  for (let i = 0; i < 500; i++) {
    const [first, second] = operatorsOf(playground, request);
    playground.issue(first);
    playground.finish(first);
    playground.issue(second);
    expect([...graph.displaceable(0)]).toEqual([second, stays]);
    playground.finish(second);
  }
  graph.validate();
});

test("a request of which nothing is left anywhere gives its place up, and can be laid elsewhere", () => {
  // Either accelerator holds one pair at a time.
  const playground = new Playground({ hbmBytes: 1500 });
  const { graph } = playground;
  graph.registerTemplate(pair);
  const [low, high, third] = [playground.open({ rank: 1 }), playground.open(), playground.open()];
  const refused = (why: RegExp) => {
    expect(() => graph.unplace(low)).toThrow(expect.objectContaining({ code: "ILLEGAL_MOVE" }));
    expect(() => graph.unplace(low)).toThrow(why);
  };
  const [first, second] = operatorsOf(playground, low);
  refused(/request 0 cannot be unplaced: it is not placed/);
  playground.issue(first, "a");
  playground.issue(second, "a");
  const urgent = operatorsOf(playground, high);
  playground.issue(urgent[0], "b");
  const [other] = operatorsOf(playground, third);
  expect(graph.placementOptions(other).every(({ shortage }) => shortage !== null)).toBe(true);
  graph.displace(first);
  refused(/executors have 2 operators of it, 2 copies of its results and 0 transfers/);
  graph.operatorWithdrawn(second, 10);
  graph.operatorWithdrawn(first, 11);
  const { epoch } = graph.claims;
  graph.unplace(low);
  graph.validate();
  graph.takeEffects();
  expect(graph.claims.epoch).toBeGreaterThan(epoch);
  expect([graph.claims.reservedBytes(0), graph.request(low).partition]).toEqual([0, null]);
  expect(playground.issue(other, "a")).toBe(true);
  for (const operator of urgent) {
    if (operator.state === "unscheduled") playground.issue(operator);
    playground.finish(operator);
  }
  expect(playground.issue(first, "b")).toBe(true);
  playground.finish(first);
  playground.finish(other);
  playground.run();
  for (const request of [low, high, third]) graph.closeRequest(request);
  expect(graph.counts()).toEqual(EMPTY);
});

test("results that are there keep a request in its place, and so does the lack of another one", () => {
  const playground = new Playground();
  const { graph } = playground;
  graph.registerTemplate(pair);
  const request = playground.open();
  const [first, second] = operatorsOf(playground, request);
  playground.issue(first, "b");
  playground.issue(second);
  playground.finish(first);
  graph.recall(second);
  graph.operatorWithdrawn(second, 20);
  expect(() => graph.unplace(request)).toThrow(/executors have 0 operators of it, 1 copies/);
  const other = playground.open();
  const [waiting] = operatorsOf(playground, other);
  playground.issue(waiting, "b");
  graph.recall(waiting);
  graph.operatorWithdrawn(waiting, 30);
  graph.drainAccelerator(0, 31);
  graph.drainAccelerator(1, 31);
  graph.takeEffects();
  const before = graph.hash();
  expect(() => graph.unplace(other)).toThrow(/request 1 cannot be unplaced: no partition .* besides b/);
  expect(graph.hash()).toBe(before);
  graph.returnAccelerator(0);
  graph.unplace(other);
  expect(waiting.instance.allowedPartitions).toEqual(["a"]);
  expect(() => graph.unplace(99)).toThrow(expect.objectContaining({ code: "UNKNOWN_REQUEST" }));
  graph.validate();
});

test("a result that had gone from where it was made stays for the reader that was asked back, and for no other", () => {
  const playground = new Playground();
  const { graph } = playground;
  const partitions = [{ name: "both", accelerators: ["a", "b"], layout: [0, 1] }];
  graph.registerTemplate(of([{}, { inputs: ["op0.o"] }], { partitions, outputs: { between: "op0.o" } }));
  graph.registerTemplate(of([{ inputs: ["x"] }, {}], { name: "reads", partitions, inputs: { x: u8(8) } }));
  const request = playground.open();
  const first = playground.submit(request);
  const [made, second] = first.operators as [OperatorNode, OperatorNode];
  playground.issue(made);
  playground.finish(made);
  playground.issue(second);
  for (const transfer of graph.transfers()) {
    graph.transferReceiving(transfer);
    graph.transferDone(transfer, 10);
  }
  expect(graph.ledger.isEmpty(0)).toBe(true);
  graph.recall(second);
  graph.operatorWithdrawn(second, 11);
  const inputs = { x: { instance: first.id, output: "between" } };
  expect(() => playground.submit(request, { template: "reads", inputs })).toThrow(
    expect.objectContaining({ code: "OUTPUT_RELEASED" }),
  );
  expect(playground.run()).toBe(1);
  graph.closeRequest(request);
  expect(graph.counts()).toEqual(EMPTY);
});
