import {
  compileCluster,
  compileExpression,
  compileTemplate,
  type OperatorSpec,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/templates";
import { loadAddon } from "../native/addon.ts";
import { lowerWeights } from "../weights/lower.ts";
import type { WeightsSource } from "../weights/types.ts";
import { withFaults } from "./errors.ts";
import { fromNative, type HostTensor, toNative } from "./host-tensor.ts";
import { lowerProgram } from "./lower.ts";
import type { Program } from "./types.ts";

/** What an operator is declared with, and what one run of its program is given. */
export interface Trial {
  readonly program: Program;
  readonly outputs: OperatorSpec["outputs"];
  readonly inputs?: NonNullable<TemplateSpec["inputs"]>;
  readonly external?: NonNullable<TemplateSpec["external"]>;
  readonly symbols?: Readonly<Record<string, number>>;
  readonly values?: readonly HostTensor[];
  readonly feeds?: Readonly<Record<string, HostTensor>>;
  readonly weights?: readonly WeightsSource[];
  readonly capBytes?: number;
}

/** A template of one operator that reads everything that is declared. */
export function trialTemplate({ outputs, inputs = {}, external = {}, symbols = {} }: Omit<Trial, "program">): Template {
  const names = Object.entries({ ...inputs, ...external }).flatMap(([name, declared]) =>
    Array.isArray(declared) ? declared.map((_, index) => `${name}[${index}]`) : [name],
  );
  const spec: TemplateSpec = {
    name: "trial",
    symbols: Object.keys(symbols),
    inputs,
    external,
    operators: [{ name: "op", inputs: names, outputs }],
    outputs: {},
    partitions: [{ name: "one", accelerators: ["a"], layout: [0] }],
  };
  return compileTemplate(spec, compileCluster({ accelerators: [{ name: "a", kind: "cpu", hbmBytes: 1e9 }] }));
}

/** Lowers, compiles and runs a program once, on a CPU device of its own. */
export function runTrial(trial: Trial) {
  const { program, symbols = {}, values = [], feeds = {}, weights = [], capBytes } = trial;
  const template = trialTemplate(trial);
  const lowered = lowerProgram(program, template, 0);
  const addon = loadAddon();
  return withFaults("trial", () => {
    const { outputs, fetched, peakBytes } = addon.runProgram(addon.compileProgram(lowered.json).program, {
      device: "cpu",
      ...(capBytes === undefined ? {} : { capBytes }),
      inputs: values.map((value) => toNative(value, "input")),
      symbols: lowered.symbols.map((text) =>
        compileExpression(text, template.symbols).evaluate(Object.values(symbols)),
      ),
      weights: weights.map((source) => addon.openWeights(lowerWeights(source, "weights"), false).source),
      feeds: Object.fromEntries(Object.entries(feeds).map(([name, value]) => [name, toNative(value, name)])),
    });
    const handedOut = Object.entries(fetched).map(([name, tensor]) => [name, fromNative(tensor)] as const);
    return { outputs: outputs.map(fromNative), fetched: Object.fromEntries(handedOut), peakBytes };
  });
}

/** A float32 tensor. */
export function floats(numbers: readonly number[], shape: readonly number[] = [numbers.length]): HostTensor {
  return { dtype: "float32", shape, data: Float32Array.from(numbers) };
}
