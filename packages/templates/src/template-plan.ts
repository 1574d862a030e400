import { dtypeBytes } from "./dtype.ts";
import { compileExpression } from "./expression.ts";
import { ExpressionError, ExpressionValueError } from "./expression-errors.ts";
import type { Program } from "./expression-program.ts";
import type { OperatorInput } from "./template.ts";
import type { Wiring } from "./template-wiring.ts";
import type { Dimension, TemplateSpec, TensorSpec } from "./types.ts";
import { at, describe, type Faults } from "./validation.ts";

/**
 * What a binding evaluates. Layers of a model look alike, so everything equal is kept once: a binding costs one
 * evaluation per distinct expression, one product per distinct tensor, and nothing per operator.
 */
export interface TemplatePlan {
  readonly expressions: readonly PlannedExpression[];
  readonly tensors: readonly PlannedTensor[];
  readonly profiles: readonly PlannedProfile[];
  /** Per operator: where its outputs start in `outputTensor`; one more entry closes the last. */
  readonly outputStart: Int32Array;
  /** Index in `tensors`, per output of all operators. */
  readonly outputTensor: Int32Array;
  /** Index in `tensors`, per input slot. */
  readonly slotTensor: Int32Array;
  /** Index in `tensors`, per external. */
  readonly externalTensor: Int32Array;
  /** Index in `profiles`, per operator. */
  readonly profileOf: Int32Array;
  /** Per symbol: the largest value it may have, or undefined. */
  readonly bounds: readonly (number | undefined)[];
}

export interface PlannedExpression {
  readonly program: Program;
  /** Where it stands first, for messages. */
  readonly path: string;
  /** Floating-point operations feed a prior only: past 2^53 they are rounded, where sizes are refused. */
  readonly rounded: boolean;
}

interface PlannedTensor {
  /** Indices in `expressions`. */
  readonly dimensions: readonly number[];
  readonly elementBytes: number;
  readonly path: string;
}

/** The costs of an operator; numbers are indices in `expressions`. */
interface PlannedProfile {
  readonly workspaceBytes: number;
  /** Indices in `tensors` of the host data staged beside the workspace. */
  readonly externalTensors: readonly number[];
  readonly flops: number;
  /** −1: the sum of its distinct inputs, outputs and weights. */
  readonly movedBytes: number;
  /** Indices in `tensors` of that sum. */
  readonly movedTensors: readonly number[];
  readonly weightBytes: number;
  readonly path: string;
}

/** Compiles every expression. Linear in operators and references. */
export function planTemplate(faults: Faults, spec: TemplateSpec, wiring: Wiring): TemplatePlan {
  const planner = new Planner(faults, spec.symbols);
  const slotTensor = planner.tensors("inputs", spec.inputs);
  const externalTensor = planner.tensors("external", spec.external);
  const bounds = spec.bounds ?? {};
  const outputTensor: number[] = [];
  const outputStart = [0];
  spec.operators.forEach(({ outputs }, i) => {
    for (const [name, output] of Object.entries(outputs)) {
      outputTensor.push(planner.tensor(output, `operators[${i}].outputs.${name}`));
    }
    outputStart.push(outputTensor.length);
  });
  const tensorOf = ({ operator, output, slot }: OperatorInput) =>
    (slot >= 0 ? slotTensor[slot] : outputTensor[(outputStart[operator] ?? 0) + output]) ?? 0;
  const profileOf = spec.operators.map((operator, i) => {
    const tensors = outputTensor.slice(outputStart[i], outputStart[i + 1]);
    for (const input of new Set(wiring.inputsOf[i])) tensors.push(tensorOf(input));
    const externalTensors = (wiring.externalsOf[i] ?? []).map((external) => externalTensor[external] ?? 0);
    return planner.profile(operator, tensors, externalTensors, `operators[${i}]`);
  });
  return {
    expressions: planner.expressions,
    tensors: planner.planned,
    profiles: planner.profiles,
    outputStart: Int32Array.from(outputStart),
    outputTensor: Int32Array.from(outputTensor),
    slotTensor: Int32Array.from(slotTensor),
    externalTensor: Int32Array.from(externalTensor),
    profileOf: Int32Array.from(profileOf),
    bounds: spec.symbols.map((name) => (Object.hasOwn(bounds, name) ? bounds[name] : undefined)),
  };
}

/** Hands out one index for everything equal. */
class Planner {
  readonly expressions: PlannedExpression[] = [];
  readonly planned: PlannedTensor[] = [];
  readonly profiles: PlannedProfile[] = [];
  readonly #faults: Faults;
  readonly #symbols: readonly string[];
  /** Index, or −1 for an expression that has its fault. */
  readonly #expressionOf = new Map<string, number>();
  readonly #tensorOf = new Map<string, number>();
  readonly #profileOf = new Map<string, number>();

  constructor(faults: Faults, symbols: readonly string[]) {
    this.#faults = faults;
    this.#symbols = symbols;
  }

  expression(dimension: Dimension, path: string, rounded = false): number {
    const text = String(dimension);
    const key = rounded ? `rounded ${text}` : text;
    const before = this.#expressionOf.get(key);
    if (before !== undefined) return before;
    const program = this.#compile(text, path, rounded);
    const index = program === null ? -1 : this.expressions.push({ program, path, rounded }) - 1;
    this.#expressionOf.set(key, index);
    return index;
  }

  #compile(text: string, path: string, rounded: boolean): Program | null {
    try {
      const program = compileExpression(text, this.#symbols);
      if (program.reads.length === 0) {
        const value = rounded ? program.evaluateRounded([]) : program.evaluate([]);
        if (value < 0) this.#faults.add(path, `${describe(text)} is ${value}, must not be negative`);
      }
      return program;
    } catch (error) {
      if (!(error instanceof ExpressionError) && !(error instanceof ExpressionValueError)) throw error;
      this.#faults.add(path, error.message);
      return null;
    }
  }

  /** One index per tensor, bundles spread out. */
  tensors(field: string, declared: TemplateSpec["inputs"] = {}): number[] {
    return Object.entries(declared).flatMap(([name, spec]) => {
      const path = at(field, name);
      if (!("length" in spec)) return [this.tensor(spec, path)];
      return spec.map((tensor, i) => this.tensor(tensor, `${path}[${i}]`));
    });
  }

  tensor({ shape, dtype }: TensorSpec, path: string): number {
    const dimensions = shape.map((dimension, i) => this.expression(dimension, `${path}.shape[${i}]`));
    const key = `${dtype} ${dimensions.join()}`;
    const before = this.#tensorOf.get(key);
    if (before !== undefined) return before;
    const index = this.planned.push({ dimensions, elementBytes: dtypeBytes(dtype), path }) - 1;
    this.#tensorOf.set(key, index);
    return index;
  }

  profile(
    operator: TemplateSpec["operators"][number],
    tensors: readonly number[],
    externalTensors: readonly number[],
    path: string,
  ): number {
    const workspaceBytes = this.expression(operator.workspaceBytes ?? 0, `${path}.workspaceBytes`);
    const flops = this.expression(operator.flops ?? 0, `${path}.flops`, true);
    const declared = operator.movedBytes;
    const movedBytes = declared === undefined ? -1 : this.expression(declared, `${path}.movedBytes`);
    const movedTensors = declared === undefined ? [...tensors, ...externalTensors] : [];
    const weightBytes = Object.values(operator.weights ?? {}).reduce((sum, bytes) => sum + bytes, 0);
    const key = `${workspaceBytes} ${externalTensors.join()} ${flops} ${movedBytes} ${weightBytes} ${movedTensors.join()}`;
    const before = this.#profileOf.get(key);
    if (before !== undefined) return before;
    const index =
      this.profiles.push({ workspaceBytes, externalTensors, flops, movedBytes, movedTensors, weightBytes, path }) - 1;
    this.#profileOf.set(key, index);
    return index;
  }
}
