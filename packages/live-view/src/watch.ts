import type { Decision } from "@slicescheduler/scheduler";
import type { Notices, SliceScheduler } from "slicescheduler";
import type { Happening } from "./state.ts";

/** Decisions and rare events that are kept, for whoever comes to look: references and short texts. */
const KEPT = 64;

const ACCELERATOR_WORDS = [
  ["acceleratorLost", "was lost"],
  ["acceleratorReturned", "is there"],
  ["acceleratorSuspect", "is suspect"],
  ["acceleratorCleared", "is sound again"],
  ["acceleratorDraining", "is being drained"],
  ["acceleratorDrained", "is drained"],
] as const;

/** Remembers the last decisions and what rarely happens. It costs a reference per decision; nothing is computed. */
export class Watch {
  readonly #decisions = new Ring<Decision>(KEPT);
  readonly #happenings = new Ring<Happening>(KEPT);
  /** Take the listeners back. */
  readonly #ends: (() => void)[] = [];
  #number = 0;

  constructor(scheduler: SliceScheduler) {
    const hear = <Name extends keyof Notices>(name: Name, listener: (notice: Notices[Name]) => void) => {
      scheduler.on(name, listener);
      this.#ends.push(() => scheduler.off(name, listener));
    };
    hear("decision", (decision) => this.#decisions.add(decision));
    hear("instanceFailed", ({ atNs, error }) => this.#happened(atNs, error.message));
    hear("operatorFailed", ({ atNs, operatorName, instance, acceleratorName, reason, again }) => {
      const what = `operator ${operatorName} of instance ${instance} failed on ${acceleratorName}`;
      this.#happened(atNs, `${what}${again ? ", and is made again" : ""}: ${reason}`);
    });
    hear("standstill", ({ atNs, reason }) => this.#happened(atNs, `standstill: ${reason}`));
    hear("transferQuarantined", ({ atNs, transfer }) => this.#happened(atNs, `transfer ${transfer} is overdue`));
    hear("transferReleased", ({ atNs, transfer, outcome }) =>
      this.#happened(atNs, `transfer ${transfer}, which was overdue, has ended: ${outcome}`),
    );
    for (const [name, what] of ACCELERATOR_WORDS) {
      hear(name, ({ atNs, acceleratorName, reason }) =>
        this.#happened(atNs, `accelerator ${acceleratorName} ${what}${reason === "" ? "" : `: ${reason}`}`),
      );
    }
  }

  /** The oldest first. */
  get decisions(): readonly Decision[] {
    return this.#decisions.items();
  }

  get happenings(): readonly Happening[] {
    return this.#happenings.items();
  }

  close(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  #happened(atNs: number, text: string): void {
    this.#happenings.add({ number: this.#number++, atNs, text });
  }
}

class Ring<T> {
  readonly #items: T[] = [];
  readonly #capacity: number;
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(item: T): void {
    this.#items[this.#next % this.#capacity] = item;
    this.#next += 1;
  }

  items(): T[] {
    const at = this.#next % this.#capacity;
    return [...this.#items.slice(at), ...this.#items.slice(0, at)];
  }
}
