/** Bytes per accelerator of the cluster; what a shorter vector lacks is 0. */
import type { AcceleratorIndex } from "@slicescheduler/templates";

/** Bytes on a few accelerators, each named once: `bytes[i]` on `accelerators[i]`, and none elsewhere. */
export interface SparseBytes {
  readonly accelerators: readonly AcceleratorIndex[];
  readonly bytes: Float64Array;
}

export const NO_BYTES: SparseBytes = { accelerators: [], bytes: new Float64Array(0) };

/** What is not 0 of a vector for the whole cluster. */
export function sparseOf(vector: Float64Array): SparseBytes {
  return gather(vector, whereAny(vector));
}

/** The entries of a vector for the whole cluster at these accelerators; all others are taken to be 0. */
export function gather(vector: Float64Array, accelerators: readonly AcceleratorIndex[]): SparseBytes {
  const bytes = new Float64Array(accelerators.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = vector[accelerators[i] as number] ?? 0;
  return { accelerators, bytes };
}

/** Linear in the accelerators named. */
export function bytesOn({ accelerators, bytes }: SparseBytes, accelerator: AcceleratorIndex): number {
  return bytes[accelerators.indexOf(accelerator)] ?? 0;
}

/** Rising. */
export function whereAny(vector: Float64Array): AcceleratorIndex[] {
  const accelerators: AcceleratorIndex[] = [];
  for (let a = 0; a < vector.length; a++) if ((vector[a] as number) > 0) accelerators.push(a);
  return accelerators;
}

export function addSparse(target: Float64Array, { accelerators, bytes }: SparseBytes): void {
  for (let i = 0; i < bytes.length; i++) {
    const a = accelerators[i] as number;
    target[a] = (target[a] as number) + (bytes[i] as number);
  }
}

export function subtractSparse(target: Float64Array, { accelerators, bytes }: SparseBytes): void {
  for (let i = 0; i < bytes.length; i++) {
    const a = accelerators[i] as number;
    target[a] = (target[a] as number) - (bytes[i] as number);
  }
}

export function addInto(target: Float64Array, bytes: Float64Array): void {
  for (let a = 0; a < target.length; a++) target[a] = (target[a] as number) + (bytes[a] ?? 0);
}

export function subtractFrom(target: Float64Array, bytes: Float64Array): void {
  for (let a = 0; a < target.length; a++) target[a] = (target[a] as number) - (bytes[a] ?? 0);
}

export function maxInto(target: Float64Array, bytes: Float64Array): void {
  for (let a = 0; a < target.length; a++) target[a] = Math.max(target[a] as number, bytes[a] ?? 0);
}
