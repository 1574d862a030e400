/**
 * Tells a level that changed for good from noise and wild samples: a two-sided cumulative sum (CUSUM) of how far, in expected
 * errors, observations lie above or below what was expected.
 *
 * A single step is bounded, so that no sample counts for more than a quarter of the threshold: four far off in a row reach
 * it, three never do. Two to three expected errors, every time, take four to six samples.
 */
import type { Sample, ShiftState } from "./types.ts";

/** The fewest observations that can make a shift; as many, the last, measure the new level. */
export const SHIFT_SAMPLES = 4;

const STEP_MAX = 2.5;
/** Taken off each step: a bias below one expected error is noise, or left to forgetting. */
const DRIFT = 1;
const THRESHOLD = SHIFT_SAMPLES * (STEP_MAX - DRIFT);
/** Where less error is expected, a small misfit of the law must not look like a shift. */
const ERROR_MIN = 0.04;

export class ShiftDetector {
  #high = 0;
  #low = 0;
  #recent: Sample[] = [];

  /**
   * Takes in one observation, `log` = ln(observed / expected). Returns the last observations, oldest first, when they
   * make a shift, and starts over; else undefined.
   */
  add(sample: Sample, log: number, relativeError: number): readonly Sample[] | undefined {
    const error = Math.max(relativeError, ERROR_MIN);
    const step = Math.min(Math.max(log / error, -STEP_MAX), STEP_MAX);
    this.#high = Math.max(0, this.#high + step - DRIFT);
    this.#low = Math.max(0, this.#low - step - DRIFT);
    if (this.#recent.length === SHIFT_SAMPLES) this.#recent.shift();
    this.#recent.push(sample);
    if (this.#high < THRESHOLD && this.#low < THRESHOLD) return undefined;
    const shifted = this.#recent;
    this.#restore({ high: 0, low: 0, recent: [] });
    return shifted;
  }

  save(): ShiftState {
    return {
      high: this.#high,
      low: this.#low,
      recent: this.#recent.map(copySample),
    };
  }

  /** `state` was checked. */
  static load(state: ShiftState): ShiftDetector {
    const detector = new ShiftDetector();
    detector.#restore(state);
    return detector;
  }

  #restore({ high, low, recent }: ShiftState): void {
    this.#high = high;
    this.#low = low;
    this.#recent = recent.map(copySample);
  }
}

function copySample({ features, observedNs, priorNs }: Sample): Sample {
  return { features: [...features], observedNs, priorNs };
}
