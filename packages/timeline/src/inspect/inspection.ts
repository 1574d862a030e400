/** What is there at a moment, as plain values. */
import type { Availability, InstanceState, OperatorState, TransferNode } from "@slicescheduler/gmg";
import type { Decision, WaitingReason } from "@slicescheduler/scheduler";

export interface Inspection {
  /** Of the log's last event that was replayed; of a snapshot the latest time in it, unless another was given. */
  readonly atNs: number;
  /** In the cluster's order. */
  readonly accelerators: readonly InspectedAccelerator[];
  /** Operators that are not issued though all they need is issued or done, the most urgent first; `waitingMax` of them at most. */
  readonly waiting: readonly WaitingOperator[];
  /** All of those. */
  readonly waitingOperators: number;
  /** Operators that are not issued and have to wait for others that are not. */
  readonly laterOperators: number;
  /** Transfers that have not ended, by number. */
  readonly transfers: readonly InspectedTransfer[];
  /** By number. */
  readonly requests: readonly InspectedRequest[];
  /** The instance that was asked for; null when none was. */
  readonly instance: InspectedInstance | null;
  /** The decision that was asked for; null when none was. */
  readonly decision: Decision | null;
}

export interface InspectedAccelerator {
  readonly name: string;
  readonly kind: string;
  readonly availability: Availability;
  /** Nothing is placed there anew, since operators failed there or it keeps silent. Not part of a snapshot. */
  readonly isSuspect: boolean;
  /** Null when it is idle. */
  readonly running: InspectedOperator | null;
  /** Issued and not started, by issue number. */
  readonly queue: readonly QueuedOperator[];
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly peakBytes: number;
  /** They add up to the bytes in use, the largest first. */
  readonly owners: readonly HbmOwner[];
}

export interface InspectedOperator {
  /** `template/operator`. */
  readonly operator: string;
  readonly instance: number;
  readonly request: number;
  readonly rank: number;
  readonly issueNumber: number;
  readonly issuedNs: number;
  /** −1 before it starts. */
  readonly startedNs: number;
}

/** `"ready"`: it waits for its turn; `"heldBack"`: it would not end before more urgent work comes; `"blocked"`: inputs are missing. */
export interface QueuedOperator extends InspectedOperator {
  readonly state: "ready" | "heldBack" | "blocked" | "recalled";
  /** One for each missing input. */
  readonly missing: readonly MissingInput[];
}

export type MissingInput =
  | { readonly from: "operator"; readonly operator: string; readonly instance: number; readonly isRunning: boolean }
  | {
      readonly from: "transfer";
      readonly transfer: number;
      readonly state: TransferNode["state"];
      readonly source: string;
      readonly bytes: number;
    }
  /** It was lost; the operator is being taken back. */
  | { readonly from: "nowhere" };

export interface HbmOwner {
  readonly owner:
    | { readonly kind: "baseline" }
    | { readonly kind: "weights"; readonly name: string }
    | { readonly kind: "workspace" }
    | { readonly kind: "request"; readonly request: number }
    /** Of instances that have left the graph. */
    | { readonly kind: "nobody" };
  readonly bytes: number;
}

export interface WaitingOperator {
  readonly operator: string;
  readonly instance: number;
  readonly request: number;
  readonly rank: number;
  /** Of its instance's submission. */
  readonly sinceNs: number;
  readonly reason: WaitingReason;
}

export interface InspectedTransfer {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: string;
  readonly destination: string;
  readonly bytes: number;
  readonly state: TransferNode["state"];
  readonly rank: number;
  /** When its data began to move, else when it became an intent, else −1. */
  readonly sinceNs: number;
  /** Operators that wait for it. */
  readonly waiting: readonly { readonly operator: string; readonly instance: number }[];
}

export interface InspectedRequest {
  readonly request: number;
  readonly label: string;
  readonly rank: number;
  /** Null for a snapshot, which does not tell. */
  readonly tenant: string | null;
  /** Null for none. */
  readonly deadlineNs: number | null;
  readonly openedNs: number;
  readonly isClosed: boolean;
  /** Null before its first operator is issued. */
  readonly partition: string | null;
  readonly instances: Readonly<Record<InstanceState, number>>;
  /** Accelerators on which it claims memory. */
  readonly memory: readonly {
    readonly accelerator: string;
    readonly usedBytes: number;
    readonly claimedBytes: number;
  }[];
  readonly preemptions: number;
}

export interface InspectedInstance {
  readonly instance: number;
  /** `"gone"` when it has ended and left the graph. */
  readonly state: InstanceState | "gone";
  readonly request: number | null;
  readonly template: string | null;
  readonly partition: string | null;
  readonly operators: readonly InspectedInstanceOperator[];
  /** Those about it; none for a snapshot, which does not tell. */
  readonly decisions: readonly Decision[];
}

export interface InspectedInstanceOperator {
  readonly operator: string;
  readonly state: OperatorState;
  readonly accelerator: string | null;
  /** Why it is not issued; null once it is. */
  readonly reason: WaitingReason | null;
  /** What it lacks where it was issued. */
  readonly missing: readonly MissingInput[];
  /** Null where it has not happened. */
  readonly issuedNs: number | null;
  readonly startedNs: number | null;
  readonly doneNs: number | null;
}
