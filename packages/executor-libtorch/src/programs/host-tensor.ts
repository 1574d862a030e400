import { type Dtype, dtypeBytes, isDtype } from "@slicescheduler/templates";
import { LibtorchError } from "./errors.ts";
import type { NativeHostTensor, NativeTensor } from "./native-runtime.ts";

/**
 * Data of a tensor in the host's memory, by element type: `float64` Float64Array · `float32` Float32Array · `float16`, `bfloat16`
 * Uint16Array (the bits) · `float8` Uint8Array (the bits, E4M3) · `int64` BigInt64Array · `int32`, `int16`, `int8`, `uint8` the array of that name · `bool`
 * Uint8Array of 0 and 1.
 */
export type HostData =
  | Float64Array
  | Float32Array
  | Uint16Array
  | BigInt64Array
  | Int32Array
  | Int16Array
  | Int8Array
  | Uint8Array;

/** A tensor in the host's memory, row by row. */
export interface HostTensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** For `int64` an Int32Array will do, and is widened. */
  readonly data: HostData;
}

const ARRAYS = {
  float64: Float64Array,
  float32: Float32Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float8: Uint8Array,
  int64: BigInt64Array,
  int32: Int32Array,
  int16: Int16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
} as const satisfies Readonly<Record<Dtype, unknown>>;

/** As many as a template can declare. */
const RANK_MAX = 16;

/**
 * Checks host data, and gives them in the form that the addon takes. Throws FEED_MISMATCH: no tensor at all, an unknown type, sizes that are no whole numbers or too many or too large, an
 * array of another type or length, or over shared memory. Linear for `bool` and a widened `int64`, else of constant cost.
 */
export function toNative(tensor: HostTensor, about: string): NativeHostTensor {
  const { dtype, shape, data } = checked(tensor, about);
  if (!isDtype(dtype)) throw mismatch(`${about} is of the type ${JSON.stringify(dtype)}, which is none of gmg's`);
  if (shape.length > RANK_MAX)
    throw mismatch(`${about} has ${shape.length} dimensions, and templates declare at most ${RANK_MAX}`);
  let count = 1;
  // Without the zeros, for sizes that the native side multiplies before it comes to one.
  let extent = dtypeBytes(dtype);
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0)
      throw mismatch(`${about} has the size ${size}, which is no whole number`);
    count *= size;
    extent *= size === 0 ? 1 : size;
  }
  if (extent > Number.MAX_SAFE_INTEGER)
    throw mismatch(`${about} has the shape [${shape.join(", ")}], whose sizes multiply to more than 2^53 bytes`);
  const widened = dtype === "int64" && data instanceof Int32Array ? BigInt64Array.from(data, BigInt) : data;
  const wanted = ARRAYS[dtype];
  if (!(widened instanceof wanted)) {
    throw mismatch(`${about} is ${dtype}, whose data are in a ${wanted.name}, got a ${data.constructor.name}`);
  }
  if (widened.length !== count) {
    throw mismatch(`${about} has the shape [${shape.join(", ")}], ${count} elements, and its data have ${data.length}`);
  }
  if (widened.buffer instanceof SharedArrayBuffer) {
    throw mismatch(`${about} has its data in shared memory, which others may write to; give a copy: data.slice()`);
  }
  if (dtype === "bool" && (widened as Uint8Array).some((element) => element > 1)) {
    throw mismatch(`${about} is bool, whose data are 0 and 1`);
  }
  return { dtype, shape, data: widened };
}

/** Something with the three parts of a tensor, so that what is said of them is true. */
function checked(given: unknown, about: string): HostTensor {
  const { shape, data } = (given ?? {}) as Partial<HostTensor>;
  if (!Array.isArray(shape) || !ArrayBuffer.isView(data))
    throw mismatch(`${about} is not { dtype, shape, data } with a list of sizes and a typed array`);
  return given as HostTensor;
}

/** What came out of the addon, with its data in an array of their type. Throws DTYPE_UNSUPPORTED for a type that gmg does not have. */
export function fromNative({ dtype, shape, data }: NativeTensor): HostTensor {
  if (!isDtype(dtype)) {
    throw new LibtorchError(
      "DTYPE_UNSUPPORTED",
      `a tensor of the type ${dtype} came out; cast it to one of gmg's first`,
    );
  }
  return { dtype, shape, data: new ARRAYS[dtype](data) };
}

/** Bytes that a tensor of a shape takes. */
export function tensorBytes(dtype: Dtype, shape: readonly number[]): number {
  return shape.reduce((bytes, size) => bytes * size, dtypeBytes(dtype));
}

function mismatch(message: string): LibtorchError {
  return new LibtorchError("FEED_MISMATCH", message);
}
