/** Limits of how much may be issued ahead. */
export interface BudgetOptions {
  /** Wanted timeliness t (paper §5.5): time of a round ÷ duration of what it schedules. Default 0.1. */
  readonly timeliness?: number;
  /** Simulated operators per millisecond, s. Declared, not measured, so that a run replays. Default 1000. */
  readonly simulatedOperatorsPerMs?: number;
  /** Issued operators per accelerator that more do not help, l at most. Default 32. */
  readonly operatorsPerAcceleratorMax?: number;
}

/**
 * How many operators of a priority class and the more urgent ones may be issued and not done. The paper's timeliness
 * `t = (N·l + 1) / (s·g)` solved for `N·l`, with g the mean of the last observed durations; at least one per accelerator, so
 * that nothing idles for want of budget, and at most `operatorsPerAcceleratorMax` per accelerator, so that decisions are
 * not made long before they matter.
 */
export class IssueBudget {
  readonly #accelerators: number;
  readonly #timeliness: number;
  readonly #simulatedOperatorsPerMs: number;
  readonly #operatorsPerAcceleratorMax: number;
  #meanMs = 0;

  constructor(accelerators: number, options: BudgetOptions = {}) {
    this.#accelerators = accelerators;
    this.#timeliness = options.timeliness ?? 0.1;
    this.#simulatedOperatorsPerMs = options.simulatedOperatorsPerMs ?? 1000;
    this.#operatorsPerAcceleratorMax = options.operatorsPerAcceleratorMax ?? 32;
  }

  /** Knows what another one has observed. */
  continueFrom(other: IssueBudget): void {
    this.#meanMs = other.#meanMs;
  }

  get operatorsMax(): number {
    const most = this.#accelerators * this.#operatorsPerAcceleratorMax;
    if (this.#meanMs === 0) return most;
    const timely = Math.floor(this.#timeliness * this.#simulatedOperatorsPerMs * this.#meanMs) - 1;
    return Math.max(this.#accelerators, Math.min(most, timely));
  }

  /** Of them on one accelerator, l: what cannot run where it was laid takes nothing from the others. */
  get operatorsPerAccelerator(): number {
    return Math.ceil(this.operatorsMax / this.#accelerators);
  }

  /** Takes note of an observed duration; the mean forgets with a weight of 1/64 per sample. */
  observe(durationNs: number): void {
    const ms = durationNs / 1e6;
    this.#meanMs = this.#meanMs === 0 ? ms : this.#meanMs + (ms - this.#meanMs) / 64;
  }
}
