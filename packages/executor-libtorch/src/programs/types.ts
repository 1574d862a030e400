import type { Dtype } from "@slicescheduler/templates";

/**
 * An argument of a call. Numbers become what the schema takes: an integer, a float, a scalar. A list is a list of its items;
 * where the schema takes a list of a fixed length (`int[2]`), one number stands for all.
 */
export type Argument =
  | number
  | boolean
  | string
  | null
  /** The result of an earlier call. */
  | { readonly value: string }
  /** The operator's tensor of this position among its inputs as the template declares them, host data not counted. */
  | { readonly input: number }
  /** A tensor of the operator's weights. */
  | { readonly weight: string }
  /** An expression over the template's symbols, as in its shapes ("past + tokens"), handed over as a number. It may be negative. */
  | { readonly symbol: string }
  /** An element type, where the schema takes a `ScalarType`. */
  | { readonly dtype: Dtype }
  | readonly Argument[];

/** Names for the results of a call, null for one that is not used. Two or more names for one result that is a list name its items. */
export type Results = readonly (string | null)[];

/**
 * One step of a program.
 * - `op`: an operator of LibTorch by the name of its schema, with the overload: "aten::mm", "aten::add.Tensor". Its device is the accelerator's own
 *   and is left out.
 * - `feed`: host data that the template declares as `external` and the operator among its inputs, on the accelerator.
 * - `fetch`: copies a tensor to the host and hands it out under this name.
 * - `script`: a method of a TorchScript module of the operator's weights, "forward" by default.
 */
export type Call =
  | {
      readonly op: string;
      readonly args?: readonly Argument[];
      readonly kwargs?: Readonly<Record<string, Argument>>;
      readonly results?: Results;
    }
  | { readonly feed: string; readonly results: readonly [string] }
  | { readonly fetch: string; readonly args: readonly [Argument] }
  | {
      readonly script: string;
      readonly method?: string;
      readonly args?: readonly Argument[];
      readonly results?: Results;
    };

/**
 * What an operator computes: calls in order, and one tensor per declared output, in declared order.
 *
 * An output that `aliases` an input has to be that input itself, written in place (`aten::copy_` into a slice of it; where the output is larger,
 * the buffer has been enlarged, and `aten::as_strided` sees all of it): OUTPUT_MISMATCH. Every other output gets storage of its own: what is a view
 * of something else is copied. Nothing else that is given may be written to: WRONG_ARGUMENT, at registration where the schemas tell, else when the call
 * is reached. What is fetched is dense (WRONG_ARGUMENT) and of a type that gmg names (DTYPE_UNSUPPORTED).
 *
 * Programs are code of yours: they run with the rights of the process, and kernels are only as safe as LibTorch makes them. Take none from strangers.
 * Operators that open files by name (`aten::from_file`) are refused, PROGRAM_INVALID: what they map is on no account.
 */
export interface Program {
  readonly calls: readonly Call[];
  readonly outputs: readonly Argument[];
}
