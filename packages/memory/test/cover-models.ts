import { compileTemplate, type OperatorSpec, type TemplateSpec, type TensorSpec } from "@slicescheduler/templates";
import fc from "fast-check";
import { cluster, type Graph } from "./cover-graphs.ts";

/** Chain-like models: layers as one fused operator each or in five, with a KV cache that stays, on one to three accelerators. */
export const models = fc.record({
  layers: fc.integer({ min: 1, max: 4 }),
  style: fc.constantFrom("fused", "blocks", "split"),
  /** Activations of a fused block beside the hidden state. */
  activations: fc.integer({ min: 0, max: 2 }),
  decode: fc.boolean(),
  /** Whether a decode step finds the KV cache where it needs it. */
  isLocal: fc.boolean(),
  accelerators: fc.integer({ min: 1, max: 3 }),
  tokens: fc.constantFrom(1, 7, 64, 500, 5000),
  past: fc.constantFrom(0, 100, 9000),
});

export type Model = typeof models extends fc.Arbitrary<infer Value> ? Value : never;

const tensor = (rows: string, width: number): TensorSpec => ({ shape: [rows, width], dtype: "bfloat16" });
const hidden = tensor("tokens", 4096);
const wide = tensor("tokens", 14336);

export function modelOf(model: Model): Graph {
  const operators: OperatorSpec[] = [{ name: "embed", outputs: { h: hidden } }];
  let last = "embed.h";
  for (let layer = 0; layer < model.layers; layer++) {
    for (const each of layerOf(model, layer, last)) operators.push(each);
    last = `${operators.at(-1)?.name}.h`;
  }
  operators.push({ name: "head", inputs: [last], outputs: { logits: tensor("1", 128256) } });
  const kv = operators.flatMap(({ name, outputs }) => (outputs["kv"] === undefined ? [] : [`${name}.kv`]));
  const layers = Array.from({ length: model.layers }, (_, layer) => layer);
  const spec: TemplateSpec = {
    name: "model",
    symbols: ["tokens", "past"],
    ...(model.decode ? { inputs: { kv: layers.map(() => tensor("past", 2048)) } } : {}),
    operators,
    outputs: { kv, logits: "head.logits" },
    partitions: [
      {
        name: "p",
        accelerators: ["a", "b", "c"].slice(0, model.accelerators),
        layout: operators.map((_, i) => Math.floor((i * model.accelerators) / operators.length)),
      },
    ],
  };
  const template = compileTemplate(spec, cluster);
  const binding = template.bind({ tokens: model.tokens, past: model.past });
  const homes: (number | null)[] = template.slots.map(() => -1);
  for (const { index, inputs } of template.operators) {
    for (const { slot } of inputs) {
      if (slot < 0) continue;
      homes[slot] = model.isLocal ? (template.partitions[0]?.acceleratorOf[index] ?? -1) : -1;
      if (binding.inputBytes(slot) === 0) homes[slot] = null;
    }
  }
  return { template, binding, inputs: { homes } };
}

function layerOf({ style, activations, decode }: Model, layer: number, last: string): OperatorSpec[] {
  const own = decode ? [`kv[${layer}]`] : [];
  const kv = { ...tensor("past + tokens", 2048), ...(decode ? { aliases: `kv[${layer}]` } : {}) };
  if (style === "fused") return [{ name: `layer${layer}`, inputs: [last, ...own], outputs: { h: hidden, kv } }];
  if (style === "blocks") {
    const names = Array.from({ length: activations }, (_, i) => `act${i}`);
    return [
      {
        name: `attention${layer}`,
        inputs: [last, ...own],
        outputs: { h: hidden, kv, ...Object.fromEntries(names.map((name) => [name, wide])) },
      },
      {
        name: `mlp${layer}`,
        inputs: [`attention${layer}.h`, ...names.map((name) => `attention${layer}.${name}`)],
        outputs: { h: hidden },
      },
    ];
  }
  return [
    { name: `qkv${layer}`, inputs: [last, ...own], outputs: { q: hidden, kv } },
    { name: `attn${layer}`, inputs: [`qkv${layer}.q`, `qkv${layer}.kv`], outputs: { o: hidden } },
    { name: `add${layer}`, inputs: [last, `attn${layer}.o`], outputs: { h: hidden } },
    { name: `up${layer}`, inputs: [`add${layer}.h`], outputs: { gate: wide, up: wide } },
    { name: `down${layer}`, inputs: [`up${layer}.gate`, `up${layer}.up`, `add${layer}.h`], outputs: { h: hidden } },
  ];
}
