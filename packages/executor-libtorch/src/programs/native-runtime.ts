/**
 * The native boundary of programs and weights: names and order as in native/addon_runtime.cc. Faults are thrown as an `Error` with the `code` of a
 * `LibtorchErrorCode`; `withFaults` makes them errors of this package.
 */

/** A value of the addon, garbage-collected. */
export interface NativeProgram {
  readonly nativeProgram: unique symbol;
}
export interface NativeWeights {
  readonly nativeWeights: unique symbol;
}

/** A tensor on its way out of the addon. */
export interface NativeTensor {
  /** gmg's name, or LibTorch's for a type that gmg does not have. */
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayBuffer;
}

/** A tensor on its way into the addon: as many bytes as shape and type take. */
export interface NativeHostTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayBufferView;
}

export interface NativeRuntime {
  /** Takes what `lowerProgram` made. */
  compileProgram(json: string): {
    readonly weightNames: readonly string[];
    readonly feedNames: readonly string[];
    readonly program: NativeProgram;
  };
  /** Takes what `lowerWeights` made. `bytes` is 0 for TorchScript, whose size only loading tells. */
  openWeights(json: string, allowTorchScript: boolean): { readonly bytes: number; readonly source: NativeWeights };
  /** Runs a program once on a device made for it, in the calling thread. */
  runProgram(
    program: NativeProgram,
    options: {
      readonly device: string;
      readonly capBytes?: number;
      readonly inputs: readonly NativeHostTensor[];
      readonly symbols: readonly number[];
      readonly weights: readonly NativeWeights[];
      readonly feeds: Readonly<Record<string, NativeHostTensor>>;
    },
  ): {
    readonly outputs: readonly NativeTensor[];
    readonly fetched: Readonly<Record<string, NativeTensor>>;
    /** The most bytes in use on the device at a time, weights and inputs included. */
    readonly peakBytes: number;
  };
  /** Of LibTorch; whether this build has CUDA, how many devices there are; how LibTorch runs in parallel, in its words. */
  versions(): {
    readonly torch: string;
    readonly cuda: boolean;
    readonly cudaDevices: number;
    readonly parallel: string;
  };
}
