import type { Cluster } from "@slicescheduler/templates";

/**
 * Which accelerators are there, and which the master believes to be there. What it says of one is about the accelerator that
 * it knows: so one that was lost and has returned serves only from the moment at which the master is told of its last change.
 * Until then it would take instructions that were meant for the accelerator before the loss.
 */
export class Presence {
  readonly #isAbsent: boolean[];
  /** Losses and returns that have not been handed to the master. */
  readonly #untold: number[];

  /** @param absent Per accelerator; default: what the cluster declares. */
  constructor({ accelerators }: Cluster, absent?: readonly boolean[]) {
    this.#isAbsent = [...(absent ?? accelerators.map((accelerator) => accelerator.absent))];
    this.#untold = accelerators.map(() => 0);
  }

  isAbsent(accelerator: number): boolean {
    return this.#isAbsent[accelerator] ?? true;
  }

  /** Whether instructions that concern it are carried out. */
  serves(accelerator: number): boolean {
    return !this.isAbsent(accelerator) && this.#untold[accelerator] === 0;
  }

  /** Returns false when nothing changes. */
  change(accelerator: number, isAbsent: boolean): boolean {
    if (this.isAbsent(accelerator) === isAbsent) return false;
    this.#isAbsent[accelerator] = isAbsent;
    this.#untold[accelerator] = (this.#untold[accelerator] ?? 0) + 1;
    return true;
  }

  /** The event of a change is handed to the master. */
  told(accelerator: number): void {
    this.#untold[accelerator] = (this.#untold[accelerator] ?? 1) - 1;
  }
}
