import {
  type Binding,
  type Cluster,
  compileCluster,
  compileTemplate,
  type OperatorSpec,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/templates";
import fc from "fast-check";
import type { InstanceInputs } from "../src/cover-references.ts";

export const cluster: Cluster = compileCluster({
  accelerators: ["a", "b", "c"].map((name) => ({ name, kind: "k", hbmBytes: 1e9 })),
  defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 },
});

export interface Graph {
  readonly template: Template;
  readonly binding: Binding;
  readonly inputs: InstanceInputs;
}

/** Sizes in one to three directions, so that a cover made for some sizes is tried at others. */
const size = fc.oneof(
  fc.nat(9).map(String),
  fc.integer({ min: 1, max: 4 }).map((n) => `n * ${n}`),
  fc.constantFrom("m", "m * 3", "m + n", "max(m, n)"),
);

const operator = fc.record({
  inputs: fc.oneof(
    { weight: 5, arbitrary: fc.array(fc.nat(40), { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant<number[]>([]) },
  ),
  outputs: fc.array(fc.record({ size, continues: fc.option(fc.nat(2), { freq: 1 }) }), { minLength: 1, maxLength: 2 }),
  position: fc.nat(2),
  workspace: fc.nat(5),
});

export interface Choice {
  readonly operators: readonly {
    readonly inputs: readonly number[];
    readonly outputs: readonly { readonly size: string; readonly continues: number | null }[];
    readonly position: number;
    readonly workspace: number;
  }[];
  readonly slots: readonly { readonly size: string; readonly home: number; readonly kept: boolean }[];
  readonly named: readonly number[];
  readonly accelerators: number;
  readonly n: number;
  readonly m: number;
}

const home = fc.constantFrom(0, 0, 1, 2, -1, null);

/** Small graphs with several accelerators, aliases, several outputs, shared outputs, kept and named ones. */
export function choices(operatorsMax: number, accelerators = fc.integer({ min: 1, max: 3 })): fc.Arbitrary<Choice> {
  return fc.record({
    operators: fc.array(operator, { minLength: 1, maxLength: operatorsMax, size: "max" }),
    slots: fc.array(fc.record({ size, home: home as fc.Arbitrary<number>, kept: fc.boolean() }), { maxLength: 2 }),
    named: fc.array(fc.nat(40), { maxLength: 2 }),
    accelerators,
    n: fc.nat(9),
    m: fc.nat(9),
  });
}

/** Mostly one of the last few, so that graphs are deep enough for holdings to come before one another. */
function pickOf(tensors: readonly string[], pick: number): string {
  const among = pick < 30 ? Math.min(3, tensors.length) : tensors.length;
  return tensors[tensors.length - 1 - (pick % among)] ?? "";
}

export function graphOf(choice: Choice): Graph {
  const tensors = choice.slots.map((_, slot) => `in[${slot}]`);
  const produced: string[] = [];
  const continued = new Set<string>();
  const operators = choice.operators.map(({ inputs, outputs, workspace }, index): OperatorSpec => {
    const read = tensors.length === 0 ? [] : [...new Set(inputs.map((pick) => pickOf(tensors, pick)))];
    const made = outputs.map(({ size: bytes, continues }, output) => {
      const aliases = continues === null || read.length === 0 ? undefined : read[continues % read.length];
      const isNew = aliases !== undefined && !continued.has(aliases);
      if (isNew) continued.add(aliases);
      const tensor = { shape: [bytes], dtype: "int8" as const };
      return [`o${output}`, isNew ? { ...tensor, aliases } : tensor] as const;
    });
    for (const [name] of made) {
      tensors.push(`op${index}.${name}`);
      produced.push(`op${index}.${name}`);
    }
    return { name: `op${index}`, inputs: read, outputs: Object.fromEntries(made), workspaceBytes: workspace };
  });
  const named = produced.length === 0 ? [] : choice.named.map((pick) => produced[pick % produced.length] ?? "");
  const spec: TemplateSpec = {
    name: "t",
    symbols: ["n", "m"],
    ...(choice.slots.length === 0
      ? {}
      : { inputs: { in: choice.slots.map(({ size: bytes }) => ({ shape: [bytes], dtype: "int8" as const })) } }),
    operators,
    outputs: Object.fromEntries([...new Set(named)].map((reference, i) => [`out${i}`, reference])),
    partitions: [
      {
        name: "p",
        accelerators: ["a", "b", "c"].slice(0, choice.accelerators),
        layout: choice.operators.map(({ position }) => position % choice.accelerators),
      },
    ],
  };
  const template = compileTemplate(spec, cluster);
  const binding = template.bind({ n: choice.n, m: choice.m });
  const homes = choice.slots.map((slot, i) => (slot.home === null && binding.inputBytes(i) > 0 ? -1 : slot.home));
  return { template, binding, inputs: { homes, kept: choice.slots.map(({ kept }) => kept) } };
}
