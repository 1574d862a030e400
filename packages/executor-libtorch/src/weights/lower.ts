import { type Dtype, isDtype } from "@slicescheduler/templates";
import { LibtorchError } from "../programs/errors.ts";
import { unknownField } from "../programs/fields.ts";
import type { SeededTensor, WeightsSource } from "./types.ts";

const SOURCE_FIELDS = { scripts: ["scripts"], safetensors: ["safetensors", "tensors"], seed: ["seed", "tensors"] };
const TENSOR_FIELDS = ["shape", "dtype", "std", "fill"] as const satisfies readonly (keyof SeededTensor)[];

/** The largest number of a type whose smallest is its negative. */
const FLOATS_TO: Readonly<Partial<Record<Dtype, number>>> = {
  float64: Number.MAX_VALUE,
  float32: (2 - 2 ** -23) * 2 ** 127,
  bfloat16: (2 - 2 ** -7) * 2 ** 127,
  float16: 65_504,
  float8: 448,
};

/** From and below. */
const WHOLE_NUMBERS: Readonly<Partial<Record<Dtype, readonly [from: number, below: number]>>> = {
  int64: [-(2 ** 63), 2 ** 63],
  int32: [-(2 ** 31), 2 ** 31],
  int16: [-(2 ** 15), 2 ** 15],
  int8: [-128, 128],
  uint8: [0, 256],
  bool: [0, 2],
};

/**
 * A source in the form that `NativeRuntime.openWeights` takes. `about` names the weights in messages. Throws WEIGHTS_INVALID for what is no source: neither file,
 * seed nor scripts, a field that is none, a size, seed, std or fill that is no number in its range, an unknown element type.
 */
export function lowerWeights(source: WeightsSource, about: string): string {
  if (!isObject(source)) throw invalid(`${about} come from an object, got ${kind(source)}`);
  const kindOf = "scripts" in source ? "scripts" : "safetensors" in source ? "safetensors" : "seed";
  checkFields(source, SOURCE_FIELDS[kindOf], about, ["scripts", "safetensors", "seed", "tensors"]);
  if ("scripts" in source) {
    return JSON.stringify({ scripts: texts(source.scripts, about) });
  }
  if ("safetensors" in source) {
    if (typeof source.safetensors !== "string") throw invalid(`${about}: safetensors is a path`);
    return JSON.stringify({ safetensors: source.safetensors, tensors: texts(source.tensors, about) });
  }
  if (!Number.isSafeInteger(source.seed) || source.seed < 0) {
    throw invalid(
      `${about} has neither safetensors nor scripts, and its seed is ${source.seed}, not a whole number from 0`,
    );
  }
  if (!isObject(source.tensors)) throw invalid(`${about} has a seed, and no tensors by their names`);
  const tensors = Object.entries(source.tensors).map(([name, tensor]) => [
    name,
    lowerTensor(tensor, `${about}, ${name}`),
  ]);
  return JSON.stringify({ seed: source.seed, tensors: Object.fromEntries(tensors) });
}

function lowerTensor(tensor: SeededTensor, about: string): SeededTensor {
  if (!isObject(tensor) || !Array.isArray(tensor.shape))
    throw invalid(`${about} is not { shape, dtype } with a list of sizes`);
  checkFields(tensor, TENSOR_FIELDS, about);
  const { shape, dtype, std, fill } = tensor;
  if (!isDtype(dtype)) throw invalid(`${about} is of the type ${JSON.stringify(dtype)}, which is none of gmg's`);
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0)
      throw invalid(`${about} has the size ${size}, which is no whole number`);
  }
  if (fill !== undefined) {
    checkFill(fill, dtype, about);
    return { shape, dtype, fill };
  }
  if (std !== undefined && !(Number.isFinite(std) && std >= 0))
    throw invalid(`${about} has the std ${std}, below 0 or no number`);
  return { shape, dtype, std: std ?? 1 };
}

/** LibTorch would refuse some of these when the weights are loaded, and round or wrap others. */
function checkFill(fill: number, dtype: Dtype, about: string): void {
  if (!Number.isFinite(fill)) throw invalid(`${about} is filled with ${fill}, which is no finite number`);
  const whole = WHOLE_NUMBERS[dtype];
  const most = FLOATS_TO[dtype] ?? 0;
  if (whole === undefined ? Math.abs(fill) <= most : Number.isInteger(fill) && whole[0] <= fill && fill < whole[1])
    return;
  const range =
    whole === undefined ? `numbers from ${-most} to ${most}` : `whole numbers from ${whole[0]}, below ${whole[1]}`;
  throw invalid(`${about} is filled with ${fill}, and elements of ${dtype} are ${range}`);
}

function checkFields(given: object, known: readonly string[], about: string, near?: readonly string[]): void {
  const unknown = unknownField(given, known, near);
  if (unknown !== undefined) throw invalid(`${about}: ${unknown}`);
}

function texts(named: Readonly<Record<string, string>>, about: string): Readonly<Record<string, string>> {
  if (!isObject(named))
    throw invalid(`${about}: what its tensors come from is given by their names, got ${kind(named)}`);
  for (const [name, text] of Object.entries(named)) {
    if (typeof text !== "string")
      throw invalid(`${about}: what ${name} comes from is named by a string, got ${typeof text}`);
  }
  return named;
}

function isObject(given: unknown): boolean {
  return typeof given === "object" && given !== null;
}

function kind(given: unknown): string {
  return given === null ? "null" : typeof given;
}

function invalid(message: string): LibtorchError {
  return new LibtorchError("WEIGHTS_INVALID", message);
}
