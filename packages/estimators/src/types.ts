/** The vocabulary of duration estimates as plain data. Durations are nanoseconds in plain numbers. */

/** Where an estimate comes from: the caller's prior, the regression over features, or repeats of exactly these features. */
export type EstimateSource = "prior" | "regression" | "history";

export interface Estimate {
  /** Whole, 1 … 2^53 − 1. */
  readonly durationNs: number;
  /**
   * 0 … 1: one minus the relative error expected of the next observation, at least 0. At 0.97 it is expected to be off
   * by 3 % on average. 0 for a prior, and wherever an error of 100 % or more is expected.
   */
  readonly confidence: number;
  readonly source: EstimateSource;
}

export interface EstimatorOptions {
  /**
   * Weight of what is known, per new sample in the same direction; 0.5 … 1. Default 0.98: a sample counts for about 50.
   * At 1 nothing is forgotten.
   */
  readonly forgetting?: number;
  /** Distinct feature vectors a model remembers; the one observed longest ago goes first. 0 … 65,536. Default 1,024. */
  readonly historyKeysMax?: number;
}

/** How a model did: each valid observation against what was predicted before it was learned. */
export interface Accuracy {
  /** Valid observations. */
  readonly samples: number;
  /** Mean of |predicted − observed| / observed over all of them, 0.05 is 5 %; 0 before the first. */
  readonly mape: number;
  /** The same over about the last 20. */
  readonly recentMape: number;
  /** Observations that were no positive, finite duration, and were left out. */
  readonly refused: number;
  /** Observations far outside what was expected; learned with bounded weight. */
  readonly outliers: number;
  /** Times that observations off to one side were taken for a new level. */
  readonly shifts: number;
}

/** One observation as it was given to a model. */
export interface Sample {
  readonly features: readonly number[];
  readonly observedNs: number;
  readonly priorNs: number;
}

/** An operator that ran, as a bank learns from it. */
export interface OperatorObservation {
  /** Name of the duration model. */
  readonly model: string;
  readonly kind: string;
  /** Name of the accelerator, of that kind. */
  readonly accelerator: string;
  readonly features: readonly number[];
  readonly observedNs: number;
  readonly priorNs: number;
}

/** A saved regression; arrays are over [1, prior, …features]. */
export interface RegressionState {
  readonly samples: number;
  readonly unitNs: number;
  readonly noise: number;
  readonly logCalibration: number;
  readonly priorSpread: number;
  /** Per feature; 0 before it was first seen other than 0. */
  readonly scales: readonly number[];
  readonly coefficients: readonly number[];
  /** Row by row above the diagonal, the diagonal left out. */
  readonly upper: readonly number[];
  readonly diagonal: readonly number[];
}

/** A saved shift detector. */
export interface ShiftState {
  readonly high: number;
  readonly low: number;
  /** The last observations, oldest first. */
  readonly recent: readonly Sample[];
}

/** A saved `DurationModel`: plain, survives JSON. */
export interface DurationModelState {
  readonly format: "slicescheduler/duration-model";
  readonly version: 1;
  readonly forgetting: number;
  readonly historyKeysMax: number;
  readonly accuracy: Accuracy;
  readonly regression: RegressionState | null;
  /** Observed longest ago first. */
  readonly history: readonly { readonly features: readonly number[]; readonly observedNs: readonly number[] }[];
  readonly shift: ShiftState;
  /** The first observations, oldest first, until there are too many to keep. */
  readonly early: readonly Sample[];
}

/** The saved speed factors of one kind of accelerators. */
export interface SpeedFactorsState {
  /** Mean |ln(observed / predicted) − level| lately, over all of them. */
  readonly deviation: number;
  /** Of each the last ln(observed / predicted), oldest first. */
  readonly accelerators: readonly { readonly accelerator: string; readonly logs: readonly number[] }[];
}

/** A saved `EstimatorBank`: plain, survives JSON. */
export interface EstimatorBankState {
  readonly format: "slicescheduler/estimators";
  /** Version 1, which had no speed factors, is read as well. */
  readonly version: 2;
  readonly forgetting: number;
  readonly historyKeysMax: number;
  readonly operators: readonly { readonly model: string; readonly kind: string; readonly state: DurationModelState }[];
  readonly transfers: readonly {
    readonly source: string;
    readonly destination: string;
    readonly state: DurationModelState;
  }[];
  readonly speeds: readonly ({ readonly kind: string } & SpeedFactorsState)[];
}
