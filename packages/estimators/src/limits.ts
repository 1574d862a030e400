/** Checks and limits at the border. */
import { EstimatorError } from "./errors.ts";
import type { EstimatorOptions } from "./types.ts";

/** Features per model; as many as a template may have symbols. */
export const FEATURES_MAX = 256;
/** Largest size of a feature; keeps the squares in the regression far from overflow. */
const FEATURE_MAX: number = Number.MAX_SAFE_INTEGER;
/** Models per bank, operators and transfers together. */
export const BANK_MODELS_MAX = 65_536;
/** Accelerators of one kind whose speed is told apart. */
export const KIND_ACCELERATORS_MAX = 65_536;
/** Observations and estimates stay exact below this. */
export const DURATION_MAX_NS: number = Number.MAX_SAFE_INTEGER;

const HISTORY_KEYS_DEFAULT = 1024;
const HISTORY_KEYS_MAX = 65_536;
const FORGETTING_DEFAULT = 0.98;
const FORGETTING_MIN = 0.5;

export function checkOptions(options: EstimatorOptions = {}): Required<EstimatorOptions> {
  const { forgetting = FORGETTING_DEFAULT, historyKeysMax = HISTORY_KEYS_DEFAULT } = options;
  if (!(forgetting >= FORGETTING_MIN && forgetting <= 1)) {
    throw optionError("forgetting", forgetting, `a number from ${FORGETTING_MIN} to 1`);
  }
  if (!Number.isInteger(historyKeysMax) || historyKeysMax < 0 || historyKeysMax > HISTORY_KEYS_MAX) {
    throw optionError("historyKeysMax", historyKeysMax, `a whole number from 0 to ${HISTORY_KEYS_MAX}`);
  }
  return { forgetting, historyKeysMax };
}

function optionError(option: string, found: unknown, expected: string): EstimatorError {
  return new EstimatorError("OPTIONS_INVALID", `option ${option} is ${String(found)}; give ${expected}`, {
    option,
    found,
  });
}

/** `count` is −1 while any number of features will do. */
export function checkFeatures(features: readonly number[], count: number): void {
  const length = features.length;
  if (count >= 0 && length !== count) failFeatureCount(length, count);
  if (length > FEATURES_MAX) failFeatureCount(length, count);
  for (let index = 0; index < length; index++) {
    const feature = features[index] as number;
    if (!(feature >= -FEATURE_MAX && feature <= FEATURE_MAX)) failFeature(index, feature);
  }
}

function failFeatureCount(found: number, count: number): never {
  const expected = count >= 0 ? `this model learned from ${count}` : `at most ${FEATURES_MAX} are allowed`;
  throw new EstimatorError("FEATURES_INVALID", `${found} features were given, ${expected}`, { found, count });
}

function failFeature(index: number, found: unknown): never {
  const message = `feature ${index} is ${String(found)}; give a number of at most 2^53 − 1, plus or minus`;
  throw new EstimatorError("FEATURES_INVALID", message, { index, found });
}

/** The prior to work with, at least 1 ns. */
export function checkPrior(priorNs: number): number {
  if (!(priorNs >= 0 && priorNs < Number.POSITIVE_INFINITY)) {
    const message = `the prior is ${priorNs} ns; give a finite number of at least 0, for example from rooflineNs`;
    throw new EstimatorError("PRIOR_INVALID", message, { priorNs });
  }
  return Math.min(Math.max(priorNs, 1), DURATION_MAX_NS);
}
