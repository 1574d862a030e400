/** Random clusters and templates for tests of the graph, small and tight. */
import { type ClusterSpec, compileCluster, GlobalMappingGraph, type TemplateSpec } from "@slicescheduler/gmg";
import fc from "fast-check";

/** How an operator of a random template is to be made; picks are taken modulo what exists. */
export interface OperatorPlan {
  readonly inputs: readonly number[];
  readonly outputs: readonly { readonly bytes: number; readonly alias: number; readonly grows: boolean }[];
  readonly workspaceBytes: number;
  readonly weightBytes: number;
}

export interface TemplatePlan {
  readonly operators: readonly OperatorPlan[];
  readonly slots: number;
  readonly layouts: readonly (readonly number[])[];
}

/** An input by its producer, or by its external slot (then `operator` is −1). */
export interface PlannedInput {
  readonly operator: number;
  readonly output: number;
}

/** A template as the tests know it, beside its specification. */
export interface PlannedTemplate {
  readonly spec: TemplateSpec;
  readonly slots: number;
  readonly operators: readonly {
    readonly inputs: readonly PlannedInput[];
    readonly outputs: readonly { readonly alias: number; bytesOf(symbols: Readonly<Record<string, number>>): number }[];
    readonly workspaceBytes: number;
  }[];
}

export const PARTITIONS = ["p", "q"];

export const worldArbitrary = fc.record({
  accelerators: fc.array(
    fc.record({
      capacityBytes: fc.integer({ min: 60, max: 400 }),
      granularityBytes: fc.constantFrom(1, 8),
      baselineBytes: fc.constantFrom(0, 5),
      marginBytes: fc.constantFrom(0, 3),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  templates: fc.array(
    fc.record({
      operators: fc.array(
        fc.record({
          inputs: fc.array(fc.nat(20), { maxLength: 3 }),
          outputs: fc.array(
            fc.record({ bytes: fc.nat(20), alias: fc.integer({ min: -2, max: 2 }), grows: fc.boolean() }),
            {
              maxLength: 2,
            },
          ),
          workspaceBytes: fc.constantFrom(0, 0, 7, 30),
          weightBytes: fc.constantFrom(0, 0, 9),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      slots: fc.integer({ min: 0, max: 2 }),
      layouts: fc.array(fc.array(fc.nat(2), { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

export type World = typeof worldArbitrary extends fc.Arbitrary<infer T> ? T : never;

/** The graph with every template that its weights leave room for. */
export function buildWorld({ accelerators, templates }: World): {
  graph: GlobalMappingGraph;
  templates: PlannedTemplate[];
} {
  const spec: ClusterSpec = {
    accelerators: accelerators.map(({ capacityBytes, granularityBytes, baselineBytes, marginBytes }, i) => ({
      name: `a${i}`,
      kind: "k",
      hbmBytes: capacityBytes,
      granularityBytes,
      externalBaselineBytes: baselineBytes,
      marginBytes,
    })),
    defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 },
  };
  const graph = new GlobalMappingGraph(compileCluster(spec));
  const planned = templates.map((plan, i) => planTemplate(`t${i}`, plan, accelerators.length));
  for (const { spec: template } of planned) graph.registerTemplate(template);
  return { graph, templates: planned };
}

/** External input `x0` has `s0` bytes, and so on; outputs have their own bytes and `n`, or continue an input. */
export function planTemplate(name: string, plan: TemplatePlan, accelerators: number): PlannedTemplate {
  const known: (PlannedInput & { readonly text: string; readonly size: string })[] = [];
  for (let slot = 0; slot < plan.slots; slot++) {
    known.push({ operator: -1, output: slot, text: `x${slot}`, size: `s${slot}` });
  }
  const continued = new Set<string>();
  const operators = plan.operators.map((operator, index) => {
    const inputs = [
      ...new Set(known.length === 0 ? [] : operator.inputs.map((pick) => known[pick % known.length])),
    ].filter((input) => input !== undefined);
    const outputs = operator.outputs.map(({ bytes, alias, grows }) => {
      const input = alias < 0 || inputs.length === 0 ? undefined : inputs[alias % inputs.length];
      if (input === undefined || continued.has(input.text)) return { alias: -1, size: `n + ${bytes}`, text: "" };
      continued.add(input.text);
      return {
        alias: inputs.indexOf(input),
        size: grows ? `(${input.size}) + ${bytes}` : `n + ${bytes}`,
        text: input.text,
      };
    });
    outputs.forEach(({ size }, output) => {
      known.push({ operator: index, output, text: `op${index}.o${output}`, size });
    });
    return { inputs, outputs, operator };
  });
  const on = Array.from({ length: accelerators }, (_, i) => `a${i}`);
  const spec: TemplateSpec = {
    name,
    symbols: ["n", "s0", "s1"],
    inputs: Object.fromEntries(
      known.slice(0, plan.slots).map(({ text, size }) => [text, { shape: [size], dtype: "int8" as const }]),
    ),
    operators: operators.map(({ inputs, outputs, operator }, index) => ({
      name: `op${index}`,
      inputs: inputs.map(({ text }) => text),
      outputs: Object.fromEntries(
        outputs.map(({ alias, size, text }, o) => [
          `o${o}`,
          { shape: [size], dtype: "int8" as const, ...(alias < 0 ? {} : { aliases: text }) },
        ]),
      ),
      workspaceBytes: operator.workspaceBytes,
      weights: operator.weightBytes === 0 ? {} : { shared: 9 },
    })),
    outputs: Object.fromEntries(
      // A third of them stay inside, and can go as soon as they were read.
      operators.flatMap(({ outputs }, index) =>
        outputs.flatMap((_, o) =>
          (plan.operators[index]?.outputs[o]?.bytes ?? 0) % 3 === 2 ? [] : [[`o${index}_${o}`, `op${index}.o${o}`]],
        ),
      ),
    ),
    partitions: plan.layouts.map((layout, i) => ({
      name: PARTITIONS[i] ?? "",
      accelerators: on,
      layout: plan.operators.map((_, index) => (layout[index] ?? 0) % accelerators),
    })),
  };
  return {
    spec,
    slots: plan.slots,
    operators: operators.map(({ inputs, outputs, operator }) => ({
      inputs,
      outputs: outputs.map(({ alias, size }) => ({ alias, bytesOf: (symbols) => sum(size, symbols) })),
      workspaceBytes: operator.workspaceBytes,
    })),
  };
}

/** Sizes are sums: every symbol and number in the text, added up. */
function sum(size: string, symbols: Readonly<Record<string, number>>): number {
  let total = 0;
  for (const [term] of size.matchAll(/\w+/g)) total += symbols[term] ?? Number(term);
  return total;
}
