import type { CompiledOperator, OperatorInput, Template, TemplateOutput } from "./template.ts";
import { orderOperators } from "./template-order.ts";
import { References } from "./template-references.ts";
import type { OperatorSpec, TemplateSpec } from "./types.ts";
import { describe, type Faults } from "./validation.ts";

/** A template's references, resolved: per operator what it reads and continues, and who comes before whom. */
export interface Wiring {
  readonly inputs: Template["inputs"];
  readonly slots: Template["slots"];
  readonly outputs: readonly TemplateOutput[];
  /** Per operator and declared input. One reference is one object, so that equal references are identical. */
  readonly inputsOf: readonly (readonly OperatorInput[])[];
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
  const inputsOf = spec.operators.map((operator, i) =>
    (operator.inputs ?? []).map((reference, j) => references.resolve(reference, `operators[${i}].inputs[${j}]`)),
  );
  const known = inputsOf.map(withoutNulls);
  const predecessors = known.map(distinctProducers);
  const successors = invert(predecessors);
  return {
    inputs: references.inputs,
    slots: references.slots,
    outputs: wireOutputs(spec, references),
    inputsOf: known,
    aliasesOf: wireAliases(faults, spec, references, inputsOf),
    predecessors,
    successors,
    order: orderOperators(faults, spec.operators, predecessors),
  };
}

function withoutNulls(inputs: readonly (OperatorInput | null)[]): readonly OperatorInput[] {
  return inputs.includes(null) ? inputs.filter((input) => input !== null) : (inputs as readonly OperatorInput[]);
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

const NO_ALIASES: readonly number[] = [];

/** An alias names one of its operator's own inputs of the same element type; a tensor is continued at most once. */
function wireAliases(
  faults: Faults,
  spec: TemplateSpec,
  references: References,
  inputsOf: readonly (readonly (OperatorInput | null)[])[],
): (readonly number[])[] {
  const continuedAt = new Map<OperatorInput, string>();
  return spec.operators.map((operator, i) => {
    const outputs = Object.entries(operator.outputs);
    if (outputs.every(([, { aliases }]) => aliases === undefined)) return NO_ALIASES;
    return outputs.map(([name, output]) => {
      if (output.aliases === undefined) return -1;
      const path = `operators[${i}].outputs.${name}.aliases`;
      const input = ownInput(faults, operator, references, output.aliases, inputsOf[i] ?? [], path);
      if (input === null) return -1;
      const dtype = references.dtypeOf(input);
      if (dtype !== output.dtype) {
        faults.add(
          path,
          `continues ${describe(output.aliases)} of ${dtype} as ${output.dtype}; the types must be equal`,
        );
      }
      const before = continuedAt.get(input);
      if (before === undefined) continuedAt.set(input, path);
      else
        faults.add(path, `${describe(output.aliases)} is continued already by ${before}; a tensor is continued once`);
      return inputsOf[i]?.indexOf(input) ?? -1;
    });
  });
}

function ownInput(
  faults: Faults,
  operator: OperatorSpec,
  references: References,
  reference: string,
  inputs: readonly (OperatorInput | null)[],
  path: string,
): OperatorInput | null {
  const input = references.find(reference);
  if (input !== null && inputs.includes(input)) return input;
  const own = operator.inputs ?? [];
  // An input that does not resolve has its fault already.
  if (input === null && own.includes(reference)) return null;
  faults.add(path, `${describe(reference)} is not one of the operator's own inputs${faults.suggest(reference, own)}`);
  return null;
}
