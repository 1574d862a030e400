import { expect, test } from "vitest";
import { nodesDiffer } from "../test/snapshot-nodes.ts";
import { throughJson } from "../test/snapshot-session.ts";
import { instancesBehind } from "./index.ts";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

const ab = (...layout: number[]) => [{ name: "ab", accelerators: ["a", "b"], layout }];

/** What `a` has made is on its way to `b`, where one instance waits for it, another one will read it, and a third reads it on `a`. */
function underWay() {
  const playground = new Playground();
  const { graph } = playground;
  graph.registerTemplate(of([{}], { name: "make", outputs: { o: "op0.o" }, partitions: ab(0) }));
  for (const [name, place] of [
    ["near", 0],
    ["far", 1],
  ] as const) {
    graph.registerTemplate(of([{ inputs: ["x"] }], { name, inputs: { x: u8(8) }, partitions: ab(place) }));
  }
  const request = playground.open({ concurrentInstances: 4, chains: 4 });
  const base = playground.submit(request, { template: "make", retain: ["o"] });
  playground.run();
  const read = (template: string) =>
    playground.submit(request, { template, inputs: { x: { instance: base.id, output: "o" } } });
  const [waiting, later, near] = [read("far"), read("far"), read("near")];
  playground.issue(waiting.operators[0] as (typeof waiting.operators)[number]);
  const [transfer] = graph.transfers();
  if (transfer === undefined) throw new RangeError("there is no transfer");
  graph.transferIntended(transfer, 50);
  graph.takeEffects();
  return { playground, graph, request, base, waiting, later, near, transfer };
}

test("behind a quarantined transfer is who waits for it or will read its copy, and not who reads its tensor elsewhere", () => {
  const { playground, graph, waiting, later, near, transfer } = underWay();
  transfer.state = "quarantined";
  expect(instancesBehind(transfer)).toEqual([waiting, later]);
  const [operator] = later.operators;
  if (operator === undefined) throw new RangeError("it has no operator");
  expect(graph.placementOptions(operator)).toEqual([]);
  const [partition] = later.template.partitions;
  if (partition === undefined) throw new RangeError("it has no partition");
  expect(() => graph.issue(operator, partition, 60)).toThrow(/cannot be issued on a transfer that is quarantined/);
  expect(playground.issue(near.operators[0] as (typeof near.operators)[number])).toBe(true);
  for (const { id } of instancesBehind(transfer)) graph.fail(id, 60);
  expect(instancesBehind(transfer)).toEqual([]);
  graph.validate();
});

test.each([false, true])(
  "both buffers stay until its end, and are free then; with a receive buffer: %s",
  (isAllocated) => {
    const { playground, graph, request, base, waiting, transfer } = underWay();
    if (isAllocated) graph.transferReceiving(transfer);
    transfer.state = "quarantined";
    for (const { id } of instancesBehind(transfer)) graph.fail(id, 60);
    graph.operatorWithdrawn(waiting.operators[0] as (typeof waiting.operators)[number], 60);
    playground.run();
    graph.releaseOutput(base.id, "o");
    graph.closeRequest(request);
    graph.takeEffects();
    const used = () => [0, 1].map((accelerator) => graph.ledger.usedBytes(accelerator));
    expect(used()).toEqual([8, isAllocated ? 8 : 0]);
    expect(graph.counts()).toMatchObject({ requests: 1, transfers: 1, issuedOperators: 0 });
    // What the request holds by that stays claimed.
    expect(graph.claims.takenBytes(0)).toBeGreaterThanOrEqual(8);
    expect(graph.isIdle(1)).toBe(false);
    const again = throughJson(graph);
    expect(nodesDiffer(graph, again, [base.id])).toBe(null);
    expect(again.transfer(0)?.state).toBe("quarantined");
    again.validate();
    for (const each of [graph, again]) {
      const same = each.transfer(0);
      if (same === undefined) throw new RangeError("it has no transfer");
      if (isAllocated) each.transferDone(same, 90);
      else each.transferCancelled(same, 90);
      each.validate();
      expect(each.counts()).toEqual(EMPTY);
      expect([each.ledger.usedBytes(0), each.ledger.usedBytes(1), each.claims.takenBytes(0)]).toEqual([0, 0, 0]);
    }
  },
);

test("a graph whose transfer was selected and has no receive buffer yet comes back as it was", () => {
  const { graph, base, transfer } = underWay();
  transfer.state = "selected";
  const again = throughJson(graph);
  expect(nodesDiffer(graph, again, [base.id])).toBe(null);
  const same = again.transfer(0);
  if (same === undefined) throw new RangeError("it has no transfer");
  again.transferReceiving(same);
  expect(again.ledger.usedBytes(1)).toBe(8);
  expect(throughJson(again).hash()).toBe(again.hash());
});

test.each([0, 1])("losing accelerator %s ends a quarantined transfer with its buffers", (accelerator) => {
  const { graph, transfer } = underWay();
  graph.transferReceiving(transfer);
  transfer.state = "quarantined";
  expect(graph.loseAccelerator(accelerator, 70)).toEqual([0]);
  expect(graph.ledger.usedBytes(accelerator)).toBe(0);
  graph.validate();
});
