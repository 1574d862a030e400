export { DurationModel } from "./duration-model.ts";
export { EstimatorError, type EstimatorErrorCode } from "./errors.ts";
export { EstimatorBank } from "./estimator-bank.ts";
export { FrozenBank } from "./frozen-bank.ts";
export { BANK_MODELS_MAX, FEATURES_MAX } from "./limits.ts";
export {
  ASSUMED_FLOPS_PER_SECOND,
  ASSUMED_HBM_BYTES_PER_SECOND,
  ROOFLINE_MIN_NS,
  type RooflineInput,
  rooflineNs,
} from "./roofline.ts";
export { SHIFT_SAMPLES } from "./shift-detector.ts";
export type {
  Accuracy,
  DurationModelState,
  Estimate,
  EstimateSource,
  EstimatorBankState,
  EstimatorOptions,
  RegressionState,
  Sample,
  ShiftState,
} from "./types.ts";
