import { ExecutorError } from "@slicescheduler/executor";
import {
  type ClusterSpec,
  compileCluster,
  compileExpression,
  compileTemplate,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/templates";
import { checkDirect, checkRepeat } from "./direct-check.ts";
import { loadAddon, type NativeAddon, type NativeDirectLoop, type NativeDirectStep } from "./native/addon.ts";
import { endDirectRunsAtExit } from "./native/at-exit.ts";
import type { DeviceName } from "./options.ts";
import { LibtorchError, withFaults } from "./programs/errors.ts";
import { fromNative, type HostTensor, toNative } from "./programs/host-tensor.ts";
import { lowerProgram } from "./programs/lower.ts";
import type { Program } from "./programs/types.ts";
import { lowerWeights } from "./weights/lower.ts";
import type { WeightsSource } from "./weights/types.ts";

/** One operator of a loop. */
export interface DirectStep {
  readonly template: TemplateSpec;
  /** Its name in the template. */
  readonly operator: string;
  readonly program: Program;
  readonly symbols: Readonly<Record<string, number>>;
  /** Per tensor that the operator reads, in declared order: the slot that an earlier step wrote, or null for an input without elements. */
  readonly inputs: readonly (number | null)[];
  /** Slots for its outputs, numbered from 0 as one likes. */
  readonly outputs: readonly number[];
  readonly feeds?: Readonly<Record<string, HostTensor>>;
  /** Slots to empty afterwards. */
  readonly drop?: readonly number[];
}

export interface DirectLoopOptions {
  /** Against which the templates are checked. */
  readonly cluster: ClusterSpec;
  readonly device?: DeviceName;
  /** What tensors may take together. Default: as much as there is. */
  readonly hbmBytes?: number;
  /** By the names that the templates give them. */
  readonly weights?: Readonly<Record<string, WeightsSource>>;
  readonly allowTorchScript?: boolean;
  readonly steps: readonly DirectStep[];
}

export interface DirectOptions extends DirectLoopOptions {
  /** How often all steps are run. Default 1. */
  readonly repeat?: number;
}

export interface DirectRun {
  /** Around each repetition of all steps, in nanoseconds; programs are compiled and weights loaded before. */
  readonly loopNs: readonly number[];
  /** Per step, of the last repetition. */
  readonly stepNs: readonly number[];
  readonly peakBytes: readonly number[];
  readonly fetched: readonly (HostTensor & { readonly name: string })[];
}

/** Operators that run one after the other, with programs compiled and weights loaded from the first run on. */
export interface DirectLoop {
  /**
   * Runs all steps so often (default 1), on a thread of its own; several calls run one after the other. Rejects with INVALID_OPTION, with what programs and
   * weights throw, and with an ExecutorError CLOSED after `close`.
   */
  run(repeat?: number): Promise<DirectRun>;
  /** Ends what runs between two calls of a program, and frees everything. */
  close(): void;
}

/**
 * Operators in one native loop without queues, scheduler or JavaScript between them: what an executor is measured against. Buffers do not grow: an output that
 * aliases an input may not be larger than it. The loop ends when the process or the worker does. Throws LIBTORCH_MISSING, INVALID_OPTION (steps, slots,
 * numbers), and what programs and weights throw.
 */
export function openDirect(options: DirectLoopOptions): DirectLoop {
  checkDirect(options);
  const { cluster: spec, device = "cpu", hbmBytes = Number.MAX_SAFE_INTEGER, weights = {} } = options;
  const addon = loadAddon();
  const names = Object.keys(weights);
  const sources = Object.entries(weights).map(([name, source]) => {
    const about = `weights ${JSON.stringify(name)}`;
    const json = lowerWeights(source, about);
    return withFaults(about, () => addon.openWeights(json, options.allowTorchScript ?? false)).source;
  });
  const cluster = compileCluster(spec);
  const templates = new Map<TemplateSpec, Template>();
  const compiled = new Map<Program, Compiled>();
  const steps = options.steps.map((step) => {
    const template = templates.get(step.template) ?? compileTemplate(step.template, cluster);
    templates.set(step.template, template);
    const kernel = compiled.get(step.program) ?? compile(addon, template, step);
    compiled.set(step.program, kernel);
    return nativeStep(step, template, kernel, names);
  });
  endDirectRunsAtExit(addon);
  const native = withFaults(
    "the loop",
    () => new addon.DirectLoop({ device, capBytes: hbmBytes, weights: sources, steps }),
  );
  return new NativeLoop(native);
}

/** Opens a loop, runs it once, and closes it. Rejects with what `openDirect` and the run throw. */
export async function runDirect(options: DirectOptions): Promise<DirectRun> {
  const { repeat = 1 } = options;
  checkRepeat(repeat);
  const loop = openDirect(options);
  try {
    return await loop.run(repeat);
  } finally {
    loop.close();
  }
}

class NativeLoop implements DirectLoop {
  readonly #native: NativeDirectLoop;
  #latest: Promise<unknown> = Promise.resolve();
  #isClosed: boolean = false;

  constructor(native: NativeDirectLoop) {
    this.#native = native;
  }

  async run(repeat: number = 1): Promise<DirectRun> {
    checkRepeat(repeat);
    const run = this.#latest.then(() => this.#run(repeat));
    this.#latest = run.catch(() => {});
    return await run;
  }

  close(): void {
    this.#isClosed = true;
    this.#native.close();
  }

  async #run(repeat: number): Promise<DirectRun> {
    if (this.#isClosed) throw closed();
    try {
      const found = await this.#native.run(repeat);
      return { ...found, fetched: found.fetched.map((tensor) => ({ name: tensor.name, ...fromNative(tensor) })) };
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "CLOSED") throw closed();
      return withFaults("the loop", () => {
        throw error;
      });
    }
  }
}

function closed(): ExecutorError {
  return new ExecutorError("CLOSED", "this direct loop is closed; open a new one");
}

type Compiled = ReturnType<typeof compile>;

function compile(addon: NativeAddon, template: Template, { operator: name, program }: DirectStep) {
  const operator = template.operators.find((each) => each.name === name);
  if (operator === undefined) {
    throw new LibtorchError("INVALID_OPTION", `template ${template.name} has no operator ${JSON.stringify(name)}`);
  }
  const { json, symbols } = lowerProgram(program, template, operator.index);
  const native = withFaults(`${template.name}/${name}`, () => addon.compileProgram(json));
  return {
    operator,
    program: native.program,
    symbols: symbols.map((text) => compileExpression(text, template.symbols)),
  };
}

function nativeStep(
  { symbols, inputs, outputs, feeds = {}, drop = [] }: DirectStep,
  template: Template,
  { operator, program, symbols: expressions }: Compiled,
  names: readonly string[],
): NativeDirectStep {
  const values = template.symbols.map((symbol) => symbols[symbol] ?? 0);
  const binding = inputs.includes(null) ? template.bind(symbols) : null;
  return {
    program,
    inputs: inputs.map((slot, at) => {
      const declared = operator.inputs[at]?.slot ?? -1;
      if (slot !== null || binding === null) return slot ?? 0;
      return { dtype: template.slots[declared]?.dtype ?? "uint8", shape: binding.inputShape(declared) };
    }),
    outputs,
    symbols: expressions.map((expression) => expression.evaluate(values)),
    weights: operator.weights.map(({ name }) => names.indexOf(name)).filter((at) => at >= 0),
    feeds: Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, toNative(tensor, name)])),
    drop,
  };
}
