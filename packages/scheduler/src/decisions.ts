import type { Decision } from "./types.ts";

/** The last decisions, the oldest overwritten first. */
export class DecisionLog {
  readonly #decisions: Decision[] = [];
  readonly #capacity: number;
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(decision: Decision): void {
    this.#decisions[this.#next % this.#capacity] = decision;
    this.#next += 1;
  }

  /** Decisions about an instance, in order. Linear in the log. */
  about(instance: number): Decision[] {
    return this.#decisions.filter((decision) => decision.instance === instance).sort((a, b) => a.round - b.round);
  }
}
