import { expect, test } from "vitest";
import { collectBatch } from "./batch.ts";
import { chain, graphOf, submit } from "./graph.fixture.ts";

test("follows successors up to the limit, each after its predecessors", () => {
  const graph = graphOf(["a"]);
  graph.registerTemplate(chain("t", 6, { left: { on: ["a"], layout: [0, 0, 0, 0, 0, 0] } }));
  const { operators } = submit(graph, 0, "t", 1);
  const [first] = operators;
  if (first === undefined) throw new Error("no operator");
  expect(collectBatch(first, 4).map((operator) => operator.index)).toEqual([0, 1, 2, 3]);
  expect(collectBatch(first, 100)).toHaveLength(6);
});

test("leaves out what also waits for an unscheduled operator elsewhere, and joins once both sides are in", () => {
  const graph = graphOf(["a"]);
  const out = { out: { shape: [1], dtype: "uint8" as const } };
  graph.registerTemplate({
    name: "join",
    symbols: [],
    operators: [
      { name: "l", outputs: out },
      { name: "r", outputs: out },
      { name: "join", inputs: ["l.out", "r.out"], outputs: out },
    ],
    outputs: {},
    partitions: [{ name: "left", accelerators: ["a"], layout: [0, 0, 0] }],
  });
  const opening = {
    label: "",
    rank: 0,
    deadlineNs: Number.POSITIVE_INFINITY,
    limits: null,
    concurrentInstances: 1,
    chains: 1,
    mayPause: false,
  };
  graph.openRequest({ ...opening, id: 0, allowedPartitions: null, endsWithInstances: true }, 0);
  const submission = {
    id: 0,
    template: "join",
    symbols: {},
    inputs: {},
    retain: [],
    allowedPartitions: null,
    label: "",
  };
  const instance = graph.insert(submission, 0, 0);
  const [l, r] = instance.operators;
  if (l === undefined || r === undefined) throw new Error("no operator");
  expect(collectBatch(l, 8).map((operator) => operator.index)).toEqual([0]);
  graph.issue(l, instance.template.partitions[0] as (typeof instance.template.partitions)[number], 0);
  expect(collectBatch(r, 8).map((operator) => operator.index)).toEqual([1, 2]);
});
