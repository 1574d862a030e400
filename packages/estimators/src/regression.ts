/**
 * Duration as a linear law over [1, prior, …features], learned online with residuals taken relatively: 10 % of 1 µs weighs
 * as much as 10 % of 10 s. The law starts as the prior itself. The prior stays a regressor because declared work (FLOPs,
 * bytes) is often not linear in the features, attention for one; one sample then already corrects the prior's level.
 */
import { LeastSquares } from "./least-squares.ts";
import { DURATION_MAX_NS } from "./limits.ts";
import type { RegressionState } from "./types.ts";

/** Start variances per regressor, in units of the noise's, where its contribution is the whole duration. With 5 % noise: */
const PRIOR_VARIANCE = 10_000; // the prior may be off by 5 times itself
const FEATURE_VARIANCE = 400; // any other contribution is about the duration or less
/** The calibrated prior is not taken to be better than this: it may have been seen at one shape only. */
const PRIOR_SPREAD_MIN = 0.3;
const PRIOR_SPREAD_START = 1;

/** A first sight as small as rounding error is no measure of a feature. */
const SCALE_MIN = 2 ** -20;

const NOISE_START = 0.25;
const NOISE_MIN = 0.002;
const NOISE_MAX = 1;
/** The start value counts for as many samples. */
const NOISE_START_SAMPLES = 4;
/** An outlier says little about the noise: it counts as so many expected errors. */
const NOISE_STEP_MAX = 2.5;
const RATE_MIN = 0.05;
/** Mean absolute deviation of a normal law, in standard deviations. */
const MEAN_DEVIATION = 0.8;

/** Further off than so many times the expected error, and than the least ratio (in logarithms), is an outlier. */
const OUTLIER_ERRORS = 6;
const OUTLIER_LOG_MIN = 0.25;

export interface Fitted {
  readonly valueNs: number;
  /** Expected |next − value| / value. */
  readonly relativeError: number;
  /** Variance of the law here, in units of the noise's; infinite where the law has no finite value. */
  readonly variance: number;
}

/** The largest |ln(observed / expected)| that is no outlier. */
export function outlierLog(relativeError: number): number {
  return Math.max(OUTLIER_LOG_MIN, OUTLIER_ERRORS * relativeError);
}

export class Regression {
  readonly features: number;
  readonly #forgetting: number;
  #law: LeastSquares;
  #samples = 0;
  /** Makes the intercept's coefficient a number around 1. */
  #unitNs = 1;
  /** Standard deviation of an observation around the true law, relative. */
  #noise: number = NOISE_START;
  /** Logarithm of observed / prior, recent mean. */
  #logCalibration = 0;
  /** Mean |ln(observed / prior) − logCalibration|, recent. */
  #priorSpread: number = PRIOR_SPREAD_START;
  readonly #scales: Float64Array;
  readonly #regressors: Float64Array;

  constructor(features: number, forgetting: number) {
    this.features = features;
    this.#forgetting = forgetting;
    this.#law = new LeastSquares(features + 2, forgetting);
    this.#scales = new Float64Array(features);
    this.#regressors = new Float64Array(features + 2);
  }

  get samples(): number {
    return this.#samples;
  }

  /** Cost: O(features²). */
  evaluate(features: readonly number[], priorNs: number): Fitted {
    if (this.#samples === 0) return { valueNs: priorNs, relativeError: 1, variance: PRIOR_VARIANCE };
    const calibratedNs = priorNs * Math.exp(this.#logCalibration);
    const unseen = this.#fill(features, priorNs, 1);
    const lawNs = this.#law.value(this.#regressors);
    // The variance is relative to the duration, of which the law itself is a bad measure where it runs into nothing.
    const scaleNs = Math.max(lawNs, calibratedNs * 0.05, 1);
    const variance = this.#law.variance(this.#regressors) / (scaleNs * scaleNs) + unseen * FEATURE_VARIANCE;
    // Of finite numbers that nothing real leads to, which only a saved state can bring in.
    if (!Number.isFinite(lawNs) || !Number.isFinite(variance)) {
      const valueNs = Math.min(Math.max(calibratedNs, 1), DURATION_MAX_NS);
      return { valueNs, relativeError: 1, variance: Number.POSITIVE_INFINITY };
    }
    // Both are estimates of the duration, each counts by the inverse of its variance.
    const priorVariance = Math.max(this.#priorSpread, PRIOR_SPREAD_MIN) ** 2;
    const trust = lawNs > 0 ? priorVariance / (priorVariance + this.#noise * this.#noise * variance) : 0;
    const valueNs = Math.min(Math.max(trust * lawNs + (1 - trust) * calibratedNs, 1), DURATION_MAX_NS);
    const relativeError = lawNs > 0 ? MEAN_DEVIATION * this.#noise * Math.sqrt(1 + variance) : 1;
    return { valueNs, relativeError, variance };
  }

  /** An outlier is learned as if it lay at the outlier limit, so that a single one moves little and many still move all. */
  learn(features: readonly number[], observedNs: number, priorNs: number): void {
    let expected = this.evaluate(features, priorNs);
    if (expected.variance === Number.POSITIVE_INFINITY) {
      this.restart();
      expected = this.evaluate(features, priorNs);
    }
    const log = Math.log(observedNs / expected.valueNs);
    const limit = this.#samples === 0 ? Number.POSITIVE_INFINITY : outlierLog(expected.relativeError);
    const boundedLog = Math.min(Math.max(log, -limit), limit);
    const boundedNs = expected.valueNs * Math.exp(boundedLog);
    // Relative to the expectation, so that noise does not bias the law; but a high outlier must not weigh as its square.
    const scaleNs = Math.max(expected.valueNs, boundedNs / 2);
    this.#admit(features, priorNs, scaleNs);
    this.#fill(features, priorNs, scaleNs);
    this.#law.learn(this.#regressors, boundedNs / scaleNs);
    this.#adapt(boundedLog, expected.variance, Math.log(boundedNs / priorNs));
    this.#samples++;
  }

  /** Everything takes `factor` times as long from now on. */
  rescale(factor: number): void {
    this.#law.rescale(factor);
    this.#logCalibration += Math.log(factor);
  }

  /** Back to the prior, and to not knowing the noise: what seemed to be noise was judged by a wrong law. */
  restart(): void {
    this.#law = new LeastSquares(this.features + 2, this.#forgetting);
    this.#scales.fill(0);
    this.#samples = 0;
    this.#noise = NOISE_START;
    this.#logCalibration = 0;
    this.#priorSpread = PRIOR_SPREAD_START;
  }

  save(): RegressionState {
    const { size, upper, coefficients, diagonal } = this.#law;
    const above: number[] = [];
    for (let row = 0; row < size; row++) above.push(...upper.subarray(row * size + row + 1, (row + 1) * size));
    return {
      samples: this.#samples,
      unitNs: this.#unitNs,
      noise: this.#noise,
      logCalibration: this.#logCalibration,
      priorSpread: this.#priorSpread,
      scales: [...this.#scales],
      coefficients: [...coefficients],
      upper: above,
      diagonal: [...diagonal],
    };
  }

  /** `state` was checked. */
  static load(state: RegressionState, forgetting: number): Regression {
    const regression = new Regression(state.scales.length, forgetting);
    regression.#samples = state.samples;
    regression.#unitNs = state.unitNs;
    regression.#noise = state.noise;
    regression.#logCalibration = state.logCalibration;
    regression.#priorSpread = state.priorSpread;
    regression.#scales.set(state.scales);
    const law = regression.#law;
    law.coefficients.set(state.coefficients);
    law.diagonal.set(state.diagonal);
    let next = 0;
    for (let row = 0; row < law.size; row++) {
      for (let column = row + 1; column < law.size; column++) {
        law.upper[row * law.size + column] = state.upper[next++] as number;
      }
    }
    return regression;
  }

  /** Opens the law to regressors that are not 0 for the first time. */
  #admit(features: readonly number[], priorNs: number, scaleNs: number): void {
    const law = this.#law;
    if (this.#samples === 0) {
      this.#unitNs = scaleNs;
      law.diagonal[0] = FEATURE_VARIANCE;
      law.diagonal[1] = PRIOR_VARIANCE * (scaleNs / priorNs) ** 2;
      law.coefficients[1] = 1;
    }
    for (let index = 0; index < features.length; index++) {
      const feature = features[index] as number;
      if (this.#scales[index] !== 0 || feature === 0) continue;
      this.#scales[index] = Math.max(Math.abs(feature), SCALE_MIN);
      law.diagonal[index + 2] = FEATURE_VARIANCE * (scaleNs / this.#unitNs) ** 2;
    }
  }

  /** Regressors in units of `scaleNs`; returns how many features are not 0 that always were. */
  #fill(features: readonly number[], priorNs: number, scaleNs: number): number {
    const regressors = this.#regressors;
    const unit = this.#unitNs / scaleNs;
    let unseen = 0;
    regressors[0] = unit;
    regressors[1] = priorNs / scaleNs;
    for (let index = 0; index < features.length; index++) {
      const feature = features[index] as number;
      const scale = this.#scales[index] as number;
      regressors[index + 2] = scale === 0 ? 0 : (feature / scale) * unit;
      if (scale === 0 && feature !== 0) unseen++;
    }
    return unseen;
  }

  #adapt(boundedLog: number, variance: number, calibration: number): void {
    const rate = Math.max(RATE_MIN, 1 / (this.#samples + 1));
    const spread = Math.abs(calibration - this.#logCalibration);
    this.#logCalibration += rate * (calibration - this.#logCalibration);
    if (this.#samples === 0) return;
    this.#priorSpread += rate * (spread - this.#priorSpread);
    const noise = Math.abs(boundedLog) / (MEAN_DEVIATION * Math.sqrt(1 + variance));
    const boundedNoise = Math.min(noise, NOISE_STEP_MAX * MEAN_DEVIATION * this.#noise + NOISE_MIN);
    const noiseRate = Math.max(RATE_MIN, 1 / (this.#samples + NOISE_START_SAMPLES));
    this.#noise = Math.min(Math.max(this.#noise + noiseRate * (boundedNoise - this.#noise), NOISE_MIN), NOISE_MAX);
  }
}
