/**
 * Reads saved values. They may come from a file of another program, so only own properties are read, nothing is merged
 * into an object, and every number is checked against what `save` can have written.
 */
import { EARLY_SAMPLES_MAX } from "./early.ts";
import { EstimatorError } from "./errors.ts";
import { HISTORY_SAMPLES } from "./history.ts";
import { BANK_MODELS_MAX, checkOptions, DURATION_MAX_NS, FEATURES_MAX, KIND_ACCELERATORS_MAX } from "./limits.ts";
import { SHIFT_SAMPLES } from "./shift-detector.ts";
import { SPEED_SAMPLES } from "./speed-factors.ts";
import type {
  Accuracy,
  DurationModelState,
  EstimatorBankState,
  EstimatorOptions,
  RegressionState,
  Sample,
  ShiftState,
  SpeedFactorsState,
} from "./types.ts";

export interface SavedBank {
  readonly options: Required<EstimatorOptions>;
  readonly operators: readonly SavedModel[];
  readonly transfers: readonly SavedModel[];
  readonly speeds: EstimatorBankState["speeds"];
}

/** A model under its two names; `state` is not checked yet. */
interface SavedModel {
  readonly first: string;
  readonly second: string;
  readonly state: unknown;
}

export function readBankState(value: unknown): SavedBank {
  const path = "the saved bank";
  const version = checkHeader(value, path, "slicescheduler/estimators", 2);
  const options = readOptions(value, path);
  const operators = array(own(value, "operators", path), `${path}.operators`, BANK_MODELS_MAX);
  const transfers = array(own(value, "transfers", path), `${path}.transfers`, BANK_MODELS_MAX - operators.length);
  return {
    options,
    operators: operators.map((it, index) => readNamed(it, ["model", "kind"], `${path}.operators[${index}]`)),
    transfers: transfers.map((it, index) => readNamed(it, ["source", "destination"], `${path}.transfers[${index}]`)),
    speeds: version === 1 ? [] : readSpeeds(own(value, "speeds", path), `${path}.speeds`),
  };
}

function readSpeeds(value: unknown, path: string): EstimatorBankState["speeds"] {
  const kinds = array(value, path, BANK_MODELS_MAX).map((it, index) => {
    const at = `${path}[${index}]`;
    return { kind: text(own(it, "kind", at), `${at}.kind`), ...readSpeedsOfKind(it, at) };
  });
  checkDistinct(
    kinds.map(({ kind }) => kind),
    path,
  );
  return kinds;
}

function readSpeedsOfKind(value: unknown, path: string): SpeedFactorsState {
  const at = `${path}.accelerators`;
  const accelerators = array(own(value, "accelerators", path), at, KIND_ACCELERATORS_MAX).map((it, index) => {
    const accelerator = text(own(it, "accelerator", `${at}[${index}]`), `${at}[${index}].accelerator`);
    const logs = numbers(it, "logs", `${at}[${index}]`, undefined, -100, 100);
    if (logs.length > 0 && logs.length <= SPEED_SAMPLES) return { accelerator, logs };
    throw invalid(`${at}[${index}].logs`, logs, `1 to ${SPEED_SAMPLES} numbers`);
  });
  checkDistinct(
    accelerators.map(({ accelerator }) => accelerator),
    at,
  );
  return { deviation: number(own(value, "deviation", path), `${path}.deviation`, 0.002, 100), accelerators };
}

function checkDistinct(names: readonly string[], path: string): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw invalid(path, names, `each name once, not ${show(name)} twice`);
    seen.add(name);
  }
}

function readNamed(value: unknown, names: readonly [string, string], path: string): SavedModel {
  return {
    first: text(own(value, names[0], path), `${path}.${names[0]}`),
    second: text(own(value, names[1], path), `${path}.${names[1]}`),
    state: own(value, "state", path),
  };
}

export function readDurationModelState(value: unknown): DurationModelState {
  const path = "the saved model";
  checkHeader(value, path, "slicescheduler/duration-model", 1);
  const options = readOptions(value, path);
  const saved = own(value, "regression", path);
  const regression = saved === null ? null : readRegression(saved, `${path}.regression`);
  const count = regression?.scales.length ?? 0;
  const keysMax = regression === null ? 0 : options.historyKeysMax;
  const history = array(own(value, "history", path), `${path}.history`, keysMax);
  return {
    format: "slicescheduler/duration-model",
    version: 1,
    ...options,
    accuracy: readAccuracy(own(value, "accuracy", path), `${path}.accuracy`),
    regression,
    history: history.map((it, index) => readHistory(it, count, `${path}.history[${index}]`)),
    shift: readShift(own(value, "shift", path), count, `${path}.shift`),
    early: readSamples(value, "early", path, count, EARLY_SAMPLES_MAX),
  };
}

function readRegression(value: unknown, path: string): RegressionState {
  const scales = numbers(value, "scales", path, undefined, 0, Number.MAX_VALUE);
  const size = scales.length + 2;
  return {
    samples: whole(value, "samples", path),
    unitNs: number(own(value, "unitNs", path), `${path}.unitNs`, Number.MIN_VALUE, Number.MAX_VALUE),
    noise: number(own(value, "noise", path), `${path}.noise`, Number.MIN_VALUE, 1),
    logCalibration: number(own(value, "logCalibration", path), `${path}.logCalibration`, -100, 100),
    priorSpread: number(own(value, "priorSpread", path), `${path}.priorSpread`, 0, 100),
    scales,
    coefficients: numbers(value, "coefficients", path, size),
    upper: numbers(value, "upper", path, (size * (size - 1)) / 2),
    diagonal: numbers(value, "diagonal", path, size, 0, Number.MAX_VALUE),
  };
}

function readHistory(value: unknown, count: number, path: string): DurationModelState["history"][number] {
  const observedNs = numbers(value, "observedNs", path, undefined, 1, DURATION_MAX_NS);
  if (observedNs.length === 0 || observedNs.length > HISTORY_SAMPLES) {
    throw invalid(`${path}.observedNs`, observedNs, `1 to ${HISTORY_SAMPLES} durations`);
  }
  return { features: numbers(value, "features", path, count), observedNs };
}

function readSamples(value: unknown, name: string, path: string, count: number, lengthMax: number): readonly Sample[] {
  const at = `${path}.${name}`;
  return array(own(value, name, path), at, lengthMax).map((it, index) => readSample(it, count, `${at}[${index}]`));
}

function readSample(value: unknown, count: number, path: string): Sample {
  return {
    features: numbers(value, "features", path, count),
    observedNs: number(own(value, "observedNs", path), `${path}.observedNs`, 1, DURATION_MAX_NS),
    priorNs: number(own(value, "priorNs", path), `${path}.priorNs`, 1, DURATION_MAX_NS),
  };
}

function readShift(value: unknown, count: number, path: string): ShiftState {
  const sum = (name: string) => number(own(value, name, path), `${path}.${name}`, 0, 100);
  const recent = readSamples(value, "recent", path, count, SHIFT_SAMPLES);
  return { high: sum("high"), low: sum("low"), recent };
}

function readAccuracy(value: unknown, path: string): Accuracy {
  const mean = (name: string) => number(own(value, name, path), `${path}.${name}`, 0, Number.MAX_VALUE);
  return {
    samples: whole(value, "samples", path),
    mape: mean("mape"),
    recentMape: mean("recentMape"),
    refused: whole(value, "refused", path),
    outliers: whole(value, "outliers", path),
    shifts: whole(value, "shifts", path),
  };
}

function readOptions(value: unknown, path: string): Required<EstimatorOptions> {
  return checkOptions({
    forgetting: number(own(value, "forgetting", path), `${path}.forgetting`, 0.5, 1),
    historyKeysMax: number(own(value, "historyKeysMax", path), `${path}.historyKeysMax`, 0, 65_536),
  });
}

/** Returns the version, from 1 to `versionMax`. */
function checkHeader(value: unknown, path: string, format: string, versionMax: number): number {
  const found = own(value, "format", path);
  if (found !== format) throw invalid(`${path}.format`, found, JSON.stringify(format));
  const version = own(value, "version", path);
  if (Number.isInteger(version) && (version as number) >= 1 && (version as number) <= versionMax)
    return version as number;
  const message = `${path} is of version ${show(version)}, this package reads version ${versionMax === 1 ? "1" : `1 to ${versionMax}`}; learn anew, or load it with the package that wrote it`;
  throw new EstimatorError("STATE_VERSION", message, { version });
}

function own(value: unknown, name: string, path: string): unknown {
  if (typeof value !== "object" || value === null) throw invalid(path, value, "an object");
  const descriptor = Object.getOwnPropertyDescriptor(value, name);
  if (descriptor === undefined || !("value" in descriptor))
    throw invalid(`${path}.${name}`, undefined, "a plain value");
  return descriptor.value;
}

function array(value: unknown, path: string, lengthMax: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length > lengthMax) throw invalid(path, value, `an array of at most ${lengthMax}`);
  return Array.from<unknown>(value);
}

function numbers(
  value: unknown,
  name: string,
  path: string,
  length: number | undefined,
  min: number = -Number.MAX_VALUE,
  max: number = Number.MAX_VALUE,
): readonly number[] {
  const at = `${path}.${name}`;
  const lengthMax = length ?? FEATURES_MAX;
  const read = array(own(value, name, path), at, lengthMax);
  if (length !== undefined && read.length !== length) throw invalid(at, read, `${length} numbers`);
  return read.map((it, index) => number(it, `${at}[${index}]`, min, max));
}

function number(value: unknown, path: string, min: number, max: number): number {
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw invalid(path, value, `a number from ${min} to ${max}`);
}

function whole(value: unknown, name: string, path: string): number {
  const found = number(own(value, name, path), `${path}.${name}`, 0, Number.MAX_SAFE_INTEGER);
  if (Number.isInteger(found)) return found;
  throw invalid(`${path}.${name}`, found, "a whole number");
}

function text(value: unknown, path: string): string {
  if (typeof value === "string") return value;
  throw invalid(path, value, "a string");
}

function invalid(path: string, found: unknown, expected: string): EstimatorError {
  return new EstimatorError("STATE_INVALID", `${path} is ${show(found)}; expected ${expected}`, { path, expected });
}

function show(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "string") return JSON.stringify(value.slice(0, 80));
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
