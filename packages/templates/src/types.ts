/**
 * What users declare of a cluster and of templates, as plain data.
 * Bytes and nanoseconds are whole numbers up to 2^53 − 1 in plain numbers.
 */

/** Index of an accelerator in the cluster's declared order. */
export type AcceleratorIndex = number;

export type Dtype =
  | "float64"
  | "float32"
  | "float16"
  | "bfloat16"
  | "float8"
  | "int64"
  | "int32"
  | "int16"
  | "int8"
  | "uint8"
  | "bool";

/**
 * A whole number, or an expression over the template's symbols:
 * `+`, `-`, `*`, parentheses, `ceilDiv(a, b)`, `max(a, b, …)`, for example `"(past + tokens) * 8"`.
 */
export type Dimension = number | string;

export interface TensorSpec {
  readonly shape: readonly Dimension[];
  readonly dtype: Dtype;
}

export interface OutputSpec extends TensorSpec {
  /**
   * A reference to one of the operator's own inputs, whose buffer this output continues in place: the KV cache grows by
   * its delta and is never counted twice. A tensor can be continued once.
   */
  readonly aliases?: string;
}

export interface OperatorSpec {
  readonly name: string;
  /** References: `"operator.output"`, or an input or external of the template, `"name"`, or `"name[2]"` of a bundle. */
  readonly inputs?: readonly string[];
  readonly outputs: Readonly<Record<string, OutputSpec>>;
  /** Scratch memory while it runs, in bytes. Default 0. */
  readonly workspaceBytes?: Dimension;
  /** Weights it needs on its accelerator: name to bytes. Equal names share one residency per accelerator. */
  readonly weights?: Readonly<Record<string, number>>;
  /** Declared floating-point operations, for the roofline prior. Default 0. */
  readonly flops?: Dimension;
  /** Declared bytes moved to and from HBM, for the roofline prior. Default: inputs + outputs + weights. */
  readonly movedBytes?: Dimension;
  /** Name of the duration model; operators that name the same one share what is learned. Default `"template/operator"`. */
  readonly durationModel?: string;
}

export interface PartitionSpec {
  readonly name: string;
  /** Names of accelerators, in order. */
  readonly accelerators: readonly string[];
  /** For each operator, in the template's order, a position in `accelerators`. */
  readonly layout: readonly number[];
}

/**
 * A template as the user declares it. An input, external or output may be one tensor or a bundle (an array); an input whose
 * bytes come out as 0 under an instance's symbols need not be bound (the KV cache of a prefill with `past = 0`).
 */
export interface TemplateSpec<
  Symbols extends string = string,
  Inputs extends string = string,
  Outputs extends string = string,
  Bounded extends string = string,
> {
  readonly name: string;
  readonly symbols: readonly Symbols[];
  /**
   * Largest values of symbols, whole, from 0. An instance may leave such a symbol out when it does not know the value: it
   * takes memory for the largest sizes that any value up to the bound gives.
   */
  readonly bounds?: { readonly [Name in Bounded]?: number };
  /** Results of earlier instances, bound when an instance is submitted. */
  readonly inputs?: Readonly<Record<Inputs, TensorSpec | readonly TensorSpec[]>>;
  /** Host data (token ids, an image), staged on the accelerator of each operator that reads them while it runs. */
  readonly external?: Readonly<Record<string, TensorSpec | readonly TensorSpec[]>>;
  readonly operators: readonly OperatorSpec[];
  /** What later instances can refer to: a name for one `"operator.output"` or for a bundle of them. */
  readonly outputs: Readonly<Record<Outputs, string | readonly string[]>>;
  /** Where it may be laid. */
  readonly partitions: readonly PartitionSpec[];
}

/** Values for the symbols of a template; those with a bound may be left out. */
export type SymbolValues<Symbols extends string = string, Bounded extends Symbols = never> = Readonly<
  Record<Exclude<Symbols, Bounded>, number> & Partial<Record<Bounded, number>>
>;

export interface AcceleratorSpec {
  readonly name: string;
  /** Accelerators of one kind share what the estimators learn. */
  readonly kind: string;
  readonly hbmBytes: number;
  /** Bytes used by others on the device. Default 0. */
  readonly externalBaselineBytes?: number;
  /** Bytes never to be used. Default 0. */
  readonly marginBytes?: number;
  /** Allocations are rounded up to a multiple of this. Default 1. */
  readonly granularityBytes?: number;
  /** Peak rate, for the roofline prior. */
  readonly flopsPerSecond?: number;
  readonly hbmBytesPerSecond?: number;
  /** Transfers it can send, and as many it can receive, at the same time, beside operators. At least 1, default 1. */
  readonly copyEngines?: number;
  /** It is not there yet and may join later: every accelerator that there can ever be is declared. Default false. */
  readonly absent?: boolean;
}

export interface LinkSpec {
  readonly name: string;
  readonly latencyNs: number;
  readonly bytesPerSecond: number;
  /** Transfers on it at the same time. Default 1. */
  readonly capacity?: number;
  /** Ordered pairs [source, destination] of accelerator names that route over it. A pair may use several links. */
  readonly connects: readonly (readonly [string, string])[];
}

export interface ClusterSpec {
  readonly accelerators: readonly AcceleratorSpec[];
  /** For pairs that no link connects: a dedicated link each. Without it such pairs cannot exchange tensors. */
  readonly defaultLink?: { readonly latencyNs: number; readonly bytesPerSecond: number };
  readonly links?: readonly LinkSpec[];
}
