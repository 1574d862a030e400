import type { Dtype } from "@slicescheduler/templates";

/** A tensor of random numbers, or of one number. */
export interface SeededTensor {
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  /** Standard deviation about 0, at least 0; floating-point types only. Default 1. */
  readonly std?: number;
  /** Every element is this number. */
  readonly fill?: number;
}

/**
 * Where the tensors of weights come from, by the names that programs read them by.
 * - `safetensors`: a file, and the names of the tensors in it. It is memory-mapped, and everything in its header is checked before anything is read. While
 *   it is in use it may be replaced (by renaming another over it) but not cut short.
 * - `seed`: pseudo-random numbers, the same on every machine for a seed (a whole number from 0) and the name.
 * - `scripts`: TorchScript files. **Such a file holds code that runs in this process with all its rights** when it is loaded and called: load only what you
 *   would run as a program. Refused unless the executor was made with `allowTorchScript: true`.
 */
export type WeightsSource =
  | { readonly safetensors: string; readonly tensors: Readonly<Record<string, string>> }
  | { readonly seed: number; readonly tensors: Readonly<Record<string, SeededTensor>> }
  | { readonly scripts: Readonly<Record<string, string>> };
