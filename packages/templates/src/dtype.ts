import type { Dtype } from "./types.ts";

const ELEMENT_BYTES: Readonly<Record<Dtype, number>> = {
  float64: 8,
  float32: 4,
  float16: 2,
  bfloat16: 2,
  float8: 1,
  int64: 8,
  int32: 4,
  int16: 2,
  int8: 1,
  uint8: 1,
  bool: 1,
};

/** Every element type, in the order of declaration. */
export const DTYPES = Object.keys(ELEMENT_BYTES) as readonly Dtype[];

/** Whether a value names an element type. */
export function isDtype(value: unknown): value is Dtype {
  return typeof value === "string" && Object.hasOwn(ELEMENT_BYTES, value);
}

/** Bytes of one element. */
export function dtypeBytes(dtype: Dtype): number {
  return ELEMENT_BYTES[dtype];
}
