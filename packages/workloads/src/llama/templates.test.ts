import { compileCluster, compileTemplate } from "@slicescheduler/gmg";
import { describe, expect, test } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import { spreadPartitions } from "./partitions.ts";
import { llamaDecode, llamaExtend, llamaPrefill } from "./templates.ts";

const spec = colocationCluster();
const cluster = compileCluster(spec);
const prefill = compileTemplate(llamaPrefill({ cluster: spec }), cluster);
const decode = compileTemplate(llamaDecode({ cluster: spec }), cluster);

const layersBytes = 8 * 436_224_000;
const embeddingBytes = 1_050_673_152;
const indexOfOutput = (template: Pick<typeof prefill, "operators">, operator: number, name: string): number =>
  template.operators[operator]?.outputs.findIndex((output) => output.name === name) ?? -1;

describe("Llama 3 8B in operators of eight layers", () => {
  test("four operators in a chain", () => {
    for (const template of [prefill, decode]) {
      expect(template.operators.map((operator) => operator.name)).toEqual([
        "layers0-7",
        "layers8-15",
        "layers16-23",
        "layers24-31",
      ]);
      expect(template.operators.map((operator) => operator.predecessors)).toEqual([[], [0], [1], [2]]);
    }
  });

  test("prefill: KV of 4,096 B and an activation of 8,192 B a token", () => {
    const binding = prefill.bind({ tokens: 100 });
    for (let operator = 0; operator < 4; operator++) {
      expect(binding.outputBytes(operator, indexOfOutput(prefill, operator, "kv"))).toBe(100 * 8 * 4096);
    }
    for (let operator = 0; operator < 3; operator++) {
      expect(binding.outputBytes(operator, indexOfOutput(prefill, operator, "hidden"))).toBe(100 * 8192);
    }
    expect(binding.outputBytes(3, indexOfOutput(prefill, 3, "token"))).toBe(8);
  });

  test("decode: continues each part of the cache in place by one token", () => {
    const binding = decode.bind({ past: 100 });
    decode.operators.forEach((operator, index) => {
      const kv = indexOfOutput(decode, index, "kv");
      const aliased = operator.inputs[operator.outputs[kv]?.aliases ?? -1];
      expect(aliased?.slot).toBe((decode.inputs.find((input) => input.name === "kv")?.first as number) + index);
      expect(binding.inputBytes(aliased?.slot ?? -1)).toBe(100 * 8 * 4096);
      expect(binding.outputBytes(index, kv)).toBe(101 * 8 * 4096);
    });
    expect(binding.outputBytes(0, indexOfOutput(decode, 0, "hidden"))).toBe(8192);
  });

  test("prefill and decode share weights by name; a whole model has 16.06 GB", () => {
    const weights = (template: typeof prefill | typeof decode): unknown => template.operators.map((o) => o.weights);
    expect(weights(decode)).toEqual(weights(prefill));
    const bytes = prefill.operators.map((o) => o.weights.reduce((sum, weight) => sum + weight.bytes, 0));
    expect(bytes).toEqual([layersBytes + embeddingBytes, layersBytes, layersBytes, layersBytes + embeddingBytes]);
  });

  test("other numbers of layers per operator name the same weights: each layer, embedding and head once", () => {
    const named = (layersPerOperator: number): Map<string, number> => {
      const { operators } = llamaPrefill({ cluster: spec, layersPerOperator });
      return new Map(operators.flatMap((operator) => Object.entries(operator.weights ?? {})));
    };
    expect(named(8).size).toBe(34);
    expect(new Map([...named(4)].sort())).toEqual(new Map([...named(8)].sort()));
  });

  test("a further piece of a prompt continues the cache, needs no token, and costs what the rest of the prefill costs", () => {
    const extend = compileTemplate(llamaExtend({ cluster: spec }), cluster);
    expect(extend.inputs.map((input) => input.name)).toEqual(["kv"]);
    const piece = extend.bind({ tokens: 300, past: 700 });
    const whole = prefill.bind({ tokens: 1000 });
    const first = prefill.bind({ tokens: 700 });
    extend.operators.forEach((operator, index) => {
      const kv = indexOfOutput(extend, index, "kv");
      expect(operator.inputs[operator.outputs[kv]?.aliases ?? -1]?.slot).toBe(index);
      expect(piece.outputBytes(index, kv)).toBe(whole.outputBytes(index, indexOfOutput(prefill, index, "kv")));
      // The head works once per piece, on the last token only.
      const headFlops = index === 3 ? embeddingBytes : 0;
      expect(first.flops(index) + piece.flops(index) - headFlops).toBe(whole.flops(index));
    });
  });

  test("the prior's figures: two operations per weight and token, weights read once", () => {
    const binding = prefill.bind({ tokens: 1000 });
    expect(binding.flops(1)).toBe(1000 * layersBytes + 500_000 * 8 * 4 * 4096);
    expect(binding.flops(3)).toBe(binding.flops(1) + embeddingBytes);
    expect(decode.bind({ past: 999 }).movedBytes(1)).toBe(layersBytes + 1000 * 8 * 4096 + 2 * 8192);
  });

  test("partitions: four pairs and two quads, the same for both templates", () => {
    const described = (template: typeof prefill | typeof decode): unknown =>
      template.partitions.map((partition) => [partition.name, partition.acceleratorOf]);
    expect(described(prefill)).toEqual([
      ["pair0", [0, 0, 1, 1]],
      ["pair1", [2, 2, 3, 3]],
      ["pair2", [4, 4, 5, 5]],
      ["pair3", [6, 6, 7, 7]],
      ["quad0", [0, 1, 2, 3]],
      ["quad1", [4, 5, 6, 7]],
    ]);
    expect(described(decode)).toEqual(described(prefill));
  });
});

describe("options", () => {
  test("four layers an operator can lie on all eight accelerators", () => {
    const options = { cluster: spec, layersPerOperator: 4, partitionSizes: [2, 4, 8] };
    const template = compileTemplate(llamaPrefill(options), cluster);
    expect(template.operators).toHaveLength(8);
    const eight = template.partitions.find((partition) => partition.name === "eight0");
    expect(eight?.acceleratorOf).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(template.partitions.find((p) => p.name === "quad1")?.acceleratorOf).toEqual([4, 4, 5, 5, 6, 6, 7, 7]);
  });

  test("spread partitions take one accelerator of each group", () => {
    expect(spreadPartitions(spec, 4).map(({ name, accelerators, layout }) => [name, accelerators, layout])).toEqual([
      ["spread0", ["a0", "a2", "a4", "a6"], [0, 1, 2, 3]],
      ["spread1", ["a1", "a3", "a5", "a7"], [0, 1, 2, 3]],
    ]);
    expect(spreadPartitions(spec, 8)).toEqual([]);
    expect(spreadPartitions(colocationCluster({ accelerators: 6 }), 4)).toEqual([]);
  });

  test.each([
    [{ layersPerOperator: 5 }, /divisor of 32 layers/],
    [{ layersPerOperator: 0 }, /divisor/],
    [{ partitionSizes: [8] }, /from 1 to 4 \(8 accelerators, 4 operators\)/],
    [{ partitionSizes: [0] }, /partition size/],
  ])("refuses %j", (options, reason) => {
    expect(() => llamaDecode({ cluster: spec, ...options })).toThrowError(reason);
  });
});
