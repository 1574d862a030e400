import { LibtorchError } from "../programs/errors.ts";
import { unknownField } from "../programs/fields.ts";
import type { LlamaShape } from "./shape.ts";
import type { LlamaOptions } from "./templates.ts";

const OPTION_FIELDS = [
  ...["shape", "layersPerOperator", "partitions", "extraWorkspaceBytes", "fetchLogits"],
] as const satisfies readonly (keyof LlamaOptions)[];
const SIZE_FIELDS = [
  ...["layers", "hidden", "heads", "kvHeads", "headDim", "intermediate", "vocabulary"],
] as const satisfies readonly (keyof LlamaShape)[];
const SHAPE_FIELDS = [
  ...["name", ...SIZE_FIELDS, "ropeTheta", "normEpsilon", "dtype"],
] as const satisfies readonly (keyof LlamaShape)[];
const DTYPES: readonly unknown[] = ["float32", "float16", "bfloat16"] satisfies LlamaShape["dtype"][];

/** Dimensions of programs are 32 bits. */
const SIZE_MAX = 2 ** 31 - 1;
/** Its embedding, head and layers are drawn from seeds of their own among 2^16. */
const LAYERS_MAX = 2 ** 16 - 2;

/** Throws INVALID_OPTION, which names everything wrong at once. */
export function checkShape(shape: LlamaShape): void {
  throwAny(shapeFaults(shape));
}

/** Throws INVALID_OPTION, which names everything wrong at once. */
export function checkLlamaOptions(options: LlamaOptions): void {
  if (!isObject(options)) throwAny([`options are ${shown(options)}, no object`]);
  const unknown = unknownField(options, OPTION_FIELDS);
  const faults = [...(unknown === undefined ? [] : [`options: ${unknown}`]), ...shapeFaults(options.shape)];
  const layers = isObject(options.shape) ? options.shape.layers : undefined;
  const { partitions, layersPerOperator = 1, fetchLogits = false } = options;
  if (!Array.isArray(partitions)) faults.push("partitions is no list; llamaPartitions makes one");
  if (typeof fetchLogits !== "boolean") faults.push(`fetchLogits is ${shown(fetchLogits)}, neither true nor false`);
  if (!isSize(layersPerOperator))
    faults.push(`layersPerOperator is ${shown(layersPerOperator)}, no whole number from 1`);
  else if (isSize(layers) && layers % layersPerOperator !== 0)
    faults.push(`layersPerOperator is ${layersPerOperator}, no divisor of the ${layers} layers`);
  throwAny(faults);
}

/** Throws INVALID_OPTION. */
export function checkPartitioned(accelerators: readonly string[], operators: number, sizes: readonly number[]): void {
  const faults: string[] = [];
  if (!Array.isArray(accelerators)) faults.push(`accelerators is ${shown(accelerators)}, no list of names`);
  if (!isSize(operators)) faults.push(`operators is ${shown(operators)}, no whole number from 1`);
  if (!Array.isArray(sizes)) faults.push(`sizes is ${shown(sizes)}, no list of numbers`);
  else
    for (const size of sizes)
      if (!isSize(size)) faults.push(`${shown(size)} accelerators per pipeline are no whole number from 1`);
  throwAny(faults);
}

function shapeFaults(shape: LlamaShape): string[] {
  if (!isObject(shape)) return [`shape is ${shown(shape)}, no object`];
  const faults: string[] = [];
  const unknown = unknownField(shape, SHAPE_FIELDS);
  if (unknown !== undefined) faults.push(`shape: ${unknown}`);
  if (typeof shape.name !== "string" || shape.name === "") faults.push(`shape.name is ${shown(shape.name)}, no name`);
  for (const field of SIZE_FIELDS) {
    const most = field === "layers" ? LAYERS_MAX : SIZE_MAX;
    if (!isSize(shape[field], most))
      faults.push(`shape.${field} is ${shown(shape[field])}, no whole number from 1 to ${most}`);
  }
  const { heads, kvHeads, headDim, ropeTheta = 10_000, normEpsilon = 1e-5, dtype = "float32" } = shape;
  if (isSize(heads) && isSize(kvHeads) && heads % kvHeads !== 0)
    faults.push(`shape.heads is ${heads}, no multiple of the ${kvHeads} kvHeads`);
  if (isSize(headDim) && headDim % 2 !== 0) faults.push(`shape.headDim is ${headDim}, which is odd`);
  if (!(Number.isFinite(ropeTheta) && ropeTheta > 0))
    faults.push(`shape.ropeTheta is ${shown(ropeTheta)}, no number above 0`);
  if (!(Number.isFinite(normEpsilon) && normEpsilon >= 0))
    faults.push(`shape.normEpsilon is ${shown(normEpsilon)}, no number from 0`);
  if (!DTYPES.includes(dtype)) faults.push(`shape.dtype is ${shown(dtype)}, none of ${DTYPES.join(", ")}`);
  return faults;
}

function isSize(given: unknown, most = SIZE_MAX): given is number {
  return Number.isSafeInteger(given) && (given as number) >= 1 && (given as number) <= most;
}

function isObject(given: unknown): boolean {
  return typeof given === "object" && given !== null;
}

/** Short, whatever it is. */
function shown(given: unknown): string {
  const text = typeof given === "string" ? JSON.stringify(given) : isObject(given) ? "an object" : String(given);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function throwAny(faults: readonly string[]): void {
  if (faults.length > 0) throw new LibtorchError("INVALID_OPTION", `a Llama model: ${faults.join("; ")}`);
}
