import { type Binding, bind } from "./binding.ts";
import type { Cluster } from "./cluster.ts";
import { TemplateInvalidError } from "./errors.ts";
import { compilePartitions } from "./template-partitions.ts";
import { planTemplate } from "./template-plan.ts";
import { readTemplate } from "./template-read.ts";
import { type Wiring, wire } from "./template-wiring.ts";
import type { AcceleratorIndex, Dtype, OperatorSpec, SymbolValues, TemplateSpec } from "./types.ts";
import { Faults } from "./validation.ts";

/**
 * A registered template: names resolved to indices, expressions compiled, order known. Immutable, and rebuilt from its
 * `spec` alone, so a snapshot stores the spec.
 */
export interface Template<
  Symbols extends string = string,
  Inputs extends string = string,
  Outputs extends string = string,
  Bounded extends Symbols = never,
> {
  /** A copy of what was declared. */
  readonly spec: TemplateSpec<Symbols, Inputs, Outputs>;
  readonly name: string;
  readonly symbols: readonly Symbols[];
  /** Inputs bound to results of earlier instances; a bundle takes `count` consecutive slots from `first` on. */
  readonly inputs: readonly TemplateInput[];
  /** Input slots over all inputs. */
  readonly inputSlots: number;
  readonly slots: readonly TemplateTensor[];
  /** Host data that operators read, bundles spread out. */
  readonly externals: readonly TemplateTensor[];
  readonly outputs: readonly TemplateOutput[];
  readonly operators: readonly CompiledOperator[];
  /** Operator indices, every operator after its predecessors; the declared order where that is already so. */
  readonly order: readonly number[];
  readonly partitions: readonly CompiledPartition[];
  /** Undefined when it has no output of that name. Costs O(1). */
  outputNamed(name: string): TemplateOutput | undefined;
  /**
   * Gives the symbols values and so every tensor its bytes. Costs well under 1 µs per operator. A symbol that is left out and
   * has a bound gives every size the largest that it can have for any value up to the bound.
   * Throws UNKNOWN_SYMBOL, UNBOUND_SYMBOL, INVALID_SYMBOL_VALUE (also above its bound), NEGATIVE_DIMENSION, DIVISION_BY_ZERO,
   * BYTES_OVERFLOW.
   */
  bind(symbols: SymbolValues<Symbols, Bounded>): Binding;
}

/** A tensor from outside the template: how references write it, `"hidden"` or `"kv[2]"` of a bundle, and its element type. */
export interface TemplateTensor {
  readonly name: string;
  readonly dtype: Dtype;
}

export interface TemplateInput {
  readonly name: string;
  readonly first: number;
  readonly count: number;
  readonly bundle: boolean;
}

export interface TemplateOutput {
  readonly name: string;
  readonly refs: readonly { readonly operator: number; readonly output: number }[];
  readonly bundle: boolean;
}

export interface CompiledOperator {
  /** Position in the template. */
  readonly index: number;
  readonly name: string;
  readonly durationModel: string;
  /** Tensors on accelerators, in declared order; one reference may stand twice. */
  readonly inputs: readonly OperatorInput[];
  /** Distinct host data that it reads, as indices in the template's `externals`, in declared order. */
  readonly externals: readonly number[];
  readonly outputs: readonly CompiledOutput[];
  readonly weights: readonly { readonly name: string; readonly bytes: number }[];
  /** Distinct operator indices, ascending. */
  readonly predecessors: readonly number[];
  readonly successors: readonly number[];
}

/** Either an output of an operator of the template (`slot` −1) or an input slot (`operator` and `output` −1). */
export interface OperatorInput {
  readonly operator: number;
  readonly output: number;
  readonly slot: number;
}

export interface CompiledOutput {
  readonly name: string;
  readonly dtype: Dtype;
  /** Index in the operator's `inputs` of the tensor whose buffer it continues, or −1. */
  readonly aliases: number;
}

export interface CompiledPartition {
  readonly name: string;
  /** Position in the template. */
  readonly index: number;
  readonly accelerators: readonly AcceleratorIndex[];
  /** Those of them that operators are laid on. */
  readonly used: readonly AcceleratorIndex[];
  /** Per operator. */
  readonly acceleratorOf: readonly AcceleratorIndex[];
  /** Each weight once per accelerator that needs it, in declared bytes. */
  readonly weights: readonly {
    readonly accelerator: AcceleratorIndex;
    readonly name: string;
    readonly bytes: number;
  }[];
}

/**
 * Checks a template against a cluster and compiles it. Linear in operators and references.
 * Throws TEMPLATE_INVALID, whose `faults` name everything wrong at once.
 */
export function compileTemplate<
  const Symbols extends string,
  const Inputs extends string = never,
  const Outputs extends string = never,
  const Bounded extends Symbols = never,
>(
  spec: TemplateSpec<Symbols, Inputs, Outputs, Bounded>,
  cluster: Cluster,
): Template<Symbols, Inputs, Outputs, Bounded> {
  const faults = new Faults();
  const read = readTemplate(faults, spec);
  const wiring = wire(faults, read);
  const plan = planTemplate(faults, read, wiring);
  const partitions = compilePartitions(faults, read, cluster, wiring);
  if (!faults.none) throw new TemplateInvalidError(read.name, faults.list);
  const outputs = new Map(wiring.outputs.map((output) => [output.name, output]));
  const template: Template = {
    spec: read,
    name: read.name,
    symbols: read.symbols,
    inputs: wiring.inputs,
    inputSlots: wiring.slots.length,
    slots: wiring.slots,
    externals: wiring.externals,
    outputs: wiring.outputs,
    operators: read.operators.map((operator, index) => compileOperator(read.name, operator, index, wiring)),
    order: wiring.order,
    partitions,
    outputNamed: (name) => outputs.get(name),
    bind: (symbols) => bind(template, plan, symbols),
  };
  // What was read has the names of what was given.
  return template as Template<Symbols, Inputs, Outputs, Bounded>;
}

const NONE: readonly never[] = [];

function compileOperator(template: string, operator: OperatorSpec, index: number, wiring: Wiring): CompiledOperator {
  const aliases = wiring.aliasesOf[index] ?? [];
  return {
    index,
    name: operator.name,
    durationModel: operator.durationModel ?? `${template}/${operator.name}`,
    inputs: wiring.inputsOf[index] ?? NONE,
    externals: wiring.externalsOf[index] ?? NONE,
    outputs: Object.keys(operator.outputs).map((name, output) => ({
      name,
      dtype: operator.outputs[name]?.dtype ?? "float32",
      aliases: aliases[output] ?? -1,
    })),
    weights:
      operator.weights === undefined
        ? NONE
        : Object.entries(operator.weights).map(([name, bytes]) => ({ name, bytes })),
    predecessors: wiring.predecessors[index] ?? [],
    successors: wiring.successors[index] ?? [],
  };
}

/**
 * Gives a template's symbol, input and output names to the type checker, so that a misspelt one does not compile where
 * the template is used. Returns its argument; checks nothing at run time.
 */
export function defineTemplate<
  const Symbols extends string,
  const Inputs extends string = never,
  const Outputs extends string = never,
  const Bounded extends Symbols = never,
>(spec: TemplateSpec<Symbols, Inputs, Outputs, Bounded>): TemplateSpec<Symbols, Inputs, Outputs, Bounded> {
  return spec;
}

const partitionsByName = new WeakMap<Template, ReadonlyMap<string, CompiledPartition>>();

/** O(1) but for the first time. */
export function partitionNamed(template: Template, name: string): CompiledPartition | undefined {
  return partitionsNamed(template).get(name);
}

export function partitionsNamed(template: Template): ReadonlyMap<string, CompiledPartition> {
  let byName = partitionsByName.get(template);
  if (byName === undefined) {
    byName = new Map(template.partitions.map((partition) => [partition.name, partition]));
    partitionsByName.set(template, byName);
  }
  return byName;
}
