/** What goes into the core, and what comes out: plain data, so that a run can be recorded and replayed exactly. */
import type { ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import type { OutputReference, TemplateSpec } from "@slicescheduler/gmg";
import type { Decision } from "@slicescheduler/scheduler";
import type { Waiter } from "./standstill.ts";

/** What the application asks. Numbers of requests and instances are given by the shell and rise. */
export type ApplicationEvent =
  | { readonly type: "templateRegistered"; readonly template: TemplateSpec }
  | {
      readonly type: "requestOpened";
      readonly request: number;
      readonly label: string;
      /** Priority class, 0 is the most urgent. */
      readonly rank: number;
      /** The empty name where the application tells none apart. */
      readonly tenant: string;
      /** Null for none. */
      readonly deadlineNs: number | null;
      /** Whether what is not done at the deadline fails. */
      readonly failAtDeadline: boolean;
      /** From a submission to the start of the request's first operator; null for any length. */
      readonly queueTimeoutNs: number | null;
      readonly limits:
        | readonly { readonly template: string; readonly symbols: Readonly<Record<string, number>> }[]
        | null;
      readonly concurrentInstances: number;
      readonly chains: number;
      /** It may stand still with results that it holds for as long as it likes. */
      readonly mayPause: boolean;
      readonly partitions: readonly string[] | null;
      /** True for the request of an instance submitted without one: it ends when none of its instances is left. */
      readonly endsWithInstances: boolean;
    }
  | { readonly type: "requestClosed"; readonly request: number }
  | {
      readonly type: "instanceSubmitted";
      readonly instance: number;
      readonly request: number;
      readonly template: string;
      readonly symbols: Readonly<Record<string, number>>;
      readonly inputs: Readonly<Record<string, OutputReference>>;
      readonly retain: readonly string[];
      readonly partitions: readonly string[] | null;
      readonly label: string;
      /** Priority class and deadline of this instance; null for those of its request. */
      readonly rank: number | null;
      readonly deadlineNs: number | null;
    }
  | { readonly type: "outputReleased"; readonly instance: number; readonly output: string }
  | { readonly type: "instanceCancelled"; readonly instance: number }
  /** Nothing more is placed there. */
  | { readonly type: "acceleratorDrained"; readonly accelerator: number }
  | { readonly type: "acceleratorResumed"; readonly accelerator: number };

/** It is as late as the core asked to be woken at the latest, see `MasterCore.wakeNs`. */
export interface TimeEvent {
  readonly type: "timePassed";
}

export type MasterEvent = ApplicationEvent | ExecutorEvent | TimeEvent;

interface OperatorNotice {
  readonly instance: number;
  /** Index of the operator in its template. */
  readonly operator: number;
  readonly operatorName: string;
  readonly template: string;
  readonly request: number;
  readonly label: string;
  readonly accelerator: number;
  readonly acceleratorName: string;
  readonly issueNumber: number;
  readonly atNs: number;
}

interface InstanceNotice {
  readonly instance: number;
  readonly request: number;
  readonly label: string;
  readonly atNs: number;
}

interface TransferNotice {
  readonly transfer: number;
  readonly source: number;
  readonly destination: number;
  readonly bytes: number;
  readonly atNs: number;
}

interface AcceleratorNotice {
  readonly accelerator: number;
  readonly acceleratorName: string;
  /** Of a loss or a suspicion, and why one that returned cannot be placed on; empty otherwise. */
  readonly reason: string;
  readonly atNs: number;
}

/** The typed events of the master, by name. All are emitted after the change they tell of is complete. */
export interface Notices {
  operatorIssued: OperatorNotice;
  operatorStarted: OperatorNotice;
  operatorDone: OperatorNotice & { readonly observedNs: number };
  /** `again`: it is made again, since that may succeed. */
  operatorFailed: OperatorNotice & { readonly reason: string; readonly again: boolean };
  /** It had been issued and not started, was taken back, and will be issued again. */
  operatorWithdrawn: OperatorNotice;
  transferDone: TransferNotice & { readonly tensor: number; readonly observedNs: number };
  /**
   * Its end is overdue: its ports are free for others, its buffers at both ends stay, and what cannot go on without it fails.
   * `from` tells where it is stuck: before its receive buffer was confirmed, or while its data move.
   */
  transferQuarantined: TransferNotice & {
    readonly tensor: number;
    readonly from: "receiving" | "sending" | "cancelling";
    readonly deadlineNs: number;
  };
  /** The end of a quarantined one has come after all, by itself or with an accelerator of it: its buffers are free. */
  transferReleased: TransferNotice & { readonly outcome: "done" | "failed" | "cancelled" | "lost" };
  instanceDone: InstanceNotice;
  instanceFailed: InstanceNotice & { readonly error: Error };
  instanceCancelled: InstanceNotice;
  decision: Decision;
  /** Nothing moves any more and work waits for memory; `failed` is the instance that gives way, null when somebody may still release some. */
  standstill: {
    readonly waiters: readonly Waiter[];
    readonly failed: number | null;
    readonly reason: string;
    readonly atNs: number;
  };
  /** Its results are made again elsewhere, where they can; what cannot go on fails. */
  acceleratorLost: AcceleratorNotice;
  /** It is there for the first time, or again, and can be placed on unless it is drained: `reason` says so then. */
  acceleratorReturned: AcceleratorNotice;
  /** Operators fail there, or it keeps silent: nothing is placed there anew until it is cleared, or lost. */
  acceleratorSuspect: AcceleratorNotice;
  acceleratorCleared: AcceleratorNotice;
  /** Nothing more is placed there. */
  acceleratorDraining: AcceleratorNotice;
  /** Nothing lies there any more; it can be taken away. */
  acceleratorDrained: AcceleratorNotice;
}

export type AcceleratorNoticeName = Extract<keyof Notices, `accelerator${string}`>;

export type Notice = { [Name in keyof Notices]: { readonly name: Name; readonly value: Notices[Name] } }[keyof Notices];

/** What the core answers to an event. */
export interface Reaction {
  readonly instructions: ExecutorInstruction[];
  readonly notices: Notice[];
}
