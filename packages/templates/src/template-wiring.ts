import type { CompiledOperator, OperatorInput, Template, TemplateOutput } from "./template.ts";
import { orderOperators } from "./template-order.ts";
import { type Found, References } from "./template-references.ts";
import type { OperatorSpec, TemplateSpec } from "./types.ts";
import { at, describe, type Faults } from "./validation.ts";

/** A template's references, resolved: per operator what it reads and continues, and who comes before whom. */
export interface Wiring {
  readonly inputs: Template["inputs"];
  readonly slots: Template["slots"];
  readonly externals: Template["externals"];
  readonly outputs: readonly TemplateOutput[];
  /** Per operator and declared input. One reference is one object, so that equal references are identical. */
  readonly inputsOf: readonly (readonly OperatorInput[])[];
  /** Per operator: the distinct host data it reads. */
  readonly externalsOf: readonly CompiledOperator["externals"][];
  /** Per operator and output: index of the input it continues, or −1; empty where none continues anything. */
  readonly aliasesOf: readonly (readonly number[])[];
  readonly predecessors: readonly CompiledOperator["predecessors"][];
  readonly successors: readonly CompiledOperator["successors"][];
  /** Complete only where there is no cycle. */
  readonly order: readonly number[];
}

/** Resolves every reference. Linear in references. */
export function wire(faults: Faults, spec: TemplateSpec): Wiring {
  const references = new References(faults, spec);
  const found = spec.operators.map((operator, i) =>
    (operator.inputs ?? NONE).map((reference, j) => references.resolve(reference, `operators[${i}].inputs[${j}]`)),
  );
  const inputsOf = found.map(tensorsAmong);
  const predecessors = inputsOf.map(distinctProducers);
  const successors = invert(predecessors);
  return {
    inputs: references.inputs,
    slots: references.slots,
    externals: references.externals,
    outputs: wireOutputs(spec, references),
    inputsOf,
    externalsOf: found.map(externalsAmong),
    aliasesOf: wireAliases(faults, spec, references, inputsOf),
    predecessors,
    successors,
    order: orderOperators(faults, spec.operators, predecessors),
  };
}

const NONE: readonly never[] = [];

function isTensor(found: Found | null): found is OperatorInput {
  return found !== null && typeof found !== "number";
}

/** Most operators read nothing else; they keep the list they have. */
function tensorsAmong(found: readonly (Found | null)[]): readonly OperatorInput[] {
  return found.every(isTensor) ? found : found.filter(isTensor);
}

function externalsAmong(found: readonly (Found | null)[]): readonly number[] {
  if (found.every(isTensor)) return NONE;
  return [...new Set(found.filter((each) => typeof each === "number"))];
}

function distinctProducers(inputs: readonly OperatorInput[]): number[] {
  const producers = inputs.map(({ operator }) => operator).filter((operator) => operator >= 0);
  return producers.length < 2 ? producers : [...new Set(producers)].sort((a, b) => a - b);
}

/** Consumers are visited by rising index, so every list comes out ascending. */
function invert(predecessors: readonly (readonly number[])[]): number[][] {
  const successors: number[][] = predecessors.map(() => []);
  predecessors.forEach((before, operator) => {
    for (const predecessor of before) successors[predecessor]?.push(operator);
  });
  return successors;
}

function wireOutputs(spec: TemplateSpec, references: References): TemplateOutput[] {
  return Object.entries(spec.outputs).map(([name, declared]) => {
    const bundle = typeof declared !== "string";
    const refs = (bundle ? declared : [declared]).flatMap((reference, i) => {
      const path = bundle ? `outputs.${name}[${i}]` : `outputs.${name}`;
      const found = references.resolveProduced(reference, path);
      return found === null ? [] : [{ operator: found.operator, output: found.output }];
    });
    return { name, refs, bundle };
  });
}

/** An alias names one of its operator's own inputs of the same element type; a tensor is continued at most once. */
function wireAliases(
  faults: Faults,
  spec: TemplateSpec,
  references: References,
  inputsOf: readonly (readonly OperatorInput[])[],
): (readonly number[])[] {
  const continuedAt = new Map<OperatorInput, string>();
  return spec.operators.map((operator, i) => {
    const outputs = Object.entries(operator.outputs);
    if (outputs.every(([, { aliases }]) => aliases === undefined)) return NONE;
    const positions = positionsOf(inputsOf[i] ?? NONE);
    return outputs.map(([name, { aliases, dtype }]) => {
      if (aliases === undefined) return -1;
      const path = `${at(`operators[${i}].outputs`, name)}.aliases`;
      const input = references.find(aliases);
      const position = isTensor(input) ? positions.get(input) : undefined;
      if (!isTensor(input) || position === undefined) {
        if (!faults.full) whyNotOwn(faults, operator, input, aliases, path);
        return -1;
      }
      const given = references.dtypeOf(input);
      if (given !== dtype) {
        faults.add(path, `continues ${describe(aliases)} of ${given} as ${dtype}; the types must be equal`);
      }
      const before = continuedAt.get(input);
      if (before === undefined) continuedAt.set(input, path);
      else faults.add(path, `${describe(aliases)} is continued already by ${before}; a tensor is continued once`);
      return position;
    });
  });
}

/** Where each input stands first. */
function positionsOf(inputs: readonly OperatorInput[]): ReadonlyMap<OperatorInput, number> {
  const positions = new Map<OperatorInput, number>();
  inputs.forEach((input, position) => {
    if (!positions.has(input)) positions.set(input, position);
  });
  return positions;
}

function whyNotOwn(faults: Faults, operator: OperatorSpec, found: Found | null, reference: string, path: string): void {
  const own = operator.inputs ?? NONE;
  if (!own.includes(reference)) {
    faults.add(path, `${describe(reference)} is not one of the operator's own inputs${faults.suggest(reference, own)}`);
  } else if (typeof found === "number") {
    faults.add(path, `${describe(reference)} is host data, which is freed with its reader and cannot be continued`);
  }
  // An input that does not resolve has its fault already.
}
