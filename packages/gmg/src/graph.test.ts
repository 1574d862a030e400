import { compileCluster, type TemplateSpec } from "@slicescheduler/templates";
import { expect, test } from "vitest";
import { GlobalMappingGraph } from "./graph.ts";
import type { Submission } from "./insert.ts";
import type { RequestOpening } from "./opening.ts";

const u8 = (dimension: string | number) => ({ shape: [dimension], dtype: "uint8" as const });

/** A KV cache that grows in place by one byte a step, over `on`. */
function step(name: string, weights: Readonly<Record<string, number>> = {}): TemplateSpec {
  return {
    name,
    symbols: ["past"],
    inputs: { kv: u8("past"), note: u8(0) },
    operators: [
      { name: "layers", inputs: ["kv", "note"], outputs: { kv: { ...u8("past + 1"), aliases: "kv" } }, weights },
    ],
    outputs: { kv: "layers.kv" },
    partitions: [
      { name: "left", accelerators: ["a"], layout: [0] },
      { name: "right", accelerators: ["b"], layout: [0] },
    ],
  };
}

function world() {
  const accelerators = ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 }));
  const graph = new GlobalMappingGraph(compileCluster({ accelerators }));
  graph.registerTemplate(step("step", { w: 100 }));
  const opening: Omit<RequestOpening, "id"> = {
    label: "",
    rank: 0,
    deadlineNs: Number.POSITIVE_INFINITY,
    limits: null,
    concurrentInstances: 1,
    chains: 1,
    mayPause: false,
    allowedPartitions: null,
    endsWithInstances: false,
  };
  let id = 0;
  const submit = (request: number, past: number, more: Partial<Submission> = {}) =>
    graph.insert(
      {
        id: id++,
        template: "step",
        symbols: { past },
        inputs: {},
        retain: ["kv"],
        allowedPartitions: null,
        label: "",
        ...more,
      },
      request,
      0,
    );
  const run = () => {
    for (const operator of [...graph.unscheduledFrontier]) {
      const option = graph.placementOptions(operator).find(({ shortage }) => shortage === null);
      if (option === undefined) continue;
      graph.issue(operator, option.partition, 0);
      graph.operatorStarted(operator, 0);
      graph.operatorDone(operator, 1);
      graph.validate();
    }
  };
  return { graph, opening, submit, run };
}

test("every refusal has its code and changes nothing", () => {
  const { graph, opening, submit, run } = world();
  const limits = [{ template: "step", symbols: { past: 10 } }];
  graph.openRequest({ ...opening, id: 0, limits }, 0);
  graph.openRequest({ ...opening, id: 1 }, 0);
  const first = submit(0, 0);
  run();
  const kv = { kv: { instance: first.id, output: "kv" } };
  const cases: [() => unknown, string][] = [
    [() => graph.registerTemplate(step("step")), "TEMPLATE_EXISTS"],
    [() => graph.registerTemplate(step("other", { w: 101 })), "WEIGHTS_MISMATCH"],
    [() => graph.registerTemplate(step("other", { w2: 895 })), "NEVER_FITS"],
    [() => graph.openRequest({ ...opening, id: 1 }, 0), "DUPLICATE_ID"],
    [
      () => graph.openRequest({ ...opening, id: 9, limits: [{ template: "step", symbols: { past: 900 } }] }, 0),
      "NEVER_FITS",
    ],
    [() => submit(7, 0), "UNKNOWN_REQUEST"],
    [() => submit(0, 0, { id: 0 }), "DUPLICATE_ID"],
    [() => submit(0, 0, { template: "stop" }), "UNKNOWN_TEMPLATE"],
    [() => submit(0, 1), "UNBOUND_INPUT"],
    [() => submit(0, 1, { inputs: { vk: { instance: 0, output: "kv" } } }), "UNKNOWN_INPUT"],
    [() => submit(0, 1, { inputs: { kv: { instance: 99, output: "kv" } } }), "UNKNOWN_INSTANCE"],
    [() => submit(0, 1, { inputs: { kv: { instance: 0, output: "vk" } } }), "UNKNOWN_OUTPUT"],
    [() => submit(0, 2, { inputs: kv }), "INPUT_MISMATCH"],
    [() => submit(1, 1, { inputs: kv }), "INPUTS_SPAN_REQUESTS"],
    [() => submit(0, 0, { allowedPartitions: ["middle"] }), "UNKNOWN_PARTITION"],
    [() => submit(0, 0, { allowedPartitions: ["right"] }), "UNKNOWN_PARTITION"],
    [() => submit(0, 11, { inputs: kv }), "LIMITS_EXCEEDED"],
    [() => submit(1, 0, { symbols: { past: 2000 } }), "UNBOUND_INPUT"],
  ];
  const before = graph.counts();
  for (const [call, code] of cases) {
    expect(call, code).toThrow(expect.objectContaining({ code }));
    expect(graph.counts(), code).toEqual(before);
    graph.validate();
  }
});

test("a tensor is continued once, and not after it was released", () => {
  const { graph, opening, submit, run } = world();
  graph.openRequest({ ...opening, id: 0, limits: [{ template: "step", symbols: { past: 10 } }] }, 0);
  const first = submit(0, 0);
  const inputs = { kv: { instance: first.id, output: "kv" } };
  const second = submit(0, 1, { inputs });
  expect(() => submit(0, 1, { inputs })).toThrow(expect.objectContaining({ code: "ALREADY_CONTINUED" }));
  run();
  run();
  graph.releaseOutput(second.id, "kv");
  const late = { kv: { instance: second.id, output: "kv" } };
  expect(() => submit(0, 2, { inputs: late })).toThrow(expect.objectContaining({ code: "UNKNOWN_INSTANCE" }));
});

test("a claim covers the cache that grows, once, and is given back whole", () => {
  const { graph, opening, submit, run } = world();
  graph.openRequest({ ...opening, id: 0, limits: [{ template: "step", symbols: { past: 99 } }] }, 0);
  let last = submit(0, 0);
  run();
  for (let past = 1; past < 100; past++) {
    const next = submit(0, past, { inputs: { kv: { instance: last.id, output: "kv" } } });
    graph.releaseOutput(last.id, "kv");
    run();
    last = next;
    expect(graph.ledger.usedBytes(0)).toBe(100 + past + 1);
    expect(graph.claims.reservedBytes(0)).toBe(100);
  }
  graph.closeRequest(0);
  graph.releaseOutput(last.id, "kv");
  expect(graph.claims.reservedBytes(0)).toBe(0);
  expect(graph.counts()).toEqual({ requests: 0, instances: 0, tensors: 0, issuedOperators: 0, transfers: 0 });
});

test("what has ended can be collected: a long chain does not keep its beginning", () => {
  const { graph, opening, submit, run } = world();
  graph.openRequest({ ...opening, id: 0, limits: [{ template: "step", symbols: { past: 800 } }] }, 0);
  let last = submit(0, 0);
  run();
  const [firstOperator] = last.operators;
  for (let past = 1; past <= 800; past++) {
    const next = submit(0, past, { inputs: { kv: { instance: last.id, output: "kv" } } });
    graph.releaseOutput(last.id, "kv");
    run();
    last = next;
  }
  // From the living end no reference leads back: its inputs and what it continues are cut.
  expect(last.inputs).toEqual([]);
  expect(last.operators[0]?.inputs).toEqual([]);
  expect(last.operators[0]?.outputs[0]?.aliases).toBeNull();
  expect(firstOperator?.inputs).toEqual([]);
  expect(graph.counts().instances).toBe(1);
});

test("20,000 short instances in a row leave nothing", () => {
  const { graph, opening, submit, run } = world();
  for (let id = 0; id < 20_000; id++) {
    graph.openRequest({ ...opening, id, endsWithInstances: true }, 0);
    submit(id, 0, { retain: [] });
    for (const operator of [...graph.unscheduledFrontier].slice(0, 1)) {
      const [option] = graph.placementOptions(operator);
      if (option === undefined) throw new Error("no option");
      graph.issue(operator, option.partition, id);
      graph.operatorStarted(operator, id);
      graph.operatorDone(operator, id + 1);
      graph.takeEffects();
    }
  }
  run();
  expect(graph.counts()).toEqual({ requests: 0, instances: 0, tensors: 0, issuedOperators: 0, transfers: 0 });
  expect(graph.claims.reservedBytes(0)).toBe(0);
});

test("an illegal issue changes nothing", () => {
  const { graph, opening, submit, run } = world();
  graph.openRequest({ ...opening, id: 0, limits: [{ template: "step", symbols: { past: 10 } }] }, 0);
  const { operators, template } = submit(0, 0);
  run();
  const [operator] = operators;
  const [left, right] = template.partitions;
  if (operator === undefined || left === undefined || right === undefined) throw new Error("incomplete");
  expect(() => graph.issue(operator, left, 5)).toThrow(expect.objectContaining({ code: "ILLEGAL_MOVE" }));
  const next = submit(0, 1, { inputs: { kv: { instance: 0, output: "kv" } } });
  const [later] = next.operators;
  if (later === undefined) throw new Error("incomplete");
  expect(() => graph.issue(later, right, 5)).toThrow(/its request is laid on left/);
  graph.validate();
  expect(later.state).toBe("unscheduled");
});
