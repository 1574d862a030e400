import type { CheckFailure } from "../errors.ts";
import type { RequestClass } from "./policy.ts";
import type { RequestRecord } from "./records.ts";

/** Everything one replay of one policy left behind; metrics and checks are computed from it. */
export interface ReplayOutcome {
  readonly policy: string;
  readonly windowNs: number;
  /** When the last operator or transfer ended. */
  readonly endNs: number;
  readonly records: readonly RequestRecord[];
  readonly offlineOffered: number;
  readonly accelerators: readonly AcceleratorOutcome[];
  /** Share of the window that operators of each class occupied, one per accelerator. */
  readonly busy: Readonly<Record<RequestClass, readonly number[]>>;
  readonly operatorsDone: number;
  readonly rounds: number;
  /** Operators simulated for the rounds. */
  readonly simulatedOperators: number;
  /** Wall time of a round in nanoseconds on this host, or null when it was not measured; never part of a result. */
  readonly hostNsPerRound: number | null;
  /** Instances, operators or requests the graph still holds. */
  readonly leftInGraph: number;
  /** Operators in flight when nothing more could happen. */
  readonly standstills: number;
  readonly audit: readonly CheckFailure[];
}

export interface AcceleratorOutcome {
  readonly name: string;
  readonly capacityBytes: number;
  /** External baseline and weights: what may stay. */
  readonly fixedBytes: number;
  readonly usedBytesAtEnd: number;
  readonly peakHbmBytes: number;
  /** Share of the window, 0…1. */
  readonly utilization: number;
}
