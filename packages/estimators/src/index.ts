export { DurationModel } from "./duration-model.ts";
export { EstimatorError, type EstimatorErrorCode } from "./errors.ts";
export { EstimatorBank } from "./estimator-bank.ts";
export { FrozenBank } from "./frozen-bank.ts";
export { BANK_MODELS_MAX, FEATURES_MAX, KIND_ACCELERATORS_MAX } from "./limits.ts";
export {
  ASSUMED_FLOPS_PER_SECOND,
  ASSUMED_HBM_BYTES_PER_SECOND,
  ROOFLINE_MIN_NS,
  type RooflineInput,
  rooflineNs,
} from "./roofline.ts";
export { SHIFT_SAMPLES } from "./shift-detector.ts";
export { SPEED_SAMPLES, SPEED_SHIFT_SAMPLES } from "./speed-factors.ts";
export type {
  Accuracy,
  DurationModelState,
  Estimate,
  EstimateSource,
  EstimatorBankState,
  EstimatorOptions,
  OperatorObservation,
  RegressionState,
  Sample,
  ShiftState,
  SpeedFactorsState,
} from "./types.ts";
