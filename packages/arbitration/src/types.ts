/** What the arbiter needs to know of the cluster: ports and links as small integers. */
export interface Topology {
  readonly accelerators: number;
  /** Per accelerator: transfers it can send at once, and as many it can receive. */
  readonly portCapacity: readonly number[];
  /** Per link: transfers on it at once. */
  readonly linkCapacity: readonly number[];
  /** Links on the way, possibly none; undefined when there is no way from source to destination. */
  route(source: number, destination: number): readonly number[] | undefined;
}

export interface Intent {
  readonly transfer: number;
  readonly source: number;
  readonly destination: number;
  readonly bytes: number;
  /** Priority class, 0 is the most urgent. */
  readonly rank: number;
  /** How long its data are predicted to move; its deadline follows from that. Default 0: not known. */
  readonly expectedNs?: number;
}

export interface ArbitrationOptions {
  /** An intent's effective rank falls by one for each `agingNs` waited. Default 1 s. */
  readonly agingNs?: number;
  /** An intent that waited this long reserves its ports and links. Default 4 s. */
  readonly reserveNs?: number;
  /**
   * A transfer that holds its ports is given up `max(deadlineMinNs, deadlineFactor · expectedNs)` after its data began to move, and
   * `deadlineMinNs` after it was selected when they never did. Defaults 10, at least 1, and 10 s. A `deadlineMinNs` of 2^53 − 1 is never.
   */
  readonly deadlineFactor?: number;
  readonly deadlineMinNs?: number;
}

/** A transfer the arbiter admitted: allocate its receive buffer, then say `recvReady`. */
export interface Selection {
  readonly transfer: number;
  readonly source: number;
  readonly destination: number;
  readonly bytes: number;
}

/**
 * | state       | meaning                                           | pending | holds its ports |
 * |-------------|---------------------------------------------------|---------|-----------------|
 * | intent      | waits to be selected                              | yes     | no              |
 * | receiving   | selected; the receive buffer is being allocated   | no      | yes             |
 * | sending     | the data moves                                    | no      | yes             |
 * | cancelling  | cancelled while the data moved; waits for its end | no      | yes             |
 * | quarantined | its end is overdue; its buffers are not free yet  | no      | no              |
 * | gone        | ended, or never known                             | no      | no              |
 */
export type TransferState = "intent" | "receiving" | "sending" | "cancelling" | "quarantined" | "gone";

export type LiveState = Exclude<TransferState, "gone">;

/** What moves a transfer from state to state. */
export type TransferMove = "raise" | "select" | "recvReady" | "done" | "failed" | "cancel" | "expire";

/** A transfer whose end is overdue. Its ports are free again, its buffers are not. */
export interface Quarantined extends Selection {
  /** Where it was stuck: before its data moved, while they moved, or while they moved and it was cancelled. */
  readonly from: "receiving" | "sending" | "cancelling";
  readonly deadlineNs: number;
}

export interface MoveRecord {
  readonly move: TransferMove;
  readonly atNs: number;
}

/** One live transfer, for inspection. */
export interface TransferView extends Intent {
  readonly expectedNs: number;
  readonly state: LiveState;
  /** When its intent was raised. */
  readonly sinceNs: number;
  readonly history: readonly MoveRecord[];
}

/** One reason why an intent is not selected. */
export interface WaitingFor {
  readonly port: "egress" | "ingress" | "link";
  /** Index of the accelerator, or of the link. */
  readonly index: number;
  /** `busy`: all its capacity is held. `reserved`: an intent before it in order has waited too long to be overtaken. */
  readonly reason: "busy" | "reserved";
  /** Transfers that hold it, or the intent that reserves it. */
  readonly transfers: readonly number[];
}

export interface WaitingReport {
  readonly transfer: number;
  readonly source: number;
  readonly destination: number;
  readonly rank: number;
  readonly effectiveRank: number;
  readonly waitedNs: number;
  /** True when it keeps its ports and links from intents after it in order. */
  readonly reserves: boolean;
  /** Empty when it would be selected now. */
  readonly waitsFor: readonly WaitingFor[];
}

/** An arbiter as a plain value: `Arbiter.load` continues from it. */
export interface ArbiterState {
  readonly format: "slicescheduler/arbiter";
  readonly version: 2;
  readonly agingNs: number;
  readonly reserveNs: number;
  readonly deadlineFactor: number;
  readonly deadlineMinNs: number;
  readonly nowNs: number;
  /** Live transfers by transfer number. */
  readonly transfers: readonly TransferView[];
  /** The last transfers that ended, oldest first. */
  readonly gone: readonly { readonly transfer: number; readonly history: readonly MoveRecord[] }[];
}
