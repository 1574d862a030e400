import { readFileSync } from "node:fs";
import {
  compileCluster,
  EffectsPendingError,
  GlobalMappingGraph,
  type GraphSnapshot,
  GraphStateInvalidError,
} from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { nodesDiffer } from "../test/snapshot-nodes.ts";
import { throughJson } from "../test/snapshot-session.ts";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

/** A cache that grows in place, on both accelerators of the playground. */
const step = of(
  [
    { inputs: ["past"], outputs: { kv: { ...u8("n + 1"), aliases: "past" }, hidden: u8(8) } },
    { inputs: ["op0.hidden"], outputs: { token: u8(4) }, workspaceBytes: 16 },
  ],
  {
    symbols: ["n"],
    inputs: { past: u8("n") },
    outputs: { kv: "op0.kv", token: "op1.token" },
    partitions: [{ name: "p", accelerators: ["a", "b"], layout: [0, 1] }],
  },
);

/** A prefill that has ended, and a step after it of which one operator runs and the other one waits for its input. */
function midway(): { playground: Playground; graph: GlobalMappingGraph } {
  const playground = new Playground();
  playground.graph.registerTemplate(step);
  const request = playground.open({ limits: [{ template: "t", symbols: { n: 9 } }], concurrentInstances: 2 });
  playground.submit(request, { symbols: { n: 0 }, retain: ["kv"] });
  playground.run();
  const inputs = { past: { instance: 0, output: "kv" } };
  const second = playground.submit(request, { symbols: { n: 1 }, inputs, retain: ["kv"], label: "second" });
  for (const operator of second.operators) playground.issue(operator);
  playground.start(second.operators[0] as (typeof second.operators)[number]);
  playground.graph.takeEffects();
  return { playground, graph: playground.graph };
}

function invalid(value: unknown): string {
  try {
    GlobalMappingGraph.restore(value);
  } catch (error) {
    if (error instanceof GraphStateInvalidError && error.code === "GRAPH_STATE_INVALID") return error.message;
    throw error;
  }
  return "restored";
}

test("an empty graph, and one in the middle of its work, come back as they were", () => {
  const empty = new GlobalMappingGraph(compileCluster({ accelerators: [{ name: "a", kind: "demo", hbmBytes: 10 }] }));
  expect(throughJson(empty).hash()).toBe(empty.hash());
  const { graph } = midway();
  Object.assign(graph.instance(1) ?? {}, { failure: "for a reason" });
  const again = throughJson(graph);
  expect(again.instance(1)?.failure).toBe("for a reason");
  expect(nodesDiffer(graph, again, [0, 1])).toBe(null);
  expect(again.hash()).toBe(graph.hash());
  expect(again.counts()).toEqual(graph.counts());
  expect(GlobalMappingGraph.restore(structuredClone(graph.snapshot())).hash()).toBe(graph.hash());
});

test("the hash tells apart graphs that differ in one step", () => {
  const { graph } = midway();
  const again = throughJson(graph);
  const before = graph.hash();
  const [running] = again.issuedOperators();
  if (running !== undefined) again.operatorDone(running, 1000);
  expect(again.hash()).not.toBe(before);
  expect(graph.hash()).toBe(before);
});

test("effects that nobody took are not saved: the snapshot is refused", () => {
  const { graph } = midway();
  graph.cancel(1, 50);
  expect(() => graph.snapshot()).toThrow(EffectsPendingError);
  expect(() => graph.hash()).toThrow(/2 withdrawals, 0 reranks and 1 settled instances were not taken/);
  graph.takeEffects();
  expect(throughJson(graph).hash()).toBe(graph.hash());
});

test("an input whose instance has left the graph is kept for the one that names it", () => {
  const playground = new Playground();
  const { graph } = playground;
  const split = of([{ inputs: ["x"] }, {}], { name: "split", inputs: { x: u8(8) }, outputs: { o: "op1.o" } });
  graph.registerTemplate(split);
  graph.registerTemplate(of([{}], { outputs: { o: "op0.o" } }));
  const request = playground.open({
    limits: [
      { template: "split", symbols: {} },
      { template: "t", symbols: {} },
    ],
  });
  playground.submit(request, { retain: ["o"] });
  playground.run();
  playground.submit(request, { template: "split", inputs: { x: { instance: 0, output: "o" } } });
  playground.run(1);
  graph.releaseOutput(0, "o");
  graph.takeEffects();
  expect([graph.instance(0), graph.instance(1)?.inputs.length]).toEqual([undefined, 1]);
  const again = throughJson(graph);
  expect(again.snapshot().departed).toBe(1);
  expect(nodesDiffer(graph, again, [1])).toBe(null);
});

test("readers keep the order in which they came, also where a lost result is made again later than others were asked for", () => {
  const playground = new Playground();
  const { graph } = playground;
  const partitions = ["a", "b"].map((name) => ({ name, accelerators: [name], layout: [0] }));
  graph.registerTemplate(of([{}], { outputs: { o: "op0.o" }, partitions }));
  graph.registerTemplate(
    of([{ inputs: ["x"] }], { name: "r", inputs: { x: u8(8) }, outputs: { o: "op0.o" }, partitions }),
  );
  const limits = ["t", "r"].map((template) => ({ template, symbols: {} }));
  const request = playground.open({ limits, concurrentInstances: 3 });
  playground.submit(request, { retain: ["o"] });
  playground.run();
  const reader = { template: "r", inputs: { x: { instance: 0, output: "o" } }, retain: ["o"] };
  playground.submit(request, reader);
  playground.submit(request, reader);
  playground.run(1);
  graph.loseAccelerator(0, 100);
  graph.takeEffects();
  const readers = graph.instance(0)?.operators[0]?.outputs[0]?.consumers ?? [];
  expect(Array.from(readers, ({ instance }) => instance.id)).toEqual([2, 1]);
  const again = throughJson(graph);
  expect(again.snapshot().tensors.reordered.length).toBe(1);
  expect(nodesDiffer(graph, again, [0, 1, 2])).toBe(null);
});

test("a snapshot is compact: constant per request and instance, and little per operator", () => {
  const playground = new Playground({}, false);
  playground.graph.registerTemplate(
    of(Array.from({ length: 1000 }, (_, i) => (i === 0 ? {} : { inputs: [`op${i - 1}.o`] }))),
  );
  const bytes = () => JSON.stringify(playground.graph.snapshot()).length;
  const before = bytes();
  const request = playground.open();
  playground.submit(request);
  expect((bytes() - before) / 1000).toBeLessThan(2);
  playground.run(500);
  expect((bytes() - before) / 1000).toBeLessThan(25);
});

test("what is foreign, newer, older or truncated is refused in words", () => {
  const { graph } = midway();
  const snapshot = graph.snapshot();
  expect(invalid(null)).toContain("snapshot: must be an object, is null");
  expect(invalid("text")).toContain("must be an object");
  expect(invalid([])).toContain("must be an object");
  expect(invalid(graph.ledger.save())).toContain('format: must be "slicescheduler.graph", is "slicescheduler.ledger"');
  expect(invalid({ ...snapshot, version: 2 })).toContain("version 2 is newer than this package reads, 1");
  expect(invalid({ ...snapshot, version: 0 })).toContain("this package reads version 1, found 0");
  for (const field of Object.keys(snapshot)) {
    const { [field as keyof GraphSnapshot]: _, ...rest } = snapshot;
    expect(invalid(rest), field).not.toBe("restored");
  }
  expect(invalid({ ...snapshot, more: 1 })).toContain("more: is not a known field");
  expect(invalid({ ...snapshot, cluster: { accelerators: [] } })).toContain("cluster: accelerators: must not be empty");
});

test("what contradicts itself is refused with the place", () => {
  const { graph } = midway();
  const change = (edit: (value: Record<string, never>) => void) => {
    const value = JSON.parse(JSON.stringify(graph.snapshot()));
    edit(value);
    return invalid(value);
  };
  const at = (path: string, value: unknown) => {
    return change((root) => {
      const keys = path.split(".");
      const last = keys.pop() as string;
      const parent = keys.reduce<object>((inner, key) => Reflect.get(inner, key), root);
      expect(Reflect.has(parent, last), path).toBe(true);
      Reflect.set(parent, last, value);
    });
  };
  expect(at("instances.origin.0", 2)).toContain("instances.origin[0]: must be a whole number from 0 to 1, is 2");
  expect(at("instances.origin.0", 1)).toContain("stands twice");
  expect(at("operators.states", "dd")).toContain("has 2 operators, and the instances have 4");
  expect(at("operators.states", "ddix")).toContain('"x" is no state');
  expect(at("operators.issued", [0, 2 ** 40])).toContain("operators.issued: must be 4 of 4 operators, as runs");
  expect(at("tensors.known", [0, 2 ** 50])).toContain("tensors.known: must be at most");
  expect(at("counters.nextIssue", 1)).toContain("issue number");
  expect(at("counters.lastInstance", 0)).toContain("origins.id[1]");
  expect(at("origins.symbols.1", [])).toContain("has 0 values for 1 symbols");
  expect(at("origins.inputs.1", [0, 7, 0])).toContain("which is not there");
  expect(at("ledger.0.workspaceBytes", 7)).toContain("ledger");
  expect(at("ledger.0.copies.uses.0", 5)).toContain("ledger[0].copies");
  expect(at("buffers.bytes.0", 99)).toContain("a buffer of 99 bytes");
  expect(at("grants.growing", [])).toContain("request 0 counts 0 bytes in use on accelerator 0");
});

/** Saved by the first release that could. It is never written again: what was saved once is read for as long as version 1 is. */
test("a file of version 1 is still read, and goes on", () => {
  const file = new URL("../test/fixtures/graph-v1.json", import.meta.url);
  const graph = GlobalMappingGraph.restore(JSON.parse(readFileSync(file, "utf8")));
  expect(graph.counts()).toEqual({ requests: 1, instances: 2, tensors: 4, issuedOperators: 2, transfers: 1 });
  expect(graph.hash()).toBe("058e48e36f58035e");
  const [running, waiting] = graph.issuedOperators();
  if (running === undefined || waiting === undefined) throw new Error("two operators are issued");
  graph.operatorDone(running, 100);
  for (const transfer of [...graph.transfers()]) {
    graph.transferReceiving(transfer);
    graph.transferDone(transfer, 110);
  }
  graph.operatorStarted(waiting, 120);
  graph.operatorDone(waiting, 130);
  for (const id of [0, 1]) graph.releaseOutput(id, "kv");
  graph.closeRequest(0);
  graph.validate();
  expect(graph.takeEffects().settled.map(({ instance, outcome }) => `${instance.id} ${outcome}`)).toEqual(["1 done"]);
  expect(graph.counts()).toEqual(EMPTY);
});
