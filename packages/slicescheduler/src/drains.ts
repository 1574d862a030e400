import type { GlobalMappingGraph } from "@slicescheduler/gmg";

/** Accelerators that are being drained, lost and absent ones too, each until it is resumed. */
export class Drains {
  /** The claims' epoch at which requests still lay on it: while that lasts, they still do. Null once it was found empty. */
  readonly #epochs = new Map<number, number | null>();

  continueFrom(other: Drains): void {
    for (const [accelerator, epoch] of other.#epochs) this.#epochs.set(accelerator, epoch);
  }

  has(accelerator: number): boolean {
    return this.#epochs.has(accelerator);
  }

  /** Nothing lies on it any more, as `becameIdle` said. */
  isOver(accelerator: number): boolean {
    return this.#epochs.get(accelerator) === null;
  }

  /** False when it is being drained already. */
  begin(accelerator: number): boolean {
    if (this.#epochs.has(accelerator)) return false;
    this.#epochs.set(accelerator, -1);
    return true;
  }

  /** False when it was not being drained. */
  end(accelerator: number): boolean {
    return this.#epochs.delete(accelerator);
  }

  /** Those that nothing lies on any more, each once. O(1) for each that has copies, or whose requests cannot have left it. */
  becameIdle(graph: GlobalMappingGraph): number[] {
    const idle: number[] = [];
    const { claims, ledger } = graph;
    for (const [accelerator, epoch] of this.#epochs) {
      if (epoch === null || epoch === claims.epoch || !ledger.isEmpty(accelerator)) continue;
      const isIdle = graph.isIdle(accelerator);
      if (isIdle) idle.push(accelerator);
      this.#epochs.set(accelerator, isIdle ? null : claims.epoch);
    }
    return idle;
  }
}
