import type { ClusterSpec, OperatorSpec, OutputSpec, PartitionSpec, TemplateSpec } from "@slicescheduler/gmg";
import fc from "fast-check";
import { pick } from "./clusters.ts";

export interface TemplateOptions {
  /** Templates at most, at least 1. Default 3. */
  readonly templatesMax?: number;
  /** Operators of a template at least. Default 1. */
  readonly operatorsMin?: number;
  /** Operators of a template at most, at least 2. Default 7. */
  readonly operatorsMax?: number;
  /** Accelerators named by a partition at least, from 1 to 3; some may be the same. Default 1. */
  readonly spreadMin?: number;
  /** Partitions at most, at least 1. Default 3. */
  readonly partitionsMax?: number;
}

/** Names of the symbols, inputs and outputs by which instances of these templates are chained. */
export const PAST = "past";
export const TOKENS = "tokens";
export const STATE = "state";
export const HIDDEN = "hidden";

/**
 * A family of small templates laid on a cluster: chains, fan-outs, fan-ins and random graphs, some with workspace, with
 * weights that they share, with outputs that continue one of their operator's inputs in place.
 *
 * Some have a bundle `state` like a KV cache: as input `past` rows, as output, in the same buffer, `past + tokens`. All give
 * `hidden`, and all but the first may read one, of `tokens` rows. So any of them can go on from any other one. All have the
 * partitions `p0`, `p1`, …, each laid at random.
 */
export function templates(cluster: ClusterSpec, options: TemplateOptions = {}): fc.Arbitrary<TemplateSpec[]> {
  return drawnFamilies(options).map((drawn) => buildTemplates(drawn, cluster));
}

const graphs = ["chain", "fan", "random"] as const;

interface DrawnOperator {
  readonly inputs: readonly number[];
  readonly extraBytes: number | null;
  /** Which of its inputs the extra output continues. */
  readonly continues: number | null;
  readonly workspace: "none" | "constant" | "growing";
  readonly weight: number | null;
}

interface DrawnTemplate {
  readonly graph: (typeof graphs)[number];
  readonly stateful: boolean;
  readonly readsHidden: boolean;
  readonly operators: readonly DrawnOperator[];
  readonly layouts: readonly (readonly number[])[];
}

/** Of no cluster yet, so that a whole world can be drawn at once and shrinks well. */
export interface DrawnFamily {
  readonly stateLayers: number;
  readonly stateRowBytes: number;
  readonly hiddenRowBytes: number;
  readonly partitions: readonly (readonly number[])[];
  readonly templates: readonly DrawnTemplate[];
}

export function drawnFamilies(options: TemplateOptions = {}): fc.Arbitrary<DrawnFamily> {
  const { templatesMax = 3, operatorsMin = 1, operatorsMax = 7, spreadMin = 1, partitionsMax = 3 } = options;
  const operator: fc.Arbitrary<DrawnOperator> = fc.record({
    inputs: fc.array(pick, { maxLength: 3 }),
    extraBytes: fc.option(fc.nat({ max: 40 })),
    continues: fc.option(pick),
    workspace: fc.constantFrom("none", "constant", "growing"),
    weight: fc.option(fc.nat({ max: 2 }), { freq: 2 }),
  });
  const layout = fc.array(pick, { minLength: operatorsMax, maxLength: operatorsMax });
  const template: fc.Arbitrary<DrawnTemplate> = fc.record({
    graph: fc.constantFrom(...graphs),
    stateful: fc.boolean(),
    readsHidden: fc.boolean(),
    operators: fc.array(operator, { minLength: operatorsMin, maxLength: operatorsMax }),
    layouts: fc.array(layout, { minLength: partitionsMax, maxLength: partitionsMax }),
  });
  return fc.record({
    stateLayers: fc.integer({ min: 1, max: 2 }),
    stateRowBytes: fc.integer({ min: 1, max: 12 }),
    hiddenRowBytes: fc.integer({ min: 1, max: 16 }),
    partitions: fc.array(fc.array(pick, { minLength: spreadMin, maxLength: 3 }), {
      minLength: 1,
      maxLength: partitionsMax,
    }),
    templates: fc.array(template, { minLength: 1, maxLength: templatesMax }),
  });
}

export function buildTemplates(drawn: DrawnFamily, cluster: ClusterSpec): TemplateSpec[] {
  const names = cluster.accelerators.map((accelerator) => accelerator.name);
  const accelerators = drawn.partitions.map((picks) => [...new Set(picks.map((p) => names[p % names.length] ?? ""))]);
  return drawn.templates.map((template, index) => {
    const builder = new TemplateBuilder(drawn, template, index > 0 && template.readsHidden);
    return {
      name: `t${index}`,
      symbols: [PAST, TOKENS],
      inputs: builder.inputs(),
      operators: builder.operators(),
      outputs: builder.outputs(),
      partitions: accelerators.map(
        (on, p): PartitionSpec => ({
          name: `p${p}`,
          accelerators: on,
          layout: template.operators.map((_, o) => (template.layouts[p]?.[o] ?? 0) % on.length),
        }),
      ),
    };
  });
}

/** Weights are the same wherever they are named. */
const WEIGHT_BYTES = [16, 40, 64];

class TemplateBuilder {
  readonly #family: DrawnFamily;
  readonly #template: DrawnTemplate;
  readonly #readsHidden: boolean;
  readonly #layers: number;
  /** What the next operator may read. */
  readonly #references: string[] = [];
  readonly #continued = new Set<string>();

  constructor(family: DrawnFamily, template: DrawnTemplate, readsHidden: boolean) {
    this.#family = family;
    this.#template = template;
    this.#readsHidden = readsHidden;
    this.#layers = template.stateful && template.operators.length >= family.stateLayers ? family.stateLayers : 0;
  }

  inputs(): NonNullable<TemplateSpec["inputs"]> {
    const { stateRowBytes, hiddenRowBytes } = this.#family;
    const layer = { shape: [PAST, stateRowBytes], dtype: "uint8" } as const;
    return {
      ...(this.#layers > 0 ? { [STATE]: Array.from({ length: this.#layers }, () => layer) } : {}),
      ...(this.#readsHidden ? { [HIDDEN]: { shape: [TOKENS, hiddenRowBytes], dtype: "uint8" } } : {}),
    };
  }

  outputs(): TemplateSpec["outputs"] {
    const last = this.#template.operators.length - 1;
    return {
      ...(this.#layers > 0 ? { [STATE]: Array.from({ length: this.#layers }, (_, i) => `o${i}.${STATE}`) } : {}),
      [HIDDEN]: `o${last}.${HIDDEN}`,
    };
  }

  operators(): OperatorSpec[] {
    return this.#template.operators.map((drawn, index) => {
      const inputs = this.#inputsOf(drawn, index);
      const outputs = this.#outputsOf(drawn, index, inputs);
      for (const name of Object.keys(outputs)) this.#references.push(`o${index}.${name}`);
      return {
        name: `o${index}`,
        inputs,
        outputs,
        ...(drawn.workspace === "none"
          ? {}
          : { workspaceBytes: drawn.workspace === "constant" ? 50 : `5 * ${TOKENS} + ${PAST}` }),
        ...(drawn.weight === null ? {} : { weights: { [`w${drawn.weight}`]: WEIGHT_BYTES[drawn.weight] ?? 0 } }),
      };
    });
  }

  #inputsOf(drawn: DrawnOperator, index: number): string[] {
    const { graph, operators } = this.#template;
    const inputs = new Set<string>();
    if (index < this.#layers) inputs.add(`${STATE}[${index}]`);
    if (index === 0 && this.#readsHidden) inputs.add(HIDDEN);
    const isLast = index === operators.length - 1;
    if (graph === "chain" && index > 0) inputs.add(`o${index - 1}.${HIDDEN}`);
    if (graph === "fan" && index > 0 && !isLast) inputs.add(`o0.${HIDDEN}`);
    if (graph === "fan" && isLast) for (let i = 0; i < index; i++) inputs.add(`o${i}.${HIDDEN}`);
    if (graph === "random" && this.#references.length > 0) {
      for (const choice of drawn.inputs) inputs.add(this.#references[choice % this.#references.length] ?? "");
    }
    return [...inputs];
  }

  #outputsOf(drawn: DrawnOperator, index: number, inputs: readonly string[]): Record<string, OutputSpec> {
    const { stateRowBytes, hiddenRowBytes } = this.#family;
    const outputs: Record<string, OutputSpec> = {};
    if (index < this.#layers) {
      const aliases = `${STATE}[${index}]`;
      this.#continued.add(aliases);
      outputs[STATE] = { shape: [`${PAST} + ${TOKENS}`, stateRowBytes], dtype: "uint8", aliases };
    }
    outputs[HIDDEN] = { shape: [TOKENS, hiddenRowBytes], dtype: "uint8" };
    if (drawn.extraBytes === null) return outputs;
    // Instances that go on from the state continue it.
    const open = inputs.filter((input) => !this.#continued.has(input) && !input.endsWith(`.${STATE}`));
    const aliases = drawn.continues === null ? undefined : open[drawn.continues % Math.max(1, open.length)];
    if (aliases !== undefined) this.#continued.add(aliases);
    const shape = [TOKENS, drawn.extraBytes];
    outputs["extra"] = { shape, dtype: "uint8", ...(aliases === undefined ? {} : { aliases }) };
    return outputs;
  }
}
