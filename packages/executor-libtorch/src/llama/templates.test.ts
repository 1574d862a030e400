import { compileCluster, compileTemplate, type Template, type TemplateSpec } from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";
import { defineLlama, llamaModel } from "./model.ts";
import { llamaPartitions } from "./partitions.ts";
import type { LlamaShape } from "./shape.ts";
import type { LlamaOptions } from "./templates.ts";
import { safetensorsLlamaWeights, seededLlamaWeights } from "./weights.ts";

const shape: LlamaShape = {
  name: "tiny",
  layers: 4,
  hidden: 32,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  intermediate: 48,
  vocabulary: 64,
};
const names = ["a0", "a1", "a2", "a3"];
const cluster = compileCluster({
  accelerators: names.map((name) => ({ name, kind: "cpu", hbmBytes: 1e9 })),
  defaultLink: { latencyNs: 1000, bytesPerSecond: 1e9 },
});
const partitions = llamaPartitions(names, 4);
const model = llamaModel({ shape, partitions });
const passes = [model.prefill, model.extend, model.decode];
const compiled = (spec: TemplateSpec): Template => compileTemplate(spec, cluster);

describe("the passes of a model as templates", () => {
  test("a chain of one operator per layer, or of fewer", () => {
    for (const { template } of passes) {
      expect(compiled(template).operators.map(({ predecessors }) => predecessors)).toEqual([[], [0], [1], [2]]);
    }
    const pairs = llamaModel({ shape, partitions: llamaPartitions(names, 2), layersPerOperator: 2 });
    expect(compiled(pairs.decode.template).operators.map(({ name }) => name)).toEqual(["layers0-1", "layers2-3"]);
  });

  test("a program for each operator, by its name", () => {
    for (const { template, programs } of passes) {
      expect(Object.keys(programs)).toEqual(template.operators.map(({ name }) => name));
      for (const { name, outputs } of template.operators) {
        expect(programs[name]?.outputs).toHaveLength(Object.keys(outputs).length);
      }
    }
  });

  test("the cache has room for the capacity from the start, is continued in place and grows by nothing", () => {
    const cacheBytes = 2 * 2 * 100 * 8 * 4;
    const prefill = compiled(model.prefill.template).bind({ tokens: 10, capacity: 100 });
    const decode = compiled(model.decode.template);
    const step = decode.bind({ past: 10, capacity: 100 });
    decode.operators.forEach(({ outputs, inputs }, index) => {
      const kv = outputs.findIndex(({ name }) => name === "kv");
      expect(prefill.outputBytes(index, kv)).toBe(cacheBytes);
      expect(step.outputBytes(index, kv)).toBe(cacheBytes);
      const aliased = inputs[outputs[kv]?.aliases ?? -1];
      expect(step.inputBytes(aliased?.slot ?? -1)).toBe(cacheBytes);
    });
  });

  test("the token that a step takes in is the tensor that the pass before made", () => {
    expect(model.decode.template.operators[0]?.inputs).toEqual(["kv[0]", "token"]);
    expect(model.prefill.template.outputs.token).toBe("layer3.token");
    expect(model.prefill.template.operators[0]?.inputs).toEqual(["prompt"]);
  });

  test("templates of one model share their weights, layer by layer, whatever the grouping", () => {
    const weights = ({ operators }: TemplateSpec) =>
      new Map(operators.flatMap((it) => Object.entries(it.weights ?? {})));
    const of = weights(model.prefill.template);
    expect(weights(model.decode.template)).toEqual(of);
    expect(weights(llamaModel({ shape, partitions: [], layersPerOperator: 2 }).extend.template)).toEqual(of);
    const layer = 32 * 32 + 2 * 16 * 32 + 32 * 32 + 3 * 32 * 48 + 2 * 32;
    expect(of.get("tiny/layer2")).toBe(4 * layer);
    expect([...of.keys()]).toEqual([
      "tiny/embedding",
      "tiny/layer0",
      "tiny/layer1",
      "tiny/layer2",
      "tiny/layer3",
      "tiny/head",
    ]);
  });

  test("in half precision weights and cache take half", () => {
    const half = llamaModel({ shape: { ...shape, dtype: "bfloat16" }, partitions });
    const bytes = (it: typeof model) => it.decode.template.operators[1]?.weights?.["tiny/layer1"] ?? 0;
    expect(bytes(half)).toBe(bytes(model) / 2);
    expect(compiled(half.decode.template).bind({ past: 1, capacity: 8 }).outputBytes(1, 1)).toBe(2 * 2 * 8 * 8 * 2);
  });

  test("what kernels take beside is added on request", () => {
    const more = llamaModel({ shape, partitions, extraWorkspaceBytes: "1000 * tokens" });
    const bytes = (it: typeof model) =>
      compiled(it.prefill.template).bind({ tokens: 7, capacity: 9 }).workspaceBytes(1);
    expect(bytes(more)).toBe(bytes(model) + 7000);
  });

  test.each<[string, object, RegExp]>([
    ["no layers", { layers: 0 }, /shape.layers is 0/],
    ["layers of which there are too many to name", { layers: 1e9 }, /shape.layers is 1000000000/],
    ["half a layer", { layers: 1.5 }, /shape.layers is 1.5/],
    ["a size that is none", { hidden: Number.NaN }, /shape.hidden is NaN/],
    ["a negative size", { vocabulary: -1 }, /shape.vocabulary is -1/],
    ["KV heads that do not divide the heads", { kvHeads: 3 }, /heads is 4, no multiple of the 3 kvHeads/],
    ["more KV heads than heads", { kvHeads: 8 }, /no multiple of the 8/],
    ["an odd head", { headDim: 15 }, /headDim is 15, which is odd/],
    ["no wavelength", { ropeTheta: 0 }, /ropeTheta is 0/],
    ["a negative epsilon", { normEpsilon: -1e-5 }, /normEpsilon is -0.00001/],
    ["another type", { dtype: "int8" }, /dtype is "int8", none of float32/],
    ["no name", { name: "" }, /name is ""/],
    ["a misspelt field", { ropeTeta: 5 }, /"ropeTeta".*did you mean "ropeTheta"/],
    ["all of it", { layers: 0, heads: 0, ropeTheta: -1 }, /layers.*heads.*ropeTheta/],
  ])("a shape with %s is refused by whatever takes one", (_, change, message) => {
    const wrong = { ...shape, ...change };
    const refusal = expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) });
    expect(() => llamaModel({ shape: wrong, partitions })).toThrow(refusal);
    expect(() => seededLlamaWeights(wrong, 1)).toThrow(refusal);
    expect(() => safetensorsLlamaWeights(wrong, { fileOf: () => "f" })).toThrow(refusal);
  });

  test.each<[unknown, RegExp]>([
    [null, /options are null/],
    [{ partitions }, /shape is undefined/],
    [{ shape, partitions, layersPerOperators: 2 }, /did you mean "layersPerOperator"/],
    [{ shape }, /partitions is no list/],
    [{ shape, partitions, fetchLogits: "yes", layersPerOperator: 0 }, /fetchLogits.*layersPerOperator is 0/],
  ])("options %# are refused", (options, message) => {
    expect(() => llamaModel(options as LlamaOptions)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });

  test("layers per operator divide the layers", () => {
    expect(() => llamaModel({ shape, partitions, layersPerOperator: 3 })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    );
  });
});

describe("partitions", () => {
  test("over one, two and four accelerators", () => {
    expect(partitions.map(({ name, layout }) => [name, layout.join("")])).toEqual([
      ["a0", "0000"],
      ["a1", "0000"],
      ["a2", "0000"],
      ["a3", "0000"],
      ["a0+a1", "0011"],
      ["a2+a3", "0011"],
      ["a0+a1+a2+a3", "0123"],
    ]);
    for (const [operators, sizes] of [
      [4, [1.5]],
      [4, [0]],
      [4, [Number.NaN]],
      [0, [1]],
    ] as const)
      expect(() => llamaPartitions(names, operators, sizes)).toThrow(
        expect.objectContaining({ code: "INVALID_OPTION" }),
      );
    expect(llamaPartitions(["x", "y", "z"], 2, [1, 2, 4]).map(({ name }) => name)).toEqual(["x", "y", "z", "x+y"]);
  });
});

describe("weights", () => {
  const declared = model.prefill.template.operators.flatMap((it) => Object.keys(it.weights ?? {}));

  test("there is a source for each name that the templates declare, and all go to the executor", () => {
    const given: string[] = [];
    const registry = { define: (name: string) => given.push(name), defineWeights: (name: string) => given.push(name) };
    defineLlama(registry, model, seededLlamaWeights(shape, 1));
    expect(given).toEqual(["tiny/prefill", "tiny/extend", "tiny/decode", ...declared]);
  });

  test("no two units are drawn from one seed", () => {
    const seeds = [1, 2].flatMap((seed) =>
      Object.values(seededLlamaWeights(shape, seed)).map((source) => ("seed" in source ? source.seed : -1)),
    );
    expect(new Set(seeds).size).toBe(2 * declared.length);
  });

  test("of a checkpoint: files and names", () => {
    const sources = safetensorsLlamaWeights(shape, {
      fileOf: (tensor) => (tensor.includes("layers.3.") ? "second" : "first"),
      nameOf: (tensor) => tensor.replace("lm_head", "model.embed_tokens"),
    });
    expect(Object.keys(sources)).toEqual(declared);
    expect(sources["tiny/head"]).toEqual({
      safetensors: "first",
      tensors: { "model.norm.weight": "model.norm.weight", "lm_head.weight": "model.embed_tokens.weight" },
    });
    expect(sources["tiny/layer3"]).toMatchObject({ safetensors: "second" });
    const spread = () => safetensorsLlamaWeights(shape, { fileOf: (tensor) => (tensor.includes("mlp") ? "a" : "b") });
    expect(spread).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining("layer0") }),
    );
  });
});
