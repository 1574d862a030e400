import type { ExecutorEvent, IssueInstruction } from "./types.ts";

/** What the backend does next. */
export type ExecutorAction =
  /** Hand the event to the master. */
  | { readonly type: "deliver"; readonly event: ExecutorEvent }
  /** Run the operator, then call `operatorEnded` or `operatorFailed`. */
  | {
      readonly type: "startOperator";
      readonly instruction: IssueInstruction;
      /** How often this operator of this instance was issued in vain before: withdrawn, failed or lost. */
      readonly attempt: number;
    }
  /** Move the data, then call `transferEnded` or `transferFailed`. */
  | { readonly type: "startTransfer"; readonly transfer: StartedTransfer };

export interface StartedTransfer {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: number;
  readonly destination: number;
  readonly bytes: number;
}

/** Actions in the order of their causes, each taken once. */
export class ActionLine {
  #actions: ExecutorAction[] = [];
  #taken = 0;

  get isEmpty(): boolean {
    return this.#taken === this.#actions.length;
  }

  push(action: ExecutorAction): void {
    this.#actions.push(action);
  }

  deliver(event: ExecutorEvent): void {
    this.#actions.push({ type: "deliver", event });
  }

  take(): ExecutorAction | undefined {
    const action = this.#actions[this.#taken];
    if (action !== undefined) this.#taken++;
    if (this.isEmpty) {
      this.#actions = [];
      this.#taken = 0;
    }
    return action;
  }

  /** Takes back what is not to be started any more; events stay. */
  dropStarts(issueNumbers: ReadonlySet<number>, transfers: ReadonlySet<number>): void {
    this.#actions = this.#actions.slice(this.#taken).filter((action) => {
      if (action.type === "startOperator") return !issueNumbers.has(action.instruction.issueNumber);
      return action.type !== "startTransfer" || !transfers.has(action.transfer.transfer);
    });
    this.#taken = 0;
  }
}
