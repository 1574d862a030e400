import {
  InvalidSymbolValueError,
  NegativeDimensionError,
  UnboundSymbolError,
  UndefinedDimensionError,
  UnknownSymbolError,
} from "./binding-errors.ts";
import { BytesOverflowError } from "./errors.ts";
import { ExpressionValueError } from "./expression-errors.ts";
import type { Template } from "./template.ts";
import type { PlannedExpression, TemplatePlan } from "./template-plan.ts";
import { nearNames } from "./validation.ts";

/** A template with values for its symbols. Immutable; every look-up costs O(1). */
export interface Binding {
  readonly template: Template;
  readonly symbols: Readonly<Record<string, number>>;
  /** The symbols' values in declared order: what duration models see. */
  readonly features: readonly number[];
  /** Symbols that were left out: their value is the declared bound, and every size is the largest up to it. */
  readonly assumed: readonly string[];
  /** Exact bytes, not rounded to any granularity. */
  outputBytes(operator: number, output: number): number;
  outputShape(operator: number, output: number): readonly number[];
  inputBytes(slot: number): number;
  inputShape(slot: number): readonly number[];
  /** By index in the template's `externals`. */
  externalBytes(external: number): number;
  externalShape(external: number): readonly number[];
  /** What it takes while it runs, beside its tensors: its declared workspace and its host data. */
  workspaceBytes(operator: number): number;
  /** The part of `workspaceBytes` that its host data take, each of them once. */
  hostBytes(operator: number): number;
  /** Declared floating-point operations; rounded to a double past 2^53. */
  flops(operator: number): number;
  /** Declared, or the operator's distinct inputs, outputs, host data and weights. */
  movedBytes(operator: number): number;
}

/** Everything that a plan gives for one set of symbol values. */
interface Evaluation {
  /** The symbols' values, and the least that each may be, in declared order; they differ for those that were left out. */
  readonly features: readonly number[];
  readonly least: readonly number[];
  readonly assumed: readonly string[];
  /** Per expression of the plan. */
  readonly values: readonly number[];
  /** Per tensor of the plan. */
  readonly tensorBytes: readonly number[];
  /** Per profile of the plan. */
  readonly workspaceBytes: readonly number[];
  readonly hostBytes: readonly number[];
  readonly movedBytes: readonly number[];
}

/** Evaluates everything at once, so that whatever can fail fails here. Linear in the distinct expressions. */
export function bind(template: Template, plan: TemplatePlan, symbols: Readonly<Record<string, number>>): Binding {
  const read = readSymbols(template, plan, symbols);
  const values = plan.expressions.map((expression) => evaluate(template, expression, read.features, read.least));
  const tensorBytes = plan.tensors.map(({ dimensions, elementBytes, path }) => {
    let bytes = elementBytes;
    for (const dimension of dimensions) bytes *= values[dimension] ?? 0;
    // A product that is 0 may pass through NaN only when it passed 2^1024 first, and dimensions are at most 16 · 2^53.
    if (bytes > Number.MAX_SAFE_INTEGER) throw tooManyBytes(template, `${path} of about ${bytes.toPrecision(4)} bytes`);
    return bytes;
  });
  const sum = (first: number, tensors: readonly number[], what: string) => {
    let bytes = first;
    for (const tensor of tensors) bytes += tensorBytes[tensor] ?? 0;
    if (bytes > Number.MAX_SAFE_INTEGER) throw tooManyBytes(template, what);
    return bytes;
  };
  const hostBytes = plan.profiles.map(({ externalTensors, path }) => sum(0, externalTensors, `${path}: host data`));
  const workspaceBytes = plan.profiles.map(({ workspaceBytes: declared, externalTensors, path }) =>
    sum(values[declared] ?? 0, externalTensors, `${path}.workspaceBytes (with host data)`),
  );
  const movedBytes = plan.profiles.map(({ movedBytes: declared, movedTensors, weightBytes, path }) =>
    declared >= 0
      ? (values[declared] ?? 0)
      : sum(weightBytes, movedTensors, `${path}.movedBytes (inputs, outputs and weights)`),
  );
  return new BoundTemplate(template, plan, { ...read, values, tensorBytes, workspaceBytes, hostBytes, movedBytes });
}

function readSymbols(
  template: Template,
  { bounds }: TemplatePlan,
  given: Readonly<Record<string, number>>,
): Pick<Evaluation, "features" | "least" | "assumed"> {
  const declared = template.symbols;
  const unknown = Object.keys(given).filter((name) => !declared.includes(name));
  if (unknown.length > 0) {
    throw new UnknownSymbolError(template.name, unknown, declared, nearNames(unknown[0] ?? "", declared));
  }
  const isLeftOut = (name: string) => !Object.hasOwn(given, name) || given[name] === undefined;
  const unbound = declared.filter((name, i) => isLeftOut(name) && bounds[i] === undefined);
  if (unbound.length > 0) throw new UnboundSymbolError(template.name, unbound);
  const assumed = declared.filter(isLeftOut);
  const features = declared.map((name, i) => {
    const bound = bounds[i];
    if (bound !== undefined && assumed.includes(name)) return bound;
    const value = given[name];
    if (value === undefined || !Number.isSafeInteger(value) || value < 0 || value > (bound ?? value)) {
      throw new InvalidSymbolValueError(template.name, name, value, bound);
    }
    return value + 0;
  });
  const least =
    assumed.length === 0 ? features : features.map((value, i) => (isLeftOut(declared[i] ?? "") ? 0 : value));
  return { features, least, assumed };
}

function evaluate(
  template: Template,
  { program, rounded, path }: PlannedExpression,
  features: readonly number[],
  least: readonly number[],
): number {
  try {
    const value = rounded
      ? program.evaluateRounded(features)
      : least === features
        ? program.evaluate(features)
        : program.evaluateMost(least, features);
    if (value >= 0) return value;
    throw new NegativeDimensionError(template.name, path, program.text, value, symbolsOf(template, features));
  } catch (error) {
    if (!(error instanceof ExpressionValueError)) throw error;
    if (error.code === "DIVISION_BY_ZERO") throw new UndefinedDimensionError(template.name, path, error);
    throw tooManyBytes(template, path, error);
  }
}

function tooManyBytes(template: Template, what: string, cause?: ExpressionValueError): BytesOverflowError {
  const why = cause === undefined ? "" : ` (${cause.message})`;
  return new BytesOverflowError(`template ${JSON.stringify(template.name)}: ${what}${why}`, cause);
}

/** Defines own keys only, so that a symbol may be called `__proto__`. */
function symbolsOf(template: Template, features: readonly number[]): Readonly<Record<string, number>> {
  return Object.fromEntries(template.symbols.map((name, i) => [name, features[i] ?? 0]));
}

class BoundTemplate implements Binding {
  readonly template: Template;
  readonly symbols: Readonly<Record<string, number>>;
  readonly features: readonly number[];
  readonly assumed: readonly string[];
  readonly #plan: TemplatePlan;
  readonly #evaluation: Evaluation;

  constructor(template: Template, plan: TemplatePlan, evaluation: Evaluation) {
    this.template = template;
    this.symbols = symbolsOf(template, evaluation.features);
    this.features = evaluation.features;
    this.assumed = evaluation.assumed;
    this.#plan = plan;
    this.#evaluation = evaluation;
  }

  outputBytes(operator: number, output: number): number {
    return this.#evaluation.tensorBytes[this.#outputTensor(operator, output)] ?? 0;
  }

  outputShape(operator: number, output: number): readonly number[] {
    return this.#shape(this.#outputTensor(operator, output));
  }

  inputBytes(slot: number): number {
    return this.#evaluation.tensorBytes[this.#slotTensor(slot)] ?? 0;
  }

  inputShape(slot: number): readonly number[] {
    return this.#shape(this.#slotTensor(slot));
  }

  externalBytes(external: number): number {
    return this.#evaluation.tensorBytes[this.#externalTensor(external)] ?? 0;
  }

  externalShape(external: number): readonly number[] {
    return this.#shape(this.#externalTensor(external));
  }

  workspaceBytes(operator: number): number {
    return this.#evaluation.workspaceBytes[this.#profile(operator)] ?? 0;
  }

  hostBytes(operator: number): number {
    return this.#evaluation.hostBytes[this.#profile(operator)] ?? 0;
  }

  flops(operator: number): number {
    return this.#evaluation.values[this.#plan.profiles[this.#profile(operator)]?.flops ?? -1] ?? 0;
  }

  movedBytes(operator: number): number {
    return this.#evaluation.movedBytes[this.#profile(operator)] ?? 0;
  }

  #outputTensor(operator: number, output: number): number {
    const { outputStart, outputTensor } = this.#plan;
    const start = outputStart[operator] ?? this.#noOperator(operator);
    const index = start + output;
    if (output < 0 || index >= (outputStart[operator + 1] ?? 0)) {
      throw new RangeError(`operator ${operator} of template ${this.template.name} has no output ${output}`);
    }
    return outputTensor[index] ?? 0;
  }

  #slotTensor(slot: number): number {
    const tensor = this.#plan.slotTensor[slot];
    if (tensor === undefined) throw new RangeError(`template ${this.template.name} has no input slot ${slot}`);
    return tensor;
  }

  #externalTensor(external: number): number {
    const tensor = this.#plan.externalTensor[external];
    if (tensor === undefined) throw new RangeError(`template ${this.template.name} has no external ${external}`);
    return tensor;
  }

  #profile(operator: number): number {
    return this.#plan.profileOf[operator] ?? this.#noOperator(operator);
  }

  #shape(tensor: number): readonly number[] {
    const { values } = this.#evaluation;
    return (this.#plan.tensors[tensor]?.dimensions ?? []).map((dimension) => values[dimension] ?? 0);
  }

  #noOperator(operator: number): never {
    throw new RangeError(`template ${this.template.name} has no operator ${operator}`);
  }
}
