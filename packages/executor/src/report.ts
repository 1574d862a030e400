import type { Cluster, ResidencyLedger, ResidentCopy } from "@slicescheduler/gmg";
import type { AcceleratorQueue } from "./queue.ts";
import type { QueueState, TransferState } from "./states.ts";
import type { TransferTable } from "./transfers.ts";

export interface AcceleratorStats {
  readonly name: string;
  /** Nanoseconds of operators that have ended. */
  readonly busyNs: number;
  readonly usedHbmBytes: number;
  readonly peakHbmBytes: number;
  /** Operators that have ended, failed ones included, refused ones not. */
  readonly operatorsRun: number;
  /** Transfers done to this accelerator. */
  readonly transfers: number;
}

/** What was ignored, because it concerned something that had ended. */
export interface IgnoredCounts {
  readonly withdrawals: number;
  readonly activations: number;
  readonly releases: number;
  readonly completions: number;
}

export interface ExecutorStats {
  readonly accelerators: readonly AcceleratorStats[];
  /** Operators that failed because their memory did not fit when they were to start. */
  readonly overCapacityRefused: number;
  readonly ignored: IgnoredCounts;
}

/** What an executor has not finished or not given back; all empty after a complete run. */
export interface ExecutorLeftovers {
  readonly operators: readonly {
    readonly issueNumber: number;
    readonly accelerator: number;
    readonly state: QueueState;
  }[];
  /** Tensor copies, expected ones included; weights do not count. */
  readonly tensors: readonly (ResidentCopy & { readonly accelerator: number })[];
  readonly transfers: readonly {
    readonly transfer: number;
    readonly tensor: number;
    readonly source: number;
    readonly destination: number;
    readonly state: TransferState;
  }[];
}

export interface ExecutorCounts {
  /** Per accelerator. */
  readonly busyNs: number[];
  readonly operatorsRun: number[];
  readonly transfersIn: number[];
  overCapacityRefused: number;
  readonly ignored: { -readonly [Name in keyof IgnoredCounts]: number };
}

export function newCounts(accelerators: number): ExecutorCounts {
  const zeros = () => new Array<number>(accelerators).fill(0);
  const ignored = { withdrawals: 0, activations: 0, releases: 0, completions: 0 };
  return { busyNs: zeros(), operatorsRun: zeros(), transfersIn: zeros(), overCapacityRefused: 0, ignored };
}

export function stats(cluster: Cluster, ledger: ResidencyLedger, counts: ExecutorCounts): ExecutorStats {
  return {
    accelerators: cluster.accelerators.map(({ name, index }) => ({
      name,
      busyNs: counts.busyNs[index] ?? 0,
      usedHbmBytes: ledger.usedBytes(index),
      peakHbmBytes: ledger.peakBytes(index),
      operatorsRun: counts.operatorsRun[index] ?? 0,
      transfers: counts.transfersIn[index] ?? 0,
    })),
    overCapacityRefused: counts.overCapacityRefused,
    ignored: { ...counts.ignored },
  };
}

export function leftovers(
  queues: readonly AcceleratorQueue[],
  ledger: ResidencyLedger,
  transfers: TransferTable,
): ExecutorLeftovers {
  return {
    operators: queues.flatMap((queue) =>
      Array.from(queue.operators(), ({ instruction, state }) => ({
        issueNumber: instruction.issueNumber,
        accelerator: queue.accelerator,
        state,
      })),
    ),
    tensors: queues.flatMap(({ accelerator }) => ledger.copies(accelerator).map((copy) => ({ ...copy, accelerator }))),
    transfers: Array.from(transfers.all(), ({ transfer, tensor, source, destination, state }) => ({
      transfer,
      tensor,
      source,
      destination,
      state,
    })),
  };
}
