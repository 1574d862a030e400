import { History } from "./history.ts";
import { checkFeatures, checkOptions, checkPrior, DURATION_MAX_NS } from "./limits.ts";
import { outlierLog, Regression } from "./regression.ts";
import { readDurationModelState } from "./saved-state.ts";
import type { Accuracy, DurationModelState, Estimate, EstimateSource, EstimatorOptions, Sample } from "./types.ts";

/** So many suspects in a row, all too high or all too low, are a new level and not outliers. */
export const SHIFT_SAMPLES = 4;
/** Suspects that agree this well about the ratio (in logarithms) say that everything changed by that ratio. */
const SHIFT_AGREEMENT_LOG = 0.5;
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
 * A level that changes for good by a ratio outside the outlier limit (at least 1.28, and six times the expected error) is
 * taken over after four observations; a smaller change on repeated features after six; otherwise by forgetting, which
 * leaves a tenth of the gap after about 115 observations at the default.
 *
 * Throws `OPTIONS_INVALID`.
 */
export class DurationModel {
  readonly #options: Required<EstimatorOptions>;
  readonly #history: History;
  #regression: Regression | undefined;
  /** In a row, all on one side; fewer than `SHIFT_SAMPLES`. */
  #suspects: Sample[] = [];
  #suspectsHigh = false;
  #accuracy: Accuracy = { samples: 0, mape: 0, recentMape: 0, refused: 0, suspects: 0, shifts: 0 };

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
    const isSuspect = this.#isSuspect(sample.observedNs, expected);
    this.#account(expected.valueNs, sample.observedNs, isSuspect);
    this.#regression ??= new Regression(features.length, this.#options.forgetting);
    if (!isSuspect) this.#suspects = [];
    else this.#suspect(sample, sample.observedNs > expected.valueNs);
    if (this.#suspects.length === SHIFT_SAMPLES) this.#shift(this.#regression);
    else this.#learn(this.#regression, sample);
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
      suspects: this.#suspects.map(copySample),
      suspectsHigh: this.#suspectsHigh,
    };
  }

  /** Throws `STATE_INVALID` for what `save` cannot have written, `STATE_VERSION` for another version. */
  static load(state: unknown): DurationModel {
    const checked = readDurationModelState(state);
    const { regression, history, suspects, suspectsHigh, accuracy, forgetting } = checked;
    const model = new DurationModel(checked);
    if (regression !== null) model.#regression = Regression.load(regression, forgetting);
    for (const { features, observedNs } of history) {
      for (const duration of observedNs) model.#history.add(features, duration);
    }
    model.#suspects = suspects.map(copySample);
    model.#suspectsHigh = suspectsHigh;
    model.#accuracy = { ...accuracy };
    return model;
  }

  #expect(features: readonly number[], priorNs: number): Expected {
    const remembered = this.#history.find(features);
    if (remembered !== undefined) {
      return { valueNs: remembered.meanNs, relativeError: remembered.relativeError, source: "history" };
    }
    if (this.#regression === undefined) return { valueNs: priorNs, relativeError: 1, source: "prior" };
    const { valueNs, relativeError } = this.#regression.evaluate(features, priorNs);
    return { valueNs, relativeError, source: "regression" };
  }

  #isSuspect(observedNs: number, expected: Expected): boolean {
    if (expected.source === "prior") return false;
    return Math.abs(Math.log(observedNs / expected.valueNs)) > outlierLog(expected.relativeError);
  }

  #account(predictedNs: number, observedNs: number, isSuspect: boolean): void {
    const { samples, mape, recentMape, refused, suspects, shifts } = this.#accuracy;
    const error = Math.abs(wholeNs(predictedNs) - observedNs) / observedNs;
    const count = samples + 1;
    this.#accuracy = {
      samples: count,
      mape: mape + (error - mape) / count,
      recentMape: recentMape + Math.max(RECENT_RATE, 1 / count) * (error - recentMape),
      refused,
      suspects: suspects + (isSuspect ? 1 : 0),
      shifts,
    };
  }

  #suspect(sample: Sample, isHigh: boolean): void {
    if (isHigh !== this.#suspectsHigh) this.#suspects = [];
    this.#suspectsHigh = isHigh;
    this.#suspects.push(sample);
  }

  /** Takes the suspects for the truth: what they contradict is scaled where they agree by how much, else started anew. */
  #shift(regression: Regression): void {
    const suspects = this.#suspects;
    this.#suspects = [];
    this.#accuracy = { ...this.#accuracy, shifts: this.#accuracy.shifts + 1 };
    const logs = suspects
      .map(({ features, observedNs, priorNs }) => Math.log(observedNs / regression.evaluate(features, priorNs).valueNs))
      .sort((a, b) => a - b);
    const lowest = logs[0] as number;
    const highest = logs[logs.length - 1] as number;
    if (highest - lowest <= SHIFT_AGREEMENT_LOG) {
      regression.rescale(Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length));
    } else {
      regression.restart();
    }
    this.#history.clear();
    for (const sample of suspects) this.#learn(regression, sample);
  }

  #learn(regression: Regression, { features, observedNs, priorNs }: Sample): void {
    regression.learn(features, observedNs, priorNs);
    this.#history.add(features, observedNs);
  }
}

function copySample({ features, observedNs, priorNs }: Sample): Sample {
  return { features: [...features], observedNs, priorNs };
}

function wholeNs(valueNs: number): number {
  return Math.min(Math.max(Math.round(valueNs), 1), DURATION_MAX_NS);
}
