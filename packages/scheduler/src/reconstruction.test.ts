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

function issueOn(graph: GlobalMappingGraph, instance: InstanceNode) {
  for (const operator of instance.operators) graph.issue(operator, partitionOf(instance, 0), 0);
  return instance.operators;
}
