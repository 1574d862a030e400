import { compileExpression, type Dimension, type Template, type TensorSpec } from "@slicescheduler/templates";
import { LibtorchError } from "./errors.ts";
import { unknownField } from "./fields.ts";
import type { Argument, Call, Program } from "./types.ts";

/** A program in the form that `NativeRuntime.compileProgram` takes. */
export interface LoweredProgram {
  readonly json: string;
  /** Expressions over the template's symbols, distinct. A run takes their values, in this order; those that stand for sizes are at least 0. */
  readonly symbols: readonly string[];
}

/** Arguments, calls and results inside one another; lists of lists of lists hardly occur. */
const DEPTH_MAX = 16;

/** Per kind of call, by the field that tells it. */
const CALL_FIELDS: Readonly<Record<string, readonly string[]>> = {
  op: ["op", "args", "kwargs", "results"],
  feed: ["feed", "results"],
  fetch: ["fetch", "args"],
  script: ["script", "method", "args", "results"],
};

/**
 * Fits a program to an operator of a template: expressions get numbers, feeds and outputs their declared types and shapes, which each run is checked against.
 * Throws PROGRAM_INVALID: an expression that is none, a field that is none, another number of outputs than declared, an input that the operator does not have, a feed that is
 * no external among its inputs. What only LibTorch knows, `compileProgram` checks.
 */
export function lowerProgram(program: Program, template: Template, operator: number): LoweredProgram {
  const lowering = new Lowering(template, operator);
  return { json: JSON.stringify(lowering.program(program)), symbols: lowering.symbols };
}

type Lowered = unknown;

class Lowering {
  readonly #template: Template;
  readonly #operator: Template["operators"][number];
  readonly #about: string;
  readonly #symbols = new Map<string, number>();

  constructor(template: Template, operator: number) {
    const compiled = template.operators[operator];
    if (compiled === undefined) throw new RangeError(`${template.name} has no operator ${operator}`);
    this.#template = template;
    this.#operator = compiled;
    this.#about = `${template.name}/${compiled.name}`;
  }

  get symbols(): readonly string[] {
    return [...this.#symbols.keys()];
  }

  program(program: Program): Lowered {
    const { calls, outputs } = program;
    const declared = this.#operator.outputs;
    this.#checkFields(program, ["calls", "outputs"], "in the program");
    if (!Array.isArray(calls) || !Array.isArray(outputs))
      throw this.#invalid("a program has calls and outputs, both lists");
    if (outputs.length !== declared.length) {
      throw this.#invalid(`${declared.length} outputs are declared, and the program has ${outputs.length}`);
    }
    const lowered = {
      name: this.#about,
      inputs: this.#operator.inputs.length,
      calls: calls.map((call, index) => this.#call(call, `call ${index}`)),
      outputs: outputs.map((output, index) => this.#output(output, index)),
    };
    return { ...lowered, symbols: this.symbols };
  }

  #output(value: Argument, index: number): Lowered {
    const declared = this.#operator.outputs[index];
    const spec = this.#template.spec.operators[this.#operator.index]?.outputs[declared?.name ?? ""];
    if (declared === undefined || spec === undefined) throw new RangeError(`${this.#about} has no output ${index}`);
    const { name, dtype, aliases } = declared;
    const where = `output ${name}`;
    return {
      name,
      value: this.#argument(value, where, 0),
      dtype,
      shape: spec.shape.map((size) => this.#dimension(size, where)),
      aliases: aliases < 0 ? null : aliases,
    };
  }

  #call(call: Call, where: string): Lowered {
    const given: unknown = call;
    if (typeof given !== "object" || given === null) throw this.#invalid(`${where} is no object`);
    const kind = Object.keys(CALL_FIELDS).find((name) => name in call);
    // One that is none of them is told by the native side.
    if (kind !== undefined) this.#checkFields(call, CALL_FIELDS[kind] ?? [], where);
    if ("feed" in call) return this.#feed(call.feed, call.results, where);
    const args = "args" in call ? call.args : undefined;
    if (args !== undefined && !Array.isArray(args)) throw this.#invalid(`${where}: args is no list`);
    const lowered: Record<string, Lowered> = {
      ...call,
      args: (args ?? []).map((argument: Argument) => this.#argument(argument, where, 0)),
    };
    if ("kwargs" in call && call.kwargs !== undefined) {
      if (typeof call.kwargs !== "object" || call.kwargs === null || Array.isArray(call.kwargs))
        throw this.#invalid(`${where}: kwargs is no object of arguments by their names`);
      const named = Object.entries(call.kwargs).map(([name, argument]) => [name, this.#argument(argument, where, 0)]);
      lowered["kwargs"] = Object.fromEntries(named);
    }
    return lowered;
  }

  #feed(feed: string, results: readonly string[], where: string): Lowered {
    const { externals } = this.#template;
    const read = this.#operator.externals.map((index) => externals[index]);
    const external = read.find((tensor) => tensor?.name === feed);
    if (external === undefined) {
      const names = read.map((tensor) => tensor?.name).join(", ");
      throw this.#invalid(
        `${where} feeds ${JSON.stringify(feed)}; the operator names ${names === "" ? "no external" : `only ${names}`} among its inputs`,
      );
    }
    const spec = externalSpec(this.#template, feed);
    const shape = spec.shape.map((size) => this.#dimension(size, where));
    return { feed, results, dtype: external.dtype, shape };
  }

  #dimension(size: Dimension, where: string): Lowered {
    return typeof size === "number" ? size : this.#symbol(size, where);
  }

  #symbol(expression: string, where: string): Lowered {
    const known = this.#symbols.get(expression);
    if (known !== undefined) return { symbol: known };
    try {
      compileExpression(expression, this.#template.symbols);
    } catch (error) {
      throw this.#invalid(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
    const index = this.#symbols.size;
    this.#symbols.set(expression, index);
    return { symbol: index };
  }

  #argument(argument: Argument, where: string, depth: number): Lowered {
    if (depth > DEPTH_MAX) throw this.#invalid(`${where}: lists nest deeper than ${DEPTH_MAX} levels`);
    if (typeof argument === "number")
      return Number.isFinite(argument) && !Object.is(argument, -0) ? argument : special(argument);
    if (typeof argument !== "object" || argument === null) return argument ?? null;
    if (Array.isArray(argument)) return argument.map((item: Argument) => this.#argument(item, where, depth + 1));
    const fields = Object.keys(argument);
    if (fields.length > 1) throw this.#invalid(`${where}: an argument is one thing, and here are ${fields.join(", ")}`);
    if (!("symbol" in argument)) return argument;
    if (typeof argument.symbol !== "string") throw this.#invalid(`${where}: a symbol is an expression in text`);
    return this.#symbol(argument.symbol, where);
  }

  #checkFields(given: object, known: readonly string[], where: string): void {
    const unknown = unknownField(given, known);
    if (unknown !== undefined) throw this.#invalid(`${where}: ${unknown}`);
  }

  #invalid(message: string, options?: ErrorOptions): LibtorchError {
    return new LibtorchError("PROGRAM_INVALID", `${this.#about}, ${message}`, options);
  }
}

/** Numbers that JSON does not have. */
function special(number: number): Lowered {
  return Object.is(number, -0) ? { number: "-0" } : { number: String(number) };
}

/** What the template declares for host data of a name, `"images[2]"` of a bundle. */
function externalSpec(template: Template, name: string): TensorSpec {
  const declared = template.spec.external ?? {};
  const whole = declared[name];
  if (whole !== undefined && !isBundle(whole)) return whole;
  const bracket = name.lastIndexOf("[");
  const bundle = declared[name.slice(0, bracket)];
  const item = bundle !== undefined && isBundle(bundle) ? bundle[Number(name.slice(bracket + 1, -1))] : undefined;
  if (item === undefined) throw new RangeError(`${template.name} declares no host data ${JSON.stringify(name)}`);
  return item;
}

function isBundle(declared: TensorSpec | readonly TensorSpec[]): declared is readonly TensorSpec[] {
  return Array.isArray(declared);
}
