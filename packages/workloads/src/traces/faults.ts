/** What is wrong with a file, fault by fault, up to a limit. */
import { type TraceFault, TraceFaultsError } from "../errors.ts";

/** Collects faults of one file and throws them together: when there are as many as one wants to see, or at the end. */
export class FaultList {
  readonly #file: string;
  readonly #faultsMax: number;
  readonly #faults: TraceFault[] = [];

  constructor(file: string, faultsMax: number) {
    this.#file = file;
    this.#faultsMax = faultsMax;
  }

  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  /** Errors: TRACE_FAULTY, with this fault as the last one there is room for. */
  add(fault: TraceFault): void {
    this.#faults.push(fault);
    if (this.#faults.length >= this.#faultsMax) throw new TraceFaultsError(this.#file, this.#faults, true);
  }

  /** Errors: TRACE_FAULTY, when there is any. */
  throwIfAny(): void {
    if (this.#faults.length > 0) throw new TraceFaultsError(this.#file, this.#faults, false);
  }
}
