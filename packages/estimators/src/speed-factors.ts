/**
 * How much longer each accelerator takes than the models of its kind say: a throttled device, a bad cable, a neighbour on the same card. Per
 * accelerator the logarithms of observed ÷ predicted are kept, the last few. Their median is its level, so that wild ones count for one; three
 * in a row that lie far off on one side are a new level, and what was before is forgotten. A factor is a level against the kind's: the lower
 * median of all known levels. So at least one known accelerator of the kind is at 1, and what all do alike is left to the models.
 */
import { EstimatorError } from "./errors.ts";
import { KIND_ACCELERATORS_MAX } from "./limits.ts";
import { median } from "./median.ts";
import type { SpeedFactorsState } from "./types.ts";

/** Observations kept per accelerator. */
export const SPEED_SAMPLES = 32;
/** So many in a row make a new level, and with fewer an accelerator is not known. One less than shift a model: the device is suspected first. */
export const SPEED_SHIFT_SAMPLES = 3;
/** Closer to 1 than this, about 10 % (in logarithms), a factor is 1. */
const SPEED_LOG_MIN = 0.0953;
/** A factor is 1 while closer to it than so many standard errors of the level. */
const SIGNIFICANT_ERRORS = 5;
/** Standard error of a median of n, times √n, in mean absolute deviations of a normal law: 1.25 · 1.25. */
const MEDIAN_ERROR = 1.57;

/** Farther off than this, and than so many mean deviations, is far off. */
const FAR_LOG_MIN = 0.14;
const FAR_DEVIATIONS = 6;

/** The mean deviation is of all accelerators of the kind together: few observations of one may agree by chance. */
const SPEED_DEVIATION_START = 0.2;
const DEVIATION_RATE = 0.03;
/** One observation counts for so many mean deviations at most. */
const DEVIATION_STEP_MAX = 2.5;
const DEVIATION_MIN = 0.002;

interface Known {
  /** ln(observed / predicted), oldest first, at most `SPEED_SAMPLES`. */
  readonly logs: number[];
  /** Their median. */
  levelLog: number;
}

/** The speed factors of the accelerators of one kind. */
export class SpeedFactors {
  readonly #accelerators = new Map<string, Known>();
  /** Levels of accelerators with enough observations, ascending. */
  readonly #levels: number[] = [];
  #deviation: number = SPEED_DEVIATION_START;

  /**
   * What the accelerator takes ÷ what its kind's models predict: 3 is three times as slow. Exactly 1 while it is not known, and within 10 % or
   * within noise of its kind.
   */
  factor(accelerator: string): number {
    const known = this.#accelerators.get(accelerator);
    if (known === undefined || known.logs.length < SPEED_SHIFT_SAMPLES) return 1;
    const log = known.levelLog - (this.#levels[(this.#levels.length - 1) >> 1] as number);
    if (Math.abs(log) < SPEED_LOG_MIN) return 1;
    const errorLog = (MEDIAN_ERROR * this.#deviation) / Math.sqrt(known.logs.length);
    return Math.abs(log) < SIGNIFICANT_ERRORS * errorLog ? 1 : Math.exp(log);
  }

  /**
   * Learns that work took e^`log` times what its kind's model predicted. `log` is finite. Cost: a few kept numbers sorted, and a search among the
   * kind's accelerators. Throws `TOO_MANY_ACCELERATORS`.
   */
  observe(accelerator: string, log: number): void {
    const known = this.#accelerators.get(accelerator) ?? this.#create(accelerator);
    const { logs } = known;
    if (logs.length >= SPEED_SHIFT_SAMPLES) this.#levels.splice(this.#rankOf(known.levelLog), 1);
    if (logs.length > 0) this.#adapt(Math.abs(log - known.levelLog));
    logs.push(log);
    if (logs.length > SPEED_SAMPLES) logs.shift();
    if (this.#hasShifted(known)) logs.splice(0, logs.length - SPEED_SHIFT_SAMPLES);
    known.levelLog = median(logs);
    if (logs.length >= SPEED_SHIFT_SAMPLES) this.#levels.splice(this.#rankOf(known.levelLog), 0, known.levelLog);
  }

  save(): SpeedFactorsState {
    return {
      deviation: this.#deviation,
      accelerators: [...this.#accelerators].map(([accelerator, { logs }]) => ({ accelerator, logs: [...logs] })),
    };
  }

  /** `state` was checked. */
  static load({ deviation, accelerators }: SpeedFactorsState): SpeedFactors {
    const factors = new SpeedFactors();
    factors.#deviation = deviation;
    for (const { accelerator, logs } of accelerators) {
      const levelLog = median(logs);
      factors.#accelerators.set(accelerator, { logs: [...logs], levelLog });
      if (logs.length >= SPEED_SHIFT_SAMPLES) factors.#levels.splice(factors.#rankOf(levelLog), 0, levelLog);
    }
    return factors;
  }

  #create(accelerator: string): Known {
    if (this.#accelerators.size >= KIND_ACCELERATORS_MAX) {
      const message = `no room for the speed of accelerator ${JSON.stringify(accelerator)}: ${this.#accelerators.size} of its kind are known, the maximum; split the kind`;
      throw new EstimatorError("TOO_MANY_ACCELERATORS", message, { accelerator, size: this.#accelerators.size });
    }
    const known: Known = { logs: [], levelLog: 0 };
    this.#accelerators.set(accelerator, known);
    return known;
  }

  /** Whether the last ones lie far off the median of those before them, all on one side, and most others of the kind do not. */
  #hasShifted({ logs }: Known): boolean {
    const before = logs.slice(0, -SPEED_SHIFT_SAMPLES);
    if (before.length === 0) return false;
    const levelLog = median(before);
    const farLog = Math.max(FAR_LOG_MIN, FAR_DEVIATIONS * this.#deviation);
    const recent = logs.slice(-SPEED_SHIFT_SAMPLES);
    const slower = recent.every((log) => log - levelLog > farLog);
    if (!slower && !recent.every((log) => levelLog - log > farLog)) return false;
    let others = 0;
    let alike = 0;
    for (const other of this.#accelerators.values()) {
      if (other.logs === logs || other.logs.length < SPEED_SHIFT_SAMPLES) continue;
      const log = (other.logs[other.logs.length - 1] as number) - other.levelLog;
      others++;
      if (slower ? log > farLog : -log > farLog) alike++;
    }
    return 2 * alike <= others;
  }

  #adapt(deviation: number): void {
    const bounded = Math.min(deviation, DEVIATION_STEP_MAX * this.#deviation);
    this.#deviation = Math.max(this.#deviation + DEVIATION_RATE * (bounded - this.#deviation), DEVIATION_MIN);
  }

  /** The place of the first level that is not less. */
  #rankOf(levelLog: number): number {
    let low = 0;
    let high = this.#levels.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#levels[middle] as number) < levelLog) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
