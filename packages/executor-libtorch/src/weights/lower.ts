import { isDtype } from "@slicescheduler/gmg";
import { LibtorchError } from "../programs/errors.ts";
import type { SeededTensor, WeightsSource } from "./types.ts";

/**
 * A source in the form that `NativeRuntime.openWeights` takes. `about` names the weights in messages. Throws WEIGHTS_INVALID for what is no source: neither file,
 * seed nor scripts, a size, seed, std or fill that is no number in its range, an unknown element type.
 */
export function lowerWeights(source: WeightsSource, about: string): string {
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
  const tensors = Object.entries(source.tensors).map(([name, tensor]) => [
    name,
    lowerTensor(tensor, `${about}, ${name}`),
  ]);
  return JSON.stringify({ seed: source.seed, tensors: Object.fromEntries(tensors) });
}

function lowerTensor({ shape, dtype, std, fill }: SeededTensor, about: string): SeededTensor {
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
  for (const [name, text] of Object.entries(named)) {
    if (typeof text !== "string")
      throw invalid(`${about}: what ${name} comes from is named by a string, got ${typeof text}`);
  }
  return named;
}

function invalid(message: string): LibtorchError {
  return new LibtorchError("WEIGHTS_INVALID", message);
}
