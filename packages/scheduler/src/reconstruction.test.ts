import { EstimatorBank } from "@slicescheduler/estimators";
import type { CompiledPartition, GlobalMappingGraph, InstanceNode } from "@slicescheduler/gmg";
import { Simulator } from "@slicescheduler/simulator";
import { expect, test } from "vitest";
import { chain, graphOf, submit } from "./graph.fixture.ts";
import { Predictor } from "./predictor.ts";
import { Reconstruction, type ReconstructionOptions } from "./reconstruction.ts";

const HBM_BYTES = 1000;

/** Two accelerators, either of which a template `t` of one operator may be laid on. */
function worldOf(options: ReconstructionOptions) {
  const graph = graphOf(["a", "b"], HBM_BYTES);
  graph.registerTemplate(chain("t", 1, { left: { on: ["a"], layout: [0] }, right: { on: ["b"], layout: [0] } }));
  const { accelerators } = graph.cluster;
  const simulator = new Simulator({
    topology: {
      accelerators: accelerators.length,
      portCapacity: accelerators.map(({ copyEngines }) => copyEngines),
      linkCapacity: graph.cluster.linkCapacity,
      route: (source, destination) => graph.cluster.route(source, destination),
    },
    transferNs: (source, destination, bytes) => graph.cluster.transferNs(source, destination, bytes),
  });
  const predictor = new Predictor(graph.cluster, new EstimatorBank());
  return { graph, simulator, reconstruction: new Reconstruction(graph, predictor, simulator, options) };
}

/** One request of 600 bytes a result is issued on accelerator a; another is to be laid there, or on b. */
function laid(options: ReconstructionOptions) {
  const { graph, simulator, reconstruction } = worldOf(options);
  const first = submit(graph, 0, "t", 600);
  const second = submit(graph, 1, "t", 500);
  for (const operator of first.operators) graph.issue(operator, partitionOf(first, 0), 0);
  const { operators } = second;
  const run = (partition: number) => {
    reconstruction.begin(0, operators);
    reconstruction.lay(operators, partitionOf(second, partition));
    return { outcome: simulator.run().outcome, shortage: reconstruction.shortage() };
  };
  return { graph, first, second, run };
}

function partitionOf({ template }: InstanceNode, index: number): CompiledPartition {
  const partition = template.partitions[index];
  if (partition === undefined) throw new Error(`there is no partition ${index}`);
  return partition;
}

/** As if the application kept something that no operator here reads. */
function occupy({ ledger }: GlobalMappingGraph, accelerator: number, bytes: number): void {
  ledger.loadWeights(accelerator, "elsewhere", bytes);
}

test("without a bound whatever is laid fits", () => {
  const { run, graph } = laid({});
  occupy(graph, 0, 900);
  expect(run(0)).toEqual({ outcome: "finished", shortage: null });
});

test("with exact memory a candidate runs out where, when and by how much it would", () => {
  const { run, graph, first, second } = laid({ memory: "exact" });
  expect(run(0)).toEqual({ outcome: "finished", shortage: null });
  occupy(graph, 0, 450);
  // The 600 bytes of what is issued do not fit beside them.
  const [issued] = first.operators;
  expect(run(0)).toEqual({
    outcome: "outOfMemory",
    shortage: { accelerator: 0, atNs: 0, bytesOver: 50, operator: issued },
  });
  occupy(graph, 1, 700);
  expect(run(1).shortage?.accelerator).toBe(0);
  expect(second.operators).toHaveLength(1);
});

test("a candidate that does not fit names its own operator", () => {
  const { run, graph, second } = laid({ memory: "exact" });
  occupy(graph, 1, 700);
  expect(run(1)).toEqual({
    outcome: "outOfMemory",
    shortage: { accelerator: 1, atNs: 0, bytesOver: 200, operator: second.operators[0] },
  });
});

test("with a least urgent class, what is less urgent is left out unless it runs", () => {
  const { graph, reconstruction } = worldOf({});
  const [urgent] = issueOn(graph, submit(graph, 0, "t", 600));
  const [running, waiting] = [1, 2].flatMap((id) => issueOn(graph, submit(graph, id, "t", 100, 1)));
  if (running === undefined) throw new Error("it is issued");
  const found = () => [...reconstruction.operators()].map(([, operator]) => operator);
  reconstruction.begin(0, [], 0);
  expect(found()).toEqual([urgent]);
  graph.operatorStarted(running, 5);
  reconstruction.begin(5, [], 0);
  expect(found()).toEqual([urgent, running]);
  reconstruction.begin(5, []);
  expect(found()).toEqual([urgent, running, waiting]);
});

test.each([false, true])(
  "a quarantined transfer has no end and no ports, and its bytes stay at both ends; receive buffer %s",
  (hasBuffer) => {
    const { graph, simulator, reconstruction } = worldOf({ memory: "exact" });
    graph.registerTemplate(chain("pair", 2, { ab: { on: ["a", "b"], layout: [0, 1] } }));
    const issued = (id: number, bytes: number) => {
      const [make, read] = issueOn(graph, submit(graph, id, "pair", bytes));
      if (make === undefined || read === undefined) throw new Error("it is issued");
      graph.operatorStarted(make, 10 * id);
      graph.operatorDone(make, 10 * id + 5);
      const transfer = graph.transfer(id);
      if (transfer === undefined) throw new Error("it has a transfer");
      graph.transferIntended(transfer, 10 * id + 5);
      return { read, transfer };
    };
    const stuck = issued(0, 400);
    if (hasBuffer) graph.transferReceiving(stuck.transfer);
    stuck.transfer.state = "quarantined";
    graph.fail(0, 8);
    graph.operatorWithdrawn(stuck.read, 9);
    const { transfer } = issued(1, 100);
    graph.takeEffects();
    reconstruction.begin(20, []);
    expect(simulator.run({ timeline: true }).outcome).toBe("finished");
    // The other transfer goes at once: 100 bytes in 1100 ns, then its reader writes 100 more.
    expect(simulator.transfers()).toMatchObject([{ startNs: 20, doneNs: 1120 }]);
    expect(reconstruction.transfers).toEqual([transfer]);
    const buffer = hasBuffer ? 400 : 0;
    expect([0, 1].map((accelerator) => simulator.peakBytes(accelerator))).toEqual([500, buffer + 200]);
    const left = [0, 1].map((accelerator) => simulator.hbmTimeline(accelerator).at(-1)?.usedBytes);
    expect(left.map((bytes) => (bytes ?? 0) >= 400)).toEqual([true, hasBuffer]);
  },
);

test("what a quarantined transfer may still read stays when its last reader has ended", () => {
  const { graph, simulator, reconstruction } = worldOf({ memory: "exact" });
  const reader = (name: string, place: number) => ({
    name,
    symbols: ["n"],
    inputs: { made: { shape: ["n"], dtype: "uint8" as const } },
    operators: [{ name: "read", inputs: ["made"], outputs: { out: { shape: ["n"], dtype: "uint8" as const } } }],
    outputs: {},
    partitions: [{ name: "ab", accelerators: ["a", "b"], layout: [place] }],
  });
  graph.registerTemplate(chain("make", 1, { ab: { on: ["a", "b"], layout: [0] } }));
  for (const [name, place] of [["near", 0] as const, ["far", 1] as const]) graph.registerTemplate(reader(name, place));
  const opening = { id: 0, label: "", rank: 0, deadlineNs: Number.POSITIVE_INFINITY, limits: null, mayPause: false };
  graph.openRequest(
    { ...opening, concurrentInstances: 3, chains: 3, allowedPartitions: null, endsWithInstances: false },
    0,
  );
  const insert = (id: number, template: string, inputs: Record<string, { instance: number; output: string }>) => {
    const more = { retain: id === 0 ? ["out"] : [], allowedPartitions: null, label: "" };
    return graph.insert({ id, template, symbols: { n: 200 }, inputs, ...more }, 0, 0);
  };
  const [make] = issueOn(graph, insert(0, "make", {}));
  const made = { made: { instance: 0, output: "out" } };
  const [far] = issueOn(graph, insert(1, "far", made));
  issueOn(graph, insert(2, "near", made));
  const transfer = graph.transfer(0);
  if (make === undefined || far === undefined || transfer === undefined) throw new Error("they are issued");
  graph.operatorStarted(make, 0);
  graph.operatorDone(make, 10);
  graph.transferIntended(transfer, 10);
  transfer.state = "quarantined";
  graph.fail(1, 10);
  graph.operatorWithdrawn(far, 10);
  graph.releaseOutput(0, "out");
  graph.takeEffects();
  reconstruction.begin(20, []);
  expect(simulator.run({ timeline: true }).outcome).toBe("finished");
  expect(simulator.hbmTimeline(0).map(({ usedBytes }) => usedBytes)).toEqual([200, 400, 200]);
  transfer.state = "sending";
  graph.transferCancelled(transfer, 20);
  reconstruction.begin(20, []);
  simulator.run({ timeline: true });
  expect(simulator.hbmTimeline(0).map(({ usedBytes }) => usedBytes)).toEqual([200, 400, 0]);
});

function issueOn(graph: GlobalMappingGraph, instance: InstanceNode) {
  for (const operator of instance.operators) graph.issue(operator, partitionOf(instance, 0), 0);
  return instance.operators;
}
