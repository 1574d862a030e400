/** The public types of the simulator; docs/execution-model.md has the rules a simulation follows. */
import type { Topology } from "@slicescheduler/arbitration";

declare const handle: unique symbol;
/** Handle of an operator: a plain number, valid until the next `begin`, or the `rewind` that drops it. */
export type SimOperator = number & { readonly [handle]: "operator" };
/** Handle of a tensor: a plain number, valid until the next `begin`, or the `rewind` that drops it. */
export type SimTensor = number & { readonly [handle]: "tensor" };

export interface SimulatorOptions {
  readonly topology: Topology;
  /** Predicted whole nanoseconds of a transfer, at least 1; called outside the loop, once per transfer and run. */
  readonly transferNs: (source: number, destination: number, bytes: number) => number;
  /** An intent's effective rank falls by one for each `agingNs` waited. Default 1 s. */
  readonly agingNs?: number;
  /** An intent that waited this long reserves its ports and links. Default 4 s. */
  readonly reserveNs?: number;
}

export interface AcceleratorState {
  /** Usable bytes: HBM − margin. */
  readonly capacityBytes: number;
  /** Bytes in use throughout that this simulation does not model: baseline, weights, tensors that nothing here reads. */
  readonly fixedBytes: number;
  /** Buffers and workspace are rounded up to this, at least 1. Default 1: sizes arrive rounded. */
  readonly granularityBytes?: number;
}

export interface RunLimit {
  /** Stop as soon as the score can no longer be this or less. */
  readonly abandonAboveScore?: number;
  /** Keep every change of the bytes in use, for `hbmTimeline`. */
  readonly timeline?: boolean;
}

export interface SimulationResult {
  readonly outcome: "finished" | "outOfMemory" | "standstill" | "abandoned";
  /** From `begin` to the last end of an operator or a transfer. */
  readonly makespanNs: number;
  /** Operators that ended in the simulation. */
  readonly simulatedOperators: number;
  /** Average completion of the targets; `Infinity` when not all of them ended, `NaN` when there are none. */
  readonly scoreNs: number;
}

/** The first allocation that does not fit. At most one of `operator` and `transfer` is not −1; both are when the start does not fit. */
export interface OutOfMemory {
  readonly accelerator: number;
  readonly atNs: number;
  readonly operator: SimOperator | -1;
  /** Transfer whose receive buffer did not fit. */
  readonly transfer: number;
  /** Bytes in use after the allocation would be this much above the capacity. */
  readonly bytesOver: number;
}

/** Something that can never go on. */
export interface Waiter {
  /** The operator that waits, or −1 for a transfer. */
  readonly operator: SimOperator | -1;
  /** The transfer that waits, or −1 for an operator. */
  readonly transfer: number;
  /** Where it waits: the operator's accelerator, the transfer's source. */
  readonly accelerator: number;
  /** Tensors that never arrive; empty for a transfer that waits for ports or links. */
  readonly tensors: readonly SimTensor[];
  readonly words: string;
}

export interface SimulatedTransfer {
  /** Number in the order in which transfers are planned. */
  readonly transfer: number;
  readonly tensor: SimTensor;
  readonly source: number;
  readonly destination: number;
  readonly bytes: number;
  /** When it became an intent; NaN when it did not. */
  readonly raisedNs: number;
  /** NaN when it was not selected. One in flight at `begin` counts as selected then. */
  readonly startNs: number;
  /** NaN when it did not end. */
  readonly doneNs: number;
}

/** Bytes in use from `atNs` on. */
export interface HbmSample {
  readonly atNs: number;
  readonly usedBytes: number;
}

/** An operator or a transfer on a critical path. */
export interface CriticalStep {
  /** −1 for a transfer. */
  readonly operator: SimOperator | -1;
  /** −1 for an operator. */
  readonly transfer: number;
  /** Where it runs; of a transfer, its source. */
  readonly accelerator: number;
  /** When it was ready, or an intent: from here to `startNs` it waited. */
  readonly sinceNs: number;
  readonly startNs: number;
  readonly doneNs: number;
  /**
   * What let it start, which is the end of the step before: its last input, its accelerator, or a port or link that became
   * free; "begin" for the first step, which nothing in the simulation held up.
   */
  readonly waitedFor: "begin" | "input" | "accelerator" | "port";
}
