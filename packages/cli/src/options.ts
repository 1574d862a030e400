/** Options of `replay`, from text to checked values. */
import { colocationShare, InvalidOptionError, policyNames } from "@slicescheduler/workloads";

export interface ReplaySettings {
  /** As the user named them; empty when `--trace` was not given. */
  readonly trace: readonly string[];
  readonly policies: readonly string[];
  readonly minutes: number;
  readonly seed: number;
  readonly share: number;
  readonly hbmBytes: number;
  readonly json: boolean;
}

/** What commander hands over. */
export interface RawOptions {
  readonly trace?: readonly string[];
  readonly policy?: readonly string[];
  readonly minutes?: string;
  readonly seed?: string;
  readonly share?: string;
  readonly hbmGb?: string;
  readonly json?: boolean;
}

const defaultPolicies: readonly string[] = ["static-online", "slicescheduler"];

/** Checks all options but the policies' names, which need the cluster. Errors: INVALID_OPTION. */
export function parseSettings(raw: RawOptions): ReplaySettings {
  const named = (raw.policy ?? []).flatMap((value) => value.split(",")).map((name) => name.trim());
  if (named.includes("")) {
    throw new InvalidOptionError("--policy", JSON.stringify(""), `a name or a comma list of ${policyNames.join(", ")}`);
  }
  const seed = numberOf("--seed", raw.seed ?? "1", "a whole number from 0 to 2^53 − 1", (value) => value >= 0);
  if (!Number.isSafeInteger(seed))
    throw new InvalidOptionError("--seed", raw.seed, "a whole number from 0 to 2^53 − 1");
  const hbmGb = numberOf("--hbm-gb", raw.hbmGb ?? "64", "above 0 and at most 1000", (v) => v > 0 && v <= 1000);
  return {
    trace: raw.trace ?? [],
    policies: named.length === 0 ? defaultPolicies : [...new Set(named)],
    minutes: numberOf("--minutes", raw.minutes ?? "30", "above 0 and at most 30", (v) => v > 0 && v <= 30),
    seed,
    share: numberOf(
      "--share",
      raw.share ?? String(colocationShare),
      "above 0 and at most 0.25",
      (v) => v > 0 && v <= 0.25,
    ),
    hbmBytes: Math.round(hbmGb * 1e9),
    json: raw.json ?? false,
  };
}

function numberOf(option: string, text: string, wanted: string, isValid: (value: number) => boolean): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!isValid(value)) throw new InvalidOptionError(option, JSON.stringify(text), wanted);
  return value;
}
