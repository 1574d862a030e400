import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isPlant, PLANTS, type Plant } from "@slicescheduler/testing";

export interface SafetyOptions {
  /** Seeds from here on. */
  readonly from: number;
  readonly scenarios: number;
  /** One seed only, told in full. */
  readonly seed: number | null;
  readonly plant: Plant | null;
  /** Whether memory is only predicted to suffice: then it counts what is left when everything was resolved. */
  readonly predicted: boolean;
  readonly workers: number;
  /** Small cases that an exhaustive search judges too. */
  readonly cases: number;
}

const SCENARIOS = 2000;
/** A planted fault shows within a few. */
const PLANTED_SCENARIOS = 200;
const CASES = 400;

/** Throws a `RangeError` that names the argument. */
export function readOptions(args: readonly string[]): SafetyOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      from: { type: "string" },
      scenarios: { type: "string" },
      seed: { type: "string" },
      plant: { type: "string" },
      predicted: { type: "boolean" },
      workers: { type: "string" },
      cases: { type: "string" },
    },
  });
  const { plant = null } = values;
  if (plant !== null && !isPlant(plant)) {
    throw new RangeError(`--plant ${plant}: there is no such fault; there are ${Object.keys(PLANTS).join(", ")}`);
  }
  return {
    from: whole("from", values.from) ?? 0,
    scenarios: whole("scenarios", values.scenarios) ?? (plant === null ? SCENARIOS : PLANTED_SCENARIOS),
    seed: whole("seed", values.seed),
    plant,
    predicted: values.predicted ?? false,
    workers: Math.max(1, whole("workers", values.workers) ?? availableParallelism()),
    cases: plant === null && values.predicted !== true ? (whole("cases", values.cases) ?? CASES) : 0,
  };
}

function whole(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0 || value >= 2 ** 31)
    throw new RangeError(`--${name} ${text}: give a whole number from 0 below 2^31`);
  return value;
}
