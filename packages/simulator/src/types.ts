/** See docs/execution-model.md for the rules a simulation follows. */
import type { Topology } from "@slicescheduler/arbitration";

export interface SimulatorOptions {
  readonly topology: Topology;
  /** Predicted nanoseconds of a transfer, at least 1; called outside the loop, once per transfer. */
  readonly transferNs: (source: number, destination: number, bytes: number) => number;
  readonly agingNs?: number;
  readonly reserveNs?: number;
}

export interface AcceleratorState {
  /** Usable bytes: HBM − margin. */
  readonly capacityBytes: number;
  /** Bytes in use that this simulation does not model: baseline and weights. */
  readonly fixedBytes: number;
}

export interface SimulationResult {
  readonly outcome: "finished" | "outOfMemory" | "standstill" | "abandoned";
  readonly makespanNs: number;
  /** Operators that ended in the simulation. */
  readonly simulatedOperators: number;
}
