import { EARLY_SAMPLES_MAX, withoutWildOne } from "./early.ts";
import { History } from "./history.ts";
import { checkFeatures, checkOptions, checkPrior, DURATION_MAX_NS } from "./limits.ts";
import { median } from "./median.ts";
import { outlierLog, Regression } from "./regression.ts";
import { readDurationModelState } from "./saved-state.ts";
import { ShiftDetector } from "./shift-detector.ts";
import type { Accuracy, DurationModelState, Estimate, EstimateSource, EstimatorOptions, Sample } from "./types.ts";

/** Observations that agree about the ratio (median deviation of logarithms) up to noise say that everything changed by it. */
const SHIFT_AGREEMENT_LOG = 0.25;
const RECENT_RATE = 0.05;

interface Expected {
  readonly valueNs: number;
  readonly relativeError: number;
  readonly source: EstimateSource;
}

/**
 * Learns how long one kind of work takes from its features, online: recursive least squares with forgetting, the history
 * of exactly repeated features where there are at least three observations, the caller's prior before any. Paper §3.3.1.
 *
 * When everything takes 2 times as long for good, four observations settle it, ten at most where it was not sure of some,
 * while the noise's standard deviation is up to 2 %; mostly also at 10 %. A shift too small to tell from noise is left to
 * forgetting: about 115 observations at the default close nine tenths of the gap.
 *
 * Throws `OPTIONS_INVALID`.
 */
export class DurationModel {
  readonly #options: Required<EstimatorOptions>;
  readonly #history: History;
  #regression: Regression | undefined;
  #shifts = new ShiftDetector();
  /** What the law was learned from, while that is not more than `EARLY_SAMPLES_MAX`; empty afterwards. */
  #early: readonly Sample[] = [];
  #accuracy: Accuracy = { samples: 0, mape: 0, recentMape: 0, refused: 0, outliers: 0, shifts: 0 };

  constructor(options?: EstimatorOptions) {
    this.#options = checkOptions(options);
    this.#history = new History(this.#options.historyKeysMax);
  }

  /**
   * The duration to expect for `features`, of which the first observation fixed the number; `priorNs` ≥ 0 is the caller's
   * own idea of it. Changes nothing. Throws `FEATURES_INVALID`, `PRIOR_INVALID`. Cost: O(features²), no search.
   */
  predict(features: readonly number[], priorNs: number): Estimate {
    checkFeatures(features, this.#regression?.features ?? -1);
    const expected = this.#expect(features, checkPrior(priorNs));
    return {
      durationNs: wholeNs(expected.valueNs),
      confidence: Math.max(0, 1 - expected.relativeError),
      source: expected.source,
    };
  }

  /**
   * Learns that work with `features`, for which the prior was `priorNs`, took `observedNs`. An observation that is not
   * positive and finite, or above 2^53 − 1, is counted and left out. Throws as `predict`. Cost: O(features²).
   */
  observe(features: readonly number[], observedNs: number, priorNs: number): void {
    checkFeatures(features, this.#regression?.features ?? -1);
    const prior = checkPrior(priorNs);
    if (!(observedNs > 0 && observedNs <= DURATION_MAX_NS)) {
      this.#accuracy = { ...this.#accuracy, refused: this.#accuracy.refused + 1 };
      return;
    }
    const sample: Sample = { features: [...features], observedNs: Math.max(observedNs, 1), priorNs: prior };
    const expected = this.#expect(features, prior);
    const log = Math.log(sample.observedNs / expected.valueNs);
    const isPrior = expected.source === "prior";
    this.#account(expected.valueNs, sample.observedNs, !isPrior && Math.abs(log) > outlierLog(expected.relativeError));
    this.#regression ??= new Regression(features.length, this.#options.forgetting);
    const shifted = isPrior ? undefined : this.#shifts.add(sample, log, expected.relativeError);
    if (shifted !== undefined) this.#shift(this.#regression, shifted);
    else this.#learn(this.#regression, sample);
    this.#early = this.#accuracy.samples > EARLY_SAMPLES_MAX ? [] : [...this.#early, sample];
    this.#reconsider(this.#regression);
  }

  /** How the predictions did so far. */
  accuracy(): Accuracy {
    return this.#accuracy;
  }

  /** Everything learned, as a plain value: a model loaded from it predicts and learns the same. */
  save(): DurationModelState {
    return {
      format: "slicescheduler/duration-model",
      version: 1,
      ...this.#options,
      accuracy: { ...this.#accuracy },
      regression: this.#regression?.save() ?? null,
      history: [...this.#history.entries()].map(({ features, observedNs }) => ({
        features: [...features],
        observedNs: [...observedNs],
      })),
      shift: this.#shifts.save(),
      early: this.#early.map((sample) => ({ ...sample, features: [...sample.features] })),
    };
  }

  /** Throws `STATE_INVALID` for what `save` cannot have written, `STATE_VERSION` for another version. */
  static load(state: unknown): DurationModel {
    const checked = readDurationModelState(state);
    const { regression, history, shift, early, accuracy, forgetting } = checked;
    const model = new DurationModel(checked);
    if (regression !== null) model.#regression = Regression.load(regression, forgetting);
    for (const { features, observedNs } of history) {
      for (const duration of observedNs) model.#history.add(features, duration);
    }
    model.#shifts = ShiftDetector.load(shift);
    model.#early = early;
    model.#accuracy = { ...accuracy };
    return model;
  }

  #expect(features: readonly number[], priorNs: number): Expected {
    const remembered = this.#history.find(features);
    if (remembered !== undefined) {
      return { valueNs: remembered.medianNs, relativeError: remembered.relativeError, source: "history" };
    }
    if (this.#regression === undefined) return { valueNs: priorNs, relativeError: 1, source: "prior" };
    const { valueNs, relativeError } = this.#regression.evaluate(features, priorNs);
    return { valueNs, relativeError, source: "regression" };
  }

  #account(predictedNs: number, observedNs: number, isOutlier: boolean): void {
    const { samples, mape, recentMape, refused, outliers, shifts } = this.#accuracy;
    const error = Math.abs(wholeNs(predictedNs) - observedNs) / observedNs;
    const count = samples + 1;
    this.#accuracy = {
      samples: count,
      mape: mape + (error - mape) / count,
      recentMape: recentMape + Math.max(RECENT_RATE, 1 / count) * (error - recentMape),
      refused,
      outliers: outliers + (isOutlier ? 1 : 0),
      shifts,
    };
  }

  /** Takes the observations for the truth: where they agree by what ratio, the law is scaled, else it starts anew. */
  #shift(regression: Regression, samples: readonly Sample[]): void {
    this.#accuracy = { ...this.#accuracy, shifts: this.#accuracy.shifts + 1 };
    const logs: number[] = [];
    let allowed = SHIFT_AGREEMENT_LOG;
    for (const { features, observedNs, priorNs } of samples) {
      const { valueNs, relativeError } = regression.evaluate(features, priorNs);
      logs.push(Math.log(observedNs / valueNs));
      allowed = Math.max(allowed, 2 * relativeError);
    }
    // Medians, and below only what contradicts the law, since the first one may still be from before the shift.
    const log = median(logs);
    const agree = median(logs.map((it) => Math.abs(it - log))) <= allowed;
    if (agree) regression.rescale(Math.exp(log));
    else regression.restart();
    this.#history.clear();
    for (const [index, { features, observedNs, priorNs }] of samples.entries()) {
      if (Math.abs(logs[index] as number) < Math.abs(log) / 2) continue;
      if (!agree) regression.learn(features, observedNs, priorNs);
      this.#history.add(features, observedNs);
    }
  }

  /** Finds out that one of the first observations was wild, often the very first. */
  #reconsider(regression: Regression): void {
    const better = withoutWildOne(regression, this.#early, this.#options.forgetting);
    if (better === undefined) return;
    this.#regression = better.law;
    this.#early = better.samples;
    this.#shifts = new ShiftDetector();
    this.#accuracy = { ...this.#accuracy, outliers: this.#accuracy.outliers + 1 };
  }

  #learn(regression: Regression, { features, observedNs, priorNs }: Sample): void {
    regression.learn(features, observedNs, priorNs);
    this.#history.add(features, observedNs);
  }
}

function wholeNs(valueNs: number): number {
  return Math.min(Math.max(Math.round(valueNs), 1), DURATION_MAX_NS);
}
