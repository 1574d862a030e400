import type { IssueInstruction } from "@slicescheduler/executor";
import {
  type Binding,
  type Cluster,
  type CompiledOperator,
  compileExpression,
  compileTemplate,
  DTYPES,
  type Program as Expression,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/templates";
import type { NativeAddon } from "../native/addon.ts";
import type { IssueDetails } from "../native/batch.ts";
import { LibtorchError, withFaults } from "../programs/errors.ts";
import { lowerProgram } from "../programs/lower.ts";
import type { Program } from "../programs/types.ts";
import type { WeightsBook } from "./weights-book.ts";

/** What the engine is told of an operator: which numbers it needs with each issue. */
interface Kernel {
  readonly number: number;
  readonly symbols: readonly Expression[];
  /** Per declared input its place among the distinct ones; host data are not counted. */
  readonly places: readonly number[];
  /** Per distinct input: the slot of the template, or −1 for a result of another operator. */
  readonly slots: readonly number[];
}

type Programs = Readonly<Record<string, Program>>;

interface Known {
  readonly template: Template;
  readonly spec: string;
  /** Those that the kernels were compiled from. */
  readonly programs: Programs | undefined;
  readonly kernels: readonly Kernel[];
  /** By the symbols of an instance, which all of its issues share: their values in declared order, and the binding where it was needed. */
  readonly values: WeakMap<object, readonly number[]>;
  readonly bindings: WeakMap<object, Binding>;
}

type AddKernel = (program: ReturnType<NativeAddon["compileProgram"]>["program"], weights: readonly number[]) => number;

/** The programs of operators, as they were defined, and compiled for the templates that were registered. */
export class Kernels {
  readonly #addon: NativeAddon;
  readonly #weights: WeightsBook;
  readonly #programs = new Map<string, Programs>();
  readonly #known = new Map<string, Known>();

  constructor(addon: NativeAddon, weights: WeightsBook) {
    this.#addon = addon;
    this.#weights = weights;
  }

  /**
   * Of operators of a template, by their names. A second definition of one replaces the first when the template is registered next, and for what is issued
   * from then on. Throws PROGRAM_INVALID for what is no program at all.
   */
  define(template: string, programs: Programs): void {
    const about = `the programs of ${JSON.stringify(template)}`;
    if (!isObject(programs)) throw invalid(`${about} are given by operator, { name: program }, got ${words(programs)}`);
    for (const [operator, program] of Object.entries(programs))
      if (!isObject(program))
        throw invalid(`${about}: ${JSON.stringify(operator)} is ${words(program)}; a program is { calls, outputs }`);
    this.#programs.set(template, { ...this.#programs.get(template), ...programs });
  }

  /** Compiles a template's programs, unless nothing changed since. Throws PROGRAM_MISSING, PROGRAM_INVALID, UNKNOWN_OPERATOR, WRONG_ARGUMENT, WEIGHTS_MISSING, WEIGHTS_INVALID, and TEMPLATE_INVALID of the graph. */
  register(spec: TemplateSpec, cluster: Cluster, addKernel: AddKernel): void {
    const text = JSON.stringify(spec);
    const programs = this.#programs.get(spec.name);
    const before = this.#known.get(spec.name);
    if (before?.spec === text && before.programs === programs) return;
    const template = compileTemplate(spec, cluster);
    const kernels = template.operators.map((operator) => this.#compile(template, operator, addKernel));
    const cached = { values: new WeakMap(), bindings: new WeakMap() };
    this.#known.set(template.name, { template, spec: text, programs, kernels, ...cached });
  }

  /** What the engine needs with an issue that the core has taken. */
  details({ template: name, operator, symbols, inputs }: IssueInstruction): IssueDetails {
    const known = this.#known.get(name);
    const kernel = known?.kernels[operator];
    if (known === undefined || kernel === undefined) throw new RangeError(`${name} has no kernel ${operator}`);
    const values = valuesOf(known, symbols);
    return {
      kernel: kernel.number,
      declared: declaredInputs(known, kernel, symbols, inputs.length),
      symbols: kernel.symbols.map((expression) => expression.evaluate(values)),
    };
  }

  /** The name of an operator. */
  nameOf(template: string, operator: number): string {
    return this.#known.get(template)?.template.operators[operator]?.name ?? "";
  }

  #compile(template: Template, operator: CompiledOperator, addKernel: AddKernel): Kernel {
    const about = `${template.name}/${operator.name}`;
    const program = this.#programs.get(template.name)?.[operator.name];
    if (program === undefined)
      throw new LibtorchError(
        "PROGRAM_MISSING",
        `${about}: no program is defined; call executor.define(${JSON.stringify(template.name)}, { ${JSON.stringify(operator.name)}: … }) before the template is registered`,
      );
    const { json, symbols } = lowerProgram(program, template, operator.index);
    const compiled = withFaults(about, () => this.#addon.compileProgram(json));
    const scripts = program.calls.flatMap((call) => ("script" in call ? [call.script] : []));
    this.#weights.check(about, operator, compiled.weightNames, scripts);
    const weights = operator.weights.map(({ name }) => this.#weights.numberOf(name));
    const distinct: string[] = [];
    const places = operator.inputs.map((input) => {
      const key = JSON.stringify(input);
      if (!distinct.includes(key)) distinct.push(key);
      return distinct.indexOf(key);
    });
    const slots = distinct.map((key) => operator.inputs.find((input) => JSON.stringify(input) === key)?.slot ?? -1);
    return {
      number: addKernel(compiled.program, weights),
      symbols: symbols.map((text) => compileExpression(text, template.symbols)),
      places,
      slots,
    };
  }
}

/** Slots without bytes may be unbound, and are then not among the issue's inputs: the program gets empty tensors for them. */
function declaredInputs(
  known: Known,
  { places, slots }: Kernel,
  symbols: IssueInstruction["symbols"],
  issued: number,
): IssueDetails["declared"] {
  if (issued === slots.length) return places;
  const binding = bindingOf(known, symbols);
  const isUnbound = slots.map((slot) => slot >= 0 && binding.inputBytes(slot) === 0);
  const bound = isUnbound.filter((unbound) => !unbound).length;
  if (bound !== issued)
    throw new LibtorchError(
      "PROGRAM_INVALID",
      `${known.template.name}: ${issued} of ${slots.length} inputs are bound, and ${bound} have bytes; bind all of those without bytes, or none`,
    );
  let at = 0;
  const found = slots.map((slot, place) => {
    if (isUnbound[place] !== true) return at++;
    const dtype = known.template.slots[slot]?.dtype ?? "uint8";
    return { dtype: DTYPES.indexOf(dtype), shape: binding.inputShape(slot) };
  });
  return places.map((place) => found[place] ?? 0);
}

function valuesOf({ template, values }: Known, symbols: IssueInstruction["symbols"]): readonly number[] {
  const before = values.get(symbols);
  if (before !== undefined) return before;
  const found = template.symbols.map((symbol) => symbols[symbol] ?? template.spec.bounds?.[symbol] ?? 0);
  values.set(symbols, found);
  return found;
}

function bindingOf({ template, bindings }: Known, symbols: IssueInstruction["symbols"]): Binding {
  const before = bindings.get(symbols);
  if (before !== undefined) return before;
  const binding = template.bind(symbols);
  bindings.set(symbols, binding);
  return binding;
}

function isObject(given: unknown): boolean {
  return typeof given === "object" && given !== null;
}

function words(given: unknown): string {
  return given === null ? "null" : typeof given;
}

function invalid(message: string): LibtorchError {
  return new LibtorchError("PROGRAM_INVALID", message);
}
