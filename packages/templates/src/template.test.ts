import {
  compileCluster,
  compileTemplate,
  type OperatorSpec,
  TemplateInvalidError,
  type TemplateSpec,
} from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";

const cluster = compileCluster({
  accelerators: ["gpu0", "gpu1", "gpu2"].map((name) => ({
    name,
    kind: "H200",
    hbmBytes: 1000,
    granularityBytes: 10,
    externalBaselineBytes: 95,
  })),
  links: [{ name: "l", latencyNs: 1, bytesPerSecond: 1e9, connects: [["gpu0", "gpu1"]] }],
});

const hidden = { shape: ["tokens", 4], dtype: "float16" } as const;
const kv = (past: string) => ({ shape: [past, 8], dtype: "float16" }) as const;

/** Two layers with a KV cache each, on one accelerator or on two. */
const forward = {
  name: "forward",
  symbols: ["tokens", "past"],
  inputs: { prompt: { shape: ["tokens"], dtype: "int32" }, kv: [kv("past"), kv("past")] },
  operators: [
    {
      name: "layer0",
      inputs: ["prompt", "kv[0]"],
      outputs: { hidden, kv: { ...kv("past + tokens"), aliases: "kv[0]" } },
      workspaceBytes: "tokens * 16",
      weights: { w0: 300, shared: 55 },
      flops: "2 * tokens * 300",
    },
    {
      name: "layer1",
      inputs: ["layer0.hidden", "kv[1]", "layer0.hidden"],
      outputs: { hidden, kv: { ...kv("past + tokens"), aliases: "kv[1]" } },
      weights: { w1: 300, shared: 55 },
      durationModel: "layer",
    },
  ],
  outputs: { last: "layer1.hidden", kv: ["layer0.kv", "layer1.kv"] },
  partitions: [
    { name: "one", accelerators: ["gpu2"], layout: [0, 0] },
    { name: "two", accelerators: ["gpu1", "gpu0"], layout: [1, 0] },
  ],
} as const satisfies TemplateSpec;

function faultsOf(spec: unknown): readonly { path: string; message: string }[] {
  try {
    compileTemplate(spec as TemplateSpec, cluster);
  } catch (error) {
    if (!(error instanceof TemplateInvalidError)) throw error;
    expect(error.code).toBe("TEMPLATE_INVALID");
    return error.faults;
  }
  throw new Error("was accepted");
}

/** A template of these operators, otherwise sound. */
function of(operators: readonly Partial<OperatorSpec>[], more: object = {}) {
  return {
    name: "t",
    symbols: ["tokens"],
    operators: operators.map((operator, i) => ({ name: `op${i}`, outputs: { h: hidden }, ...operator })),
    outputs: {},
    partitions: [{ name: "p", accelerators: ["gpu0"], layout: operators.map(() => 0) }],
    ...more,
  };
}

describe("a sound template", () => {
  const template = compileTemplate(forward, cluster);

  test("names become indices", () => {
    expect(template.inputs).toEqual([
      { name: "prompt", first: 0, count: 1, bundle: false },
      { name: "kv", first: 1, count: 2, bundle: true },
    ]);
    expect(template.inputSlots).toBe(3);
    expect(template.slots.map(({ name, dtype }) => `${name} ${dtype}`)).toEqual([
      "prompt int32",
      "kv[0] float16",
      "kv[1] float16",
    ]);
    expect(template.outputs).toEqual([
      { name: "last", refs: [{ operator: 1, output: 0 }], bundle: false },
      {
        name: "kv",
        refs: [
          { operator: 0, output: 1 },
          { operator: 1, output: 1 },
        ],
        bundle: true,
      },
    ]);
    expect(template.operators[1]).toEqual({
      index: 1,
      name: "layer1",
      durationModel: "layer",
      inputs: [
        { operator: 0, output: 0, slot: -1 },
        { operator: -1, output: -1, slot: 2 },
        { operator: 0, output: 0, slot: -1 },
      ],
      externals: [],
      outputs: [
        { name: "hidden", dtype: "float16", aliases: -1 },
        { name: "kv", dtype: "float16", aliases: 1 },
      ],
      weights: [
        { name: "w1", bytes: 300 },
        { name: "shared", bytes: 55 },
      ],
      predecessors: [0],
      successors: [],
    });
    expect(template.operators[0]).toMatchObject({ durationModel: "forward/layer0", predecessors: [], successors: [1] });
    expect(template.order).toEqual([0, 1]);
  });

  test("partitions are accelerators of the cluster, each weight once on each", () => {
    expect(template.partitions).toEqual([
      {
        name: "one",
        index: 0,
        accelerators: [2],
        used: [2],
        acceleratorOf: [2, 2],
        weights: [
          { accelerator: 2, name: "w0", bytes: 300 },
          { accelerator: 2, name: "shared", bytes: 55 },
          { accelerator: 2, name: "w1", bytes: 300 },
        ],
      },
      {
        name: "two",
        index: 1,
        accelerators: [1, 0],
        used: [0, 1],
        acceleratorOf: [0, 1],
        weights: [
          { accelerator: 0, name: "w0", bytes: 300 },
          { accelerator: 0, name: "shared", bytes: 55 },
          { accelerator: 1, name: "w1", bytes: 300 },
          { accelerator: 1, name: "shared", bytes: 55 },
        ],
      },
    ]);
  });

  test("its spec is a copy that compiles to the same again", () => {
    expect(template.spec).toEqual(forward);
    expect(template.spec.operators).not.toBe(forward.operators);
    const again = compileTemplate(JSON.parse(JSON.stringify(template.spec)) as TemplateSpec, cluster);
    expect(again.operators).toEqual(template.operators);
    expect(again.partitions).toEqual(template.partitions);
  });

  test("operators may be declared in any order", () => {
    const spec = of([{ inputs: ["op2.h"] }, {}, { inputs: ["op1.h"] }]);
    const compiled = compileTemplate(spec, cluster);
    expect(compiled.order).toEqual([1, 2, 0]);
    expect(compiled.operators.map(({ predecessors, successors }) => [predecessors, successors])).toEqual([
      [[2], []],
      [[], [2]],
      [[1], [0]],
    ]);
  });

  test("names of Object.prototype are names like any other", () => {
    const compiled = compileTemplate(
      JSON.parse(`{
        "name": "__proto__", "symbols": ["__proto__", "constructor"],
        "inputs": { "__proto__": { "shape": ["__proto__"], "dtype": "int8" } },
        "operators": [
          { "name": "__proto__", "inputs": ["__proto__"], "outputs": { "__proto__": { "shape": ["constructor"], "dtype": "int8", "aliases": "__proto__" } }, "weights": { "__proto__": 7 } },
          { "name": "toString", "inputs": ["__proto__.__proto__"], "outputs": { "constructor": { "shape": ["__proto__ + 1"], "dtype": "int8" } } }
        ],
        "outputs": { "__proto__": "toString.constructor" },
        "partitions": [{ "name": "__proto__", "accelerators": ["gpu0"], "layout": [0, 0] }]
      }`) as TemplateSpec,
      cluster,
    );
    expect(compiled.outputs).toEqual([{ name: "__proto__", refs: [{ operator: 1, output: 0 }], bundle: false }]);
    expect(compiled.operators[0]?.outputs[0]).toEqual({ name: "__proto__", dtype: "int8", aliases: 0 });
    expect(compiled.partitions[0]?.weights).toEqual([{ accelerator: 0, name: "__proto__", bytes: 7 }]);
    const binding = compiled.bind(JSON.parse('{ "__proto__": 5, "constructor": 9 }') as Record<string, number>);
    expect([binding.inputBytes(0), binding.outputBytes(0, 0), binding.outputBytes(1, 0)]).toEqual([5, 9, 6]);
    expect(Object.entries(binding.symbols)).toEqual([
      ["__proto__", 5],
      ["constructor", 9],
    ]);
    expect(() => compiled.bind({})).toThrow(expect.objectContaining({ code: "UNBOUND_SYMBOL" }));
    expect(faultsOf(of([{ inputs: ["toString"] }, { inputs: ["op0.constructor"] }]))).toHaveLength(2);
  });
});

describe("faults", () => {
  test("of all kinds are named at once, with numbers and similar names", () => {
    const faults = faultsOf({
      name: "",
      symbols: ["tokens", "tokens", "max", "2x"],
      inputs: { kv: [hidden, hidden], "a.b": { shape: ["tokens", -1, "toknes"], dtype: "float17" }, none: [] },
      operators: [
        { name: "layer", inputs: ["kv", "kv[2]", "q", "layr.h", "layer.hiden"], outputs: { h: hidden }, flop: 3 },
        {
          name: "layer",
          inputs: ["layer", "a.b"],
          outputs: { h: { ...hidden, aliases: "kv[0]" } },
          workspaceBytes: "1 - 2",
        },
        { name: "l.x", outputs: [], weights: { w: -1 }, flops: "ceilDiv(1, 0)", movedBytes: 2 ** 53 },
      ],
      outputs: { o: "layer.x", p: ["kv[0]", "layer.h"], q: [] },
      partitions: [],
      partition: 3,
    });
    const lines = faults.map(({ path, message }) => `${path}: ${message}`);
    expect(lines).toEqual([
      'template.partition: is not a known field; did you mean "partitions"?',
      "name: must not be empty",
      'symbols[1]: "tokens" is declared twice',
      'symbols[2]: "max" is a function of expressions',
      'symbols[3]: "2x" is not a symbol: letters, digits and _, no digit first',
      'inputs["a.b"]: "a.b" is not an identifier: letters, digits, _ - : and /, a letter or _ first',
      'inputs["a.b"].shape[1]: must be a whole number from 0 to 2^53 − 1 or an expression, is -1',
      'inputs["a.b"].dtype: is not an element type: "float17"',
      "inputs.none: is a bundle of no tensors; leave it out",
      'operators[0].flop: is not a known field; did you mean "flops"?',
      'operators[2].name: "l.x" is not an identifier: letters, digits, _ - : and /, a letter or _ first',
      "operators[2].outputs: must be an object, is an array",
      "operators[2].movedBytes: must be a whole number from 0 to 2^53 − 1 or an expression, is 9007199254740992",
      "operators[2].weights.w: must be a whole number of bytes from 0 to 2^53 − 1, is -1",
      "outputs.q: is a bundle of no tensors; leave it out",
      "partitions: must not be empty",
      'operators[1].name: "layer" is taken by operators[0]',
      'operators[0].inputs[0]: "kv" does not name a tensor of the bundle "kv"; there is kv[0] … kv[1]',
      'operators[0].inputs[1]: "kv[2]" does not name a tensor of the bundle "kv"; there is kv[0] … kv[1]',
      'operators[0].inputs[2]: no input "q" is declared',
      'operators[0].inputs[3]: no operator "layr" is declared; did you mean "layer"?',
      'operators[0].inputs[4]: operator "layer" has no output "hiden", it has "h"',
      'operators[1].inputs[0]: "layer" is an operator; name one of its outputs: "layer.h"',
      'operators[1].inputs[1]: no operator "a" is declared',
      'outputs.o: operator "layer" has no output "x", it has "h"',
      'outputs.p[0]: "kv[0]" is an input of the template; name an output of an operator',
      `operators[1].outputs.h.aliases: "kv[0]" is not one of the operator's own inputs`,
      'inputs["a.b"].shape[2]: expression "toknes", position 0: no symbol "toknes" is declared; did you mean "tokens"?',
      'operators[1].workspaceBytes: "1 - 2" is -1, must not be negative',
      'operators[2].flops: expression "ceilDiv(1, 0)", position 0: divides by 0',
    ]);
  });

  test.each([[undefined], [null], [[]], [3], [{}], [{ operators: [], symbols: {}, outputs: 3, partitions: [null] }]])(
    "%j is refused",
    (spec) => {
      expect(faultsOf(spec).length).toBeGreaterThan(0);
    },
  );

  test("a cycle names its operators from producer to consumer, and every cycle is found", () => {
    const spec = of([
      { inputs: ["op2.h"] },
      { inputs: ["op0.h"] },
      { inputs: ["op1.h", "op3.h"] },
      {},
      { inputs: ["op4.h"] },
      { inputs: ["op0.h", "op4.h"] },
    ]);
    expect(faultsOf(spec)).toEqual([
      { path: "operators", message: "form a cycle of 3: op0 → op1 → op2 → op0" },
      { path: "operators", message: "form a cycle of 1: op4 → op4" },
    ]);
  });

  test("aliases: own inputs only, equal types, each tensor once", () => {
    const out = (aliases: string, dtype: "float16" | "int8" = "float16") =>
      ({ shape: ["tokens"], dtype, aliases }) as const;
    const spec = of(
      [
        { inputs: ["kv"], outputs: { h: out("kv"), g: out("kv") } },
        { inputs: ["op0.h"], outputs: { h: out("op0.h", "int8"), g: out("op0.g") } },
        { inputs: ["op0.h", "op0.nope"], outputs: { h: out("op0.h"), g: out("op0.nope") } },
      ],
      { inputs: { kv: hidden } },
    );
    expect(faultsOf(spec).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'operators[2].inputs[1]: operator "op0" has no output "nope", it has "h", "g"',
      'operators[0].outputs.g.aliases: "kv" is continued already by operators[0].outputs.h.aliases; a tensor is continued once',
      'operators[1].outputs.h.aliases: continues "op0.h" of float16 as int8; the types must be equal',
      `operators[1].outputs.g.aliases: "op0.g" is not one of the operator's own inputs; did you mean "op0.h"?`,
      'operators[2].outputs.h.aliases: "op0.h" is continued already by operators[1].outputs.h.aliases; a tensor is continued once',
    ]);
  });

  test("partitions: layouts, accelerators and routes", () => {
    const spec = of([{}, { inputs: ["op0.h"] }, { inputs: ["op0.h", "op1.h"] }], {
      partitions: [
        { name: "p", accelerators: ["gpu0", "gpu1"], layout: [0, 1, 1] },
        { name: "p", accelerators: ["gpu1", "gpu0"], layout: [0, 1, 1] },
        { name: "short", accelerators: ["gpu0"], layout: [0, 0] },
        { name: "range", accelerators: ["gpu0"], layout: [0, 1, -1] },
        { name: "unknown", accelerators: ["gpu0", "gpu9", "gpu0"], layout: [0, 0, 0] },
        { name: "empty", accelerators: [], layout: [] },
      ],
    });
    expect(faultsOf(spec).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "partitions[3].layout[2]: must be a whole number of positions from 0 to 2^53 − 1, is -1",
      "partitions[5].accelerators: must not be empty",
      'partitions[1].name: "p" is taken by partitions[0]',
      'partitions[1].layout: operator "op1" on "gpu0" reads from "op0" on "gpu1", and no link connects them; declare one, or a defaultLink',
      "partitions[2].layout: has 2 positions for 3 operators",
      "partitions[3].layout[1]: is 1, the partition has 1 accelerators, from 0",
      'partitions[4].accelerators[1]: the cluster has no accelerator "gpu9"; did you mean "gpu0" or "gpu1" or "gpu2"?',
      'partitions[4].accelerators[2]: "gpu0" stands in the partition twice',
      "partitions[5].layout: has 0 positions for 3 operators",
    ]);
  });

  test("weights: equal names have equal bytes, and what is laid on an accelerator fits it to the byte", () => {
    const weights = (a: number, b: number) => of([{ weights: { a } }, { weights: { b } }]);
    expect(compileTemplate(weights(445, 450), cluster).partitions[0]?.weights).toHaveLength(2);
    expect(faultsOf(weights(445, 451))).toEqual([
      {
        path: "partitions[0]",
        message:
          'the weights laid on "gpu0" take 910 bytes and its baseline 100 bytes, its capacity is 1000 bytes: 10 bytes over; spread the template over more accelerators',
      },
    ]);
    expect(faultsOf(of([{ weights: { a: 1 } }, { weights: { a: 2 } }]))).toEqual([
      {
        path: "operators[1].weights.a",
        message: "has 2 bytes, but 1 bytes at operators[0].weights.a; equal names mean equal weights",
      },
    ]);
    expect(compileTemplate(of([{ weights: { a: 900 } }, { weights: { a: 900 } }]), cluster).name).toBe("t");
  });

  test("80,000 of them end in a thousand named and no more", () => {
    const spec = of(
      Array.from({ length: 20_000 }, (_, i) => ({
        inputs: [`op${i}.x`, `opp${i}.h`, `z${i}`],
        workspaceBytes: "toknes",
      })),
    );
    const faults = faultsOf(spec);
    expect(faults).toHaveLength(1000);
  }, 60_000);
});

describe("size", () => {
  test("a cycle of 50,000 operators is named in short", () => {
    const count = 50_000;
    const [fault] = faultsOf(
      of(Array.from({ length: count }, (_, i) => ({ inputs: [`op${(i + count - 1) % count}.h`] }))),
    );
    expect(fault?.message).toBe(
      "form a cycle of 50000: op0 → op1 → op2 → op3 → op4 → op5 → op6 → op7 → op8 → op9 → op10 → … 49988 more … → op49999 → op0",
    );
  }, 60_000);

  test("a fan-out of 1,000 and a fan-in of 1,000", () => {
    const fan = Array.from({ length: 1000 }, () => ({ inputs: ["op0.h"] }));
    const spec = of([{}, ...fan, { inputs: fan.map((_, i) => `op${i + 1}.h`) }]);
    const template = compileTemplate(spec, cluster);
    expect(template.operators[0]?.successors).toHaveLength(1000);
    expect(template.operators[1001]?.predecessors).toEqual(fan.map((_, i) => i + 1));
  });
});
