import type { ResidencyLedger } from "@slicescheduler/memory";
import type { Cluster } from "@slicescheduler/templates";
import type { Presence } from "./presence.ts";
import type { AcceleratorQueue } from "./queue.ts";
import type { QueueState, TransferState } from "./states.ts";
import type { TransferTable } from "./transfers.ts";

export interface AcceleratorStats {
  readonly name: string;
  /** Time with an operator running, the present one's until now included, and of one that was lost until the loss. */
  readonly busyNs: number;
  /** In use now: baseline, weights, buffers and workspace. */
  readonly usedHbmBytes: number;
  readonly peakHbmBytes: number;
  /** Operators that ran to an end. */
  readonly operators: number;
  /** Transfers that arrived here, and that left from here. */
  readonly transfersIn: number;
  readonly transfersOut: number;
  /** How often it was lost, and whether it is absent now. */
  readonly losses: number;
  readonly absent: boolean;
}

export interface ExecutorStats {
  readonly accelerators: readonly AcceleratorStats[];
  /** Allocations that would have passed a capacity: operators failed, receive buffers refused, weights refused. */
  readonly overCapacityRefused: number;
  /** Operators that ended without outputs, for whatever reason; those lost with an accelerator are not among them. */
  readonly operatorsFailed: number;
  /** Late or duplicate messages and those that concern an absent accelerator, all of which changed nothing. */
  readonly ignored: number;
}

/** What is left besides weights. */
export interface Leftovers {
  readonly operators: readonly {
    readonly issueNumber: number;
    readonly accelerator: number;
    readonly state: QueueState;
    readonly missingInputs: number;
  }[];
  readonly tensors: readonly {
    readonly tensor: number;
    readonly accelerator: number;
    readonly bytes: number;
    readonly uses: number;
    readonly sends: number;
    readonly held: boolean;
    /** Expected or being written. */
    readonly producing: boolean;
  }[];
  readonly transfers: readonly {
    readonly transfer: number;
    readonly tensor: number;
    readonly source: number;
    readonly destination: number;
    readonly state: TransferState;
  }[];
}

interface Count {
  busyNs: number;
  operators: number;
  transfersIn: number;
  transfersOut: number;
  losses: number;
}

/** Counts what happened on each accelerator. */
export class Tally {
  overCapacityRefused = 0;
  failed = 0;
  ignored = 0;
  readonly #counts: readonly Count[];

  constructor(accelerators: number) {
    this.#counts = Array.from({ length: accelerators }, () => ({
      busyNs: 0,
      operators: 0,
      transfersIn: 0,
      transfersOut: 0,
      losses: 0,
    }));
  }

  ranOperator(accelerator: number, durationNs: number): void {
    const count = this.#counts[accelerator];
    if (count === undefined) return;
    count.operators++;
    count.busyNs += durationNs;
  }

  /** An accelerator was lost after an operator had run there in vain. */
  lost(accelerator: number, durationNs: number): void {
    const count = this.#counts[accelerator];
    if (count === undefined) return;
    count.losses++;
    count.busyNs += durationNs;
  }

  moved(source: number, destination: number): void {
    const from = this.#counts[source];
    const to = this.#counts[destination];
    if (from !== undefined) from.transfersOut++;
    if (to !== undefined) to.transfersIn++;
  }

  stats(
    cluster: Cluster,
    ledger: ResidencyLedger,
    queues: readonly AcceleratorQueue[],
    presence: Presence,
    nowNs: number,
  ): ExecutorStats {
    return {
      accelerators: this.#counts.map((count, index) => {
        const running = queues[index]?.running ?? null;
        return {
          name: cluster.accelerators[index]?.name ?? "",
          busyNs: count.busyNs + (running === null ? 0 : nowNs - running.startedNs),
          usedHbmBytes: ledger.usedBytes(index),
          peakHbmBytes: ledger.peakBytes(index),
          operators: count.operators,
          transfersIn: count.transfersIn,
          transfersOut: count.transfersOut,
          losses: count.losses,
          absent: presence.isAbsent(index),
        };
      }),
      overCapacityRefused: this.overCapacityRefused,
      operatorsFailed: this.failed,
      ignored: this.ignored,
    };
  }
}

export function leftoversOf(
  ledger: ResidencyLedger,
  queues: readonly AcceleratorQueue[],
  transfers: TransferTable,
): Leftovers {
  return {
    operators: queues.flatMap((queue) =>
      Array.from(queue.operators(), ({ instruction, state, missing }) => ({
        issueNumber: instruction.issueNumber,
        accelerator: queue.accelerator,
        state,
        missingInputs: missing,
      })),
    ),
    tensors: queues.flatMap(({ accelerator }) =>
      ledger.copies(accelerator).map(({ tensor, bytes, uses, sends, held, producing }) => ({
        tensor,
        accelerator,
        bytes,
        uses,
        sends,
        held,
        producing,
      })),
    ),
    transfers: Array.from(transfers.all(), ({ transfer, tensor, source, destination, state }) => ({
      transfer,
      tensor,
      source,
      destination,
      state,
    })),
  };
}
