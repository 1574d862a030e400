import type { FormatErrorCode } from "../errors.ts";

/** The fields of a W1 file that hold one number per node, edge or duration model. */
export type W1Field = "res" | "est" | "memAcc" | "succPtr" | "succ" | "predPtr" | "pred" | "x" | "bytes" | "a" | "b";

/**
 * The columns of a W1 file, not checked yet. Node i runs on resource `res[i]`: an accelerator below N, from N on the link
 * that leaves accelerator `res[i]` − N. It lasts `a[est[i]] + b[est[i]] · x[i]` ms and holds `bytes[i]` on accelerator
 * `memAcc[i]` until the last of `succ[succPtr[i]] … succ[succPtr[i + 1] − 1]` is done.
 */
export interface W1Columns {
  /** N. */
  readonly accelerators: number;
  readonly nodes: number;
  readonly edges: number;
  readonly models: number;
  readonly res: ArrayLike<number>;
  readonly est: ArrayLike<number>;
  readonly memAcc: ArrayLike<number>;
  readonly succPtr: ArrayLike<number>;
  readonly succ: ArrayLike<number>;
  readonly x: ArrayLike<number>;
  readonly bytes: ArrayLike<number>;
  readonly a: ArrayLike<number>;
  readonly b: ArrayLike<number>;
}

/** Refuses item `index` of a field; the reader of the file knows its position. */
export type W1Fail = (
  code: FormatErrorCode,
  field: W1Field,
  index: number,
  message: string,
  details?: Readonly<Record<string, unknown>>,
) => never;

/** Every number in its range, every index within its array: what follows can index without looking. Linear. */
export function checkColumns(w1: W1Columns, fail: W1Fail): void {
  const { accelerators, nodes, edges, models } = w1;
  requireIndices(w1.res, "res", 2 * accelerators, fail);
  requireIndices(w1.memAcc, "memAcc", accelerators, fail);
  requireIndices(w1.est, "est", models, fail);
  requireOffsets(w1.succPtr, "succPtr", edges, fail);
  requireIndices(w1.succ, "succ", nodes, fail);
  for (const field of ["x", "a", "b"] as const) {
    const values = w1[field];
    for (let index = 0; index < values.length; index++) {
      const value = values[index] ?? Number.NaN;
      if (!(value >= 0 && Number.isFinite(value)))
        fail("INVALID_NUMBER", field, index, `${field}[${index}] is ${value}; it must be finite and 0 or more`, {
          field,
          index,
          value,
        });
    }
  }
  for (let index = 0; index < nodes; index++) {
    const value = w1.bytes[index] ?? Number.NaN;
    if (Number.isSafeInteger(value) && value >= 0) continue;
    const code = value > Number.MAX_SAFE_INTEGER ? "BYTES_OVERFLOW" : "INVALID_BYTES";
    fail(code, "bytes", index, `bytes[${index}] is ${value}; it must be a whole number from 0 to 2^53 − 1`, {
      index,
      value,
    });
  }
}

export function requireIndices(values: ArrayLike<number>, field: W1Field, count: number, fail: W1Fail): void {
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? Number.NaN;
    if (!(Number.isInteger(value) && value >= 0 && value < count))
      fail("INVALID_NUMBER", field, index, `${field}[${index}] is ${value}; there are ${count}`, {
        field,
        index,
        value,
        count,
      });
  }
}

/** Offsets into a list of `edges`: from 0, never falling, to `edges`. */
export function requireOffsets(offsets: ArrayLike<number>, field: W1Field, edges: number, fail: W1Fail): void {
  let previous = 0;
  for (let index = 0; index < offsets.length; index++) {
    const value = offsets[index] ?? Number.NaN;
    const isLast = index === offsets.length - 1;
    const wanted = index === 0 ? "0" : isLast ? `${edges}, the number of edges` : `from ${previous} to ${edges}`;
    const isRight = index === 0 ? value === 0 : isLast ? value === edges && value >= previous : value >= previous;
    if (!(isRight && Number.isInteger(value) && value <= edges))
      fail("INVALID_NUMBER", field, index, `${field}[${index}] is ${value}; it must be ${wanted}`, {
        field,
        index,
        value,
      });
    previous = value;
  }
}
