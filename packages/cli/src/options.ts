/** Options of `replay`, from text to checked values. */
import { colocationShare, InvalidOptionError, policyNames } from "@slicescheduler/workloads";

export type RecipeName = "B48" | "B";

export interface ReplaySettings {
  /** As the user named them; empty when `--trace` was not given. */
  readonly trace: readonly string[];
  readonly policies: readonly string[];
  readonly recipe: RecipeName;
  readonly minutes: number;
  /** Ascending, at least one. */
  readonly seeds: readonly number[];
  readonly share: number;
  readonly hbmBytes: number;
  readonly json: boolean;
}

/** What commander hands over. */
export interface RawOptions {
  readonly trace?: readonly string[];
  readonly policy?: readonly string[];
  readonly recipe?: string;
  readonly minutes?: string;
  readonly seed?: string;
  readonly seeds?: string;
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
  const count = numberOf("--seeds", raw.seeds ?? "1", "a whole number from 1 to 100", (v) => v >= 1 && v <= 100);
  if (!Number.isInteger(count)) throw new InvalidOptionError("--seeds", raw.seeds, "a whole number from 1 to 100");
  const recipe = raw.recipe ?? "B48";
  if (recipe !== "B48" && recipe !== "B") throw new InvalidOptionError("--recipe", JSON.stringify(recipe), "B48 or B");
  const hbmGb = numberOf("--hbm-gb", raw.hbmGb ?? "64", "above 0 and at most 1000", (v) => v > 0 && v <= 1000);
  return {
    trace: raw.trace ?? [],
    policies: named.length === 0 ? defaultPolicies : [...new Set(named)],
    recipe,
    minutes: numberOf("--minutes", raw.minutes ?? "30", "above 0 and at most 30", (v) => v > 0 && v <= 30),
    seeds: Array.from({ length: count }, (_, i) => seed + i),
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
