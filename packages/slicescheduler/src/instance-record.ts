import type { InstanceResult } from "./handles.ts";

type Outcome = { readonly result: InstanceResult } | { readonly error: Error };

/** The outcome of an instance, and a promise of it for whoever asks. */
export class InstanceRecord {
  readonly submittedNs: number;
  #outcome: Outcome | undefined;
  #promise: Promise<InstanceResult> | undefined;
  #settle: ((outcome: Outcome) => void) | undefined;

  constructor(submittedNs: number) {
    this.submittedNs = submittedNs;
  }

  settle(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#settle?.(outcome);
  }

  /** Made when first asked for: a replay submits millions of instances and awaits none. */
  get done(): Promise<InstanceResult> {
    this.#promise ??= new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) => ("error" in outcome ? reject(outcome.error) : resolve(outcome.result));
      if (this.#outcome === undefined) this.#settle = settle;
      else settle(this.#outcome);
    });
    // A failure nobody awaits is told by the event.
    this.#promise.catch(() => {});
    return this.#promise;
  }
}
