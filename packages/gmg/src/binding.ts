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
import type { PlannedExpression, PlannedProfile, TemplatePlan } from "./template-plan.ts";
import { nearNames } from "./validation.ts";

/** A template with values for its symbols. Immutable; every look-up costs O(1). */
export interface Binding {
  readonly template: Template;
  readonly symbols: Readonly<Record<string, number>>;
  /** The symbols' values in declared order: what duration models see. */
  readonly features: readonly number[];
  /** Exact bytes, not rounded to any granularity. */
  outputBytes(operator: number, output: number): number;
  outputShape(operator: number, output: number): readonly number[];
  inputBytes(slot: number): number;
  inputShape(slot: number): readonly number[];
  workspaceBytes(operator: number): number;
  /** Declared floating-point operations; rounded to a double past 2^53. */
  flops(operator: number): number;
  /** Declared, or the operator's distinct inputs, outputs and weights. */
  movedBytes(operator: number): number;
}

/** Evaluates everything at once, so that whatever can fail fails here. Linear in the distinct expressions. */
export function bind(template: Template, plan: TemplatePlan, symbols: Readonly<Record<string, number>>): Binding {
  const features = readSymbols(template, symbols);
  const values = plan.expressions.map((expression) => evaluate(template, expression, features));
  const tensorBytes = plan.tensors.map(({ dimensions, elementBytes, path }) => {
    let bytes = elementBytes;
    for (const dimension of dimensions) bytes *= values[dimension] ?? 0;
    // A product that is 0 may pass through NaN only when it passed 2^1024 first, and dimensions are at most 16 · 2^53.
    if (bytes > Number.MAX_SAFE_INTEGER) throw tooManyBytes(template, `${path} of about ${bytes.toPrecision(4)} bytes`);
    return bytes;
  });
  const movedBytes = plan.profiles.map((profile) => moved(template, profile, values, tensorBytes));
  return new BoundTemplate(template, plan, features, values, tensorBytes, movedBytes);
}

function readSymbols(template: Template, given: Readonly<Record<string, number>>): number[] {
  const declared = template.symbols;
  const unknown = Object.keys(given).filter((name) => !declared.includes(name));
  if (unknown.length > 0) {
    throw new UnknownSymbolError(template.name, unknown, declared, nearNames(unknown[0] ?? "", declared));
  }
  const unbound = declared.filter((name) => !Object.hasOwn(given, name) || given[name] === undefined);
  if (unbound.length > 0) throw new UnboundSymbolError(template.name, unbound);
  return declared.map((name) => {
    const value = given[name];
    if (value === undefined || !Number.isSafeInteger(value) || value < 0) {
      throw new InvalidSymbolValueError(template.name, name, value);
    }
    return value + 0;
  });
}

function evaluate(template: Template, expression: PlannedExpression, features: readonly number[]): number {
  const { program, rounded, path } = expression;
  try {
    const value = rounded ? program.evaluateRounded(features) : program.evaluate(features);
    if (value >= 0) return value;
    throw new NegativeDimensionError(template.name, path, program.text, value, symbolsOf(template, features));
  } catch (error) {
    if (!(error instanceof ExpressionValueError)) throw error;
    if (error.code === "DIVISION_BY_ZERO") throw new UndefinedDimensionError(template.name, path, error);
    throw tooManyBytes(template, path, error);
  }
}

function moved(
  template: Template,
  { movedBytes, movedTensors, weightBytes, path }: PlannedProfile,
  values: readonly number[],
  tensorBytes: readonly number[],
): number {
  if (movedBytes >= 0) return values[movedBytes] ?? 0;
  let bytes = weightBytes;
  for (const tensor of movedTensors) bytes += tensorBytes[tensor] ?? 0;
  if (bytes > Number.MAX_SAFE_INTEGER) throw tooManyBytes(template, `${path}.movedBytes (inputs, outputs and weights)`);
  return bytes;
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
  readonly #plan: TemplatePlan;
  /** Per expression, tensor and profile of the plan. */
  readonly #values: readonly number[];
  readonly #tensorBytes: readonly number[];
  readonly #movedBytes: readonly number[];

  constructor(
    template: Template,
    plan: TemplatePlan,
    features: readonly number[],
    values: readonly number[],
    tensorBytes: readonly number[],
    movedBytes: readonly number[],
  ) {
    this.template = template;
    this.symbols = symbolsOf(template, features);
    this.features = features;
    this.#plan = plan;
    this.#values = values;
    this.#tensorBytes = tensorBytes;
    this.#movedBytes = movedBytes;
  }

  outputBytes(operator: number, output: number): number {
    return this.#tensorBytes[this.#outputTensor(operator, output)] ?? 0;
  }

  outputShape(operator: number, output: number): readonly number[] {
    return this.#shape(this.#outputTensor(operator, output));
  }

  inputBytes(slot: number): number {
    return this.#tensorBytes[this.#slotTensor(slot)] ?? 0;
  }

  inputShape(slot: number): readonly number[] {
    return this.#shape(this.#slotTensor(slot));
  }

  workspaceBytes(operator: number): number {
    return this.#values[this.#profile(operator).workspaceBytes] ?? 0;
  }

  flops(operator: number): number {
    return this.#values[this.#profile(operator).flops] ?? 0;
  }

  movedBytes(operator: number): number {
    return this.#movedBytes[this.#plan.profileOf[operator] ?? this.#noOperator(operator)] ?? 0;
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

  #profile(operator: number): PlannedProfile {
    return this.#plan.profiles[this.#plan.profileOf[operator] ?? -1] ?? this.#noOperator(operator);
  }

  #shape(tensor: number): readonly number[] {
    return (this.#plan.tensors[tensor]?.dimensions ?? []).map((dimension) => this.#values[dimension] ?? 0);
  }

  #noOperator(operator: number): never {
    throw new RangeError(`template ${this.template.name} has no operator ${operator}`);
  }
}
