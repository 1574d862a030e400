/**
 * The executor boundary as plain data. The master sends instructions, a backend answers with events; neither side shares
 * objects with the other, so both can travel between processes. The rules are in docs/execution-model.md.
 */
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/templates";
import type { ExecutorStats } from "./stats.ts";

export interface IssuedInput {
  readonly tensor: number;
  /**
   * The transfer that brings it here, or null when it is present or produced on this accelerator. Numbers of transfers rise in the order
   * in which issues first name them; one that has ended is not named again.
   */
  readonly transfer: number | null;
  /** Where the transfer comes from; meaningless when `transfer` is null. */
  readonly source: number;
}

export interface IssuedOutput {
  readonly tensor: number;
  readonly bytes: number;
  /** The input tensor whose buffer it continues, or null. */
  readonly aliases: number | null;
}

export interface IssueInstruction {
  readonly type: "issue";
  readonly issueNumber: number;
  readonly accelerator: number;
  readonly instance: number;
  readonly template: string;
  /** Index of the operator in its template. */
  readonly operator: number;
  readonly symbols: Readonly<Record<string, number>>;
  readonly rank: number;
  readonly activated: boolean;
  /** Distinct tensors, in declared order. */
  readonly inputs: readonly IssuedInput[];
  readonly outputs: readonly IssuedOutput[];
  readonly workspaceBytes: number;
}

export type ExecutorInstruction =
  | { readonly type: "registerTemplate"; readonly template: TemplateSpec }
  | { readonly type: "loadWeights"; readonly accelerator: number; readonly name: string; readonly bytes: number }
  | IssueInstruction
  /** Make a held-back operator activated. */
  | { readonly type: "activate"; readonly issueNumber: number }
  /** Give an operator that has not started another priority class. Ignored when it runs, or is there no more. */
  | { readonly type: "rerank"; readonly issueNumber: number; readonly rank: number }
  /** Take an operator back; answered by `withdrawn`, or by its normal end when it already runs. */
  | { readonly type: "withdraw"; readonly issueNumber: number }
  /** Allocate the receive buffer; answered by `recvReady`, or by `recvFailed` when it does not fit. */
  | {
      readonly type: "activateRecv";
      readonly transfer: number;
      readonly tensor: number;
      readonly source: number;
      readonly destination: number;
      readonly bytes: number;
    }
  /**
   * Give up a transfer whose data do not move yet, with its receive buffer if it has one; answered by `transferCancelled`. Ignored when its
   * data move, or it has ended.
   */
  | { readonly type: "cancelTransfer"; readonly transfer: number }
  /** Move the data; answered by `transferDone` or `transferFailed`. */
  | { readonly type: "activateSend"; readonly transfer: number }
  /** Have the device do something small; answered by `probed`, or not at all. Only for a backend whose manifest says `probes`. */
  | { readonly type: "probe"; readonly accelerator: number; readonly probe: number }
  /**
   * The master has given the accelerator up: everything there ends as with a loss, and `acceleratorLost` answers. The device is made ready
   * again, if it can be, and `acceleratorReturned` says so. Ignored when it is absent. Only for a backend whose manifest says `probes`.
   */
  | { readonly type: "giveUp"; readonly accelerator: number; readonly reason: string }
  /** The master needs this copy, which it released, again: keep it. Ignored when it has gone. */
  | { readonly type: "hold"; readonly tensor: number; readonly accelerator: number }
  /** The master needs this copy no longer: free it as soon as no issued work does. */
  | { readonly type: "release"; readonly tensor: number; readonly accelerator: number };

export type ExecutorEvent =
  | { readonly type: "operatorStarted"; readonly issueNumber: number }
  | { readonly type: "operatorDone"; readonly issueNumber: number; readonly observedNs: number }
  /** It ended without outputs; consumers already issued stay blocked until they are withdrawn. */
  | {
      readonly type: "operatorFailed";
      readonly issueNumber: number;
      readonly cause: OperatorFailure;
      readonly reason: string;
    }
  | { readonly type: "withdrawn"; readonly issueNumber: number }
  /** Tensors that planned transfers wait for are at their sources: all intents of one cause, ascending. The master selects. */
  | { readonly type: "intentsRaised"; readonly transfers: readonly number[] }
  | { readonly type: "recvReady"; readonly transfer: number }
  /** The receive buffer did not fit; the transfer is an intent again and may be activated later. */
  | { readonly type: "recvFailed"; readonly transfer: number; readonly reason: string }
  | { readonly type: "transferDone"; readonly transfer: number; readonly observedNs: number }
  /** It ended without a copy at the destination. */
  | { readonly type: "transferFailed"; readonly transfer: number; readonly reason: string }
  /** It will not take place: the master gave it up, its last waiting consumer was withdrawn, or its tensor was lost at the source. */
  | { readonly type: "transferCancelled"; readonly transfer: number }
  /**
   * The accelerator is gone with everything on it: memory, queue, transfers from and to it. No event follows about any of
   * that, and instructions that concern it are ignored until it returns. Operators elsewhere that wait for its results stay blocked.
   */
  | { readonly type: "acceleratorLost"; readonly accelerator: number; readonly reason: string }
  /** The device has answered a probe; operators there work, or do not. */
  | { readonly type: "probed"; readonly accelerator: number; readonly probe: number; readonly healthy: boolean }
  /** It is there again, empty: without weights. */
  | { readonly type: "acceleratorReturned"; readonly accelerator: number };

/** `"outOfMemory"`: it did not fit when it would have started; `"inputLost"`: an input can never be there; `"fault"`: all else. */
export type OperatorFailure = "outOfMemory" | "inputLost" | "fault";

/** Whole nanoseconds since the run's epoch; never steps back. */
export interface Clock {
  nowNs(): number;
  /**
   * Calls back once, at that time or as soon after as it can, and never before it has returned. A time that has passed is now.
   * @returns What takes it back, as long as it has not been called.
   */
  callAt(atNs: number, callback: () => void): () => void;
}

export interface ExecutorManifest {
  readonly name: string;
  /** True when time is simulated: it advances only as events are processed. */
  readonly simulatedTime: boolean;
  /** Operators may end with `operatorFailed` of the cause `"fault"`. Default false. */
  readonly failsOperators?: boolean;
  /** Transfers may end with `transferFailed`. Default false. */
  readonly failsTransfers?: boolean;
  /** Accelerators may be lost and return while it runs. Default false. */
  readonly losesAccelerators?: boolean;
  /** It answers `probe`, and carries out `giveUp`. Default false. */
  readonly probes?: boolean;
  /** `stats` is there and tells, whenever nothing is left to deliver, memory to the byte. Default false. */
  readonly keepsAccounts?: boolean;
  /** Tensors have contents, which operators compute and transfers move. Default false. */
  readonly holdsData?: boolean;
  /**
   * Its accelerators go on by themselves: an operator may have been started before an instruction came, while the events that led to its
   * start, and that of the start itself, are still on their way. Default false: nothing starts until every event has been delivered.
   */
  readonly runsAhead?: boolean;
}

export interface ExecutorContext {
  readonly cluster: ClusterSpec;
  /**
   * Hand an event to the master. It may call `execute` before it returns: the instructions are applied at once, and the
   * events they cause are delivered after this call, never inside it. Accelerators start nothing until no event is left.
   */
  deliver(event: ExecutorEvent): void;
}

export interface Executor {
  readonly manifest: ExecutorManifest;
  readonly clock: Clock;
  /** Called once, before anything else. */
  open(context: ExecutorContext): void;
  /**
   * Carries out the instructions in order; see "Operators are issued" in docs/execution-model.md. Throws an `ExecutorError`
   * for instructions no correct master gives, which change nothing themselves, while those before them in the batch stay
   * carried out; what only timing makes impossible is answered by an event instead.
   */
  execute(instructions: readonly ExecutorInstruction[]): void;
  /**
   * Throws what `registerTemplate` and `loadWeights` would throw for a template because of what it is. Called before anything is committed to it, so that a
   * fault can be mended and the template registered under the same name. Changes nothing that `execute` would show.
   */
  checkTemplate?(template: TemplateSpec): void;
  /** Its own account of memory and time, where it keeps one. */
  stats?(): ExecutorStats;
  /** Stops everything; no event is delivered afterwards. */
  close(): void;
}
