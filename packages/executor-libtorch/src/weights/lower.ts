import { isDtype } from "@slicescheduler/templates";
import { LibtorchError } from "../programs/errors.ts";
import type { SeededTensor, WeightsSource } from "./types.ts";

/**
 * A source in the form that `NativeRuntime.openWeights` takes. `about` names the weights in messages. Throws WEIGHTS_INVALID for what is no source: neither file,
 * seed nor scripts, a size, seed, std or fill that is no number in its range, an unknown element type.
 */
export function lowerWeights(source: WeightsSource, about: string): string {
  if (!isObject(source)) throw invalid(`${about} come from an object, got ${kind(source)}`);
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
  const { shape, dtype, std, fill } = tensor;
  if (!isDtype(dtype)) throw invalid(`${about} is of the type ${JSON.stringify(dtype)}, which is none of gmg's`);
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0)
      throw invalid(`${about} has the size ${size}, which is no whole number`);
  }
  if (fill !== undefined) {
    if (!Number.isFinite(fill)) throw invalid(`${about} is filled with ${fill}, which is no finite number`);
    return { shape, dtype, fill };
  }
  if (std !== undefined && !(Number.isFinite(std) && std >= 0))
    throw invalid(`${about} has the std ${std}, below 0 or no number`);
  return { shape, dtype, std: std ?? 1 };
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
