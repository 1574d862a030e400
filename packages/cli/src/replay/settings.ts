/** Settings of `replay`: options over the workload file over defaults, from text to checked values. */
import {
  assertPolicyKnown,
  azure2023Profile,
  colocationOffline,
  colocationShare,
  instanceSizes,
  type OfflineLoad,
  policyNames,
  UnknownPolicyError,
} from "@slicescheduler/workloads";
import type { RecipeName, WorkloadFile } from "../files/workload-file.ts";
import { OptionFaults } from "../option-faults.ts";

export interface ReplaySettings {
  /** As the user named them; empty where none is named. */
  readonly trace: readonly string[];
  /** Name of the built-in profile or path of another, or null where none is named. */
  readonly profile: string | null;
  readonly policies: readonly string[];
  readonly recipe: RecipeName;
  /** Whether the user chose the recipe. */
  readonly isRecipeNamed: boolean;
  /** Classes of requests that may wait, of recipe "plain"; null where none is named: "offline". */
  readonly offlineClasses: readonly string[] | null;
  /** Null: as long as the trace or the profile, for recipe "plain". */
  readonly minutes: number | null;
  /** Ascending, at least one. */
  readonly seeds: readonly number[];
  readonly share: number;
  /** Null: none. */
  readonly offline: OfflineLoad | null;
  readonly hbmBytes: number;
  /** As the user named it, or null for the cluster of the colocation experiment. */
  readonly cluster: string | null;
  /** Null: as few as the model fits on. */
  readonly instanceAccelerators: number | null;
  readonly outputs: ReplayOutputs;
  readonly json: boolean;
}

/** Files to write, each null where it is not asked for. */
interface ReplayOutputs {
  readonly timeline: string | null;
  readonly record: string | null;
  readonly report: string | null;
  readonly eventLog: string | null;
  readonly gantt: boolean;
}

/** What commander hands over. */
export interface RawOptions {
  readonly trace?: readonly string[];
  readonly workload?: string;
  readonly profile?: string;
  readonly policy?: readonly string[];
  readonly recipe?: string;
  readonly offlineClass?: readonly string[];
  readonly minutes?: string;
  readonly seed?: string;
  readonly seeds?: string;
  readonly share?: string;
  readonly hbmGb?: string;
  readonly cluster?: string;
  readonly instanceAccelerators?: string;
  readonly timeline?: string;
  readonly record?: string;
  readonly report?: string;
  readonly eventLog?: string;
  readonly gantt?: boolean;
  readonly json?: boolean;
}

const defaultPolicies: readonly string[] = ["static-online", "slicescheduler"];
const recipes: readonly RecipeName[] = ["B48", "B", "plain"];
const recipeMinutesMax = 30;
const plainMinutesMax = 1440;

/** Checks all options at once. Errors: USAGE, with a line for each fault. */
export function parseSettings(raw: RawOptions, file: WorkloadFile = {}): ReplaySettings {
  const faults = new OptionFaults();
  const recipe = recipeOf(raw, file, faults);
  const seed = faults.whole("--seed", raw.seed, file.seed ?? 1, [0, Number.MAX_SAFE_INTEGER]);
  const count = faults.whole("--seeds", raw.seeds, file.seeds ?? 1, [1, 100]);
  if (!Number.isSafeInteger(seed + count)) faults.add(`--seeds: ${count} seeds from ${seed} on go beyond 2^53 − 1`);
  if (raw.hbmGb !== undefined && raw.cluster !== undefined) {
    faults.add("--hbm-gb and --cluster cannot be given both: a cluster file says what its accelerators have");
  }
  if (raw.trace !== undefined && raw.profile !== undefined) faults.add("--trace and --profile cannot be given both");
  const hbmGb = faults.number("--hbm-gb", raw.hbmGb, 64, "above 0 and at most 1000", (v) => v > 0 && v <= 1000);
  const isShare = (v: number): boolean => v > 0 && v <= 0.25;
  const settings: ReplaySettings = {
    trace: raw.trace ?? (raw.profile === undefined ? (file.trace ?? []) : []),
    profile: raw.profile ?? (raw.trace === undefined ? (file.profile ?? null) : null),
    policies: policiesOf(raw, file, faults),
    recipe,
    isRecipeNamed: (raw.recipe ?? file.recipe) !== undefined,
    offlineClasses: raw.offlineClass?.flatMap((value) => value.split(",")).map((name) => name.trim()) ?? null,
    minutes: minutesOf(raw, file, recipe, faults),
    seeds: Array.from({ length: count }, (_, i) => seed + i),
    share: faults.number("--share", raw.share, file.share ?? colocationShare, "above 0 and at most 0.25", isShare),
    offline: file.offline === undefined ? (recipe === "plain" ? null : colocationOffline) : file.offline,
    hbmBytes: Math.round(hbmGb * 1e9),
    cluster: raw.cluster ?? null,
    instanceAccelerators: instanceOf(raw, file, faults),
    outputs: {
      timeline: raw.timeline ?? null,
      record: raw.record ?? null,
      report: raw.report ?? null,
      eventLog: raw.eventLog ?? null,
      gantt: raw.gantt ?? false,
    },
    json: raw.json ?? false,
  };
  checkRecipeOptions(settings, raw, faults);
  faults.throwIfAny();
  return settings;
}

function checkRecipeOptions(settings: ReplaySettings, raw: RawOptions, faults: OptionFaults): void {
  const { recipe, trace, profile, offlineClasses } = settings;
  if (recipe === "plain") {
    if (trace.length === 0 && profile === null)
      faults.add("--recipe plain takes the requests from a trace or a profile; name it with --trace or --profile");
    if (raw.share !== undefined) faults.add("--share is of recipes B48 and B; plain keeps all");
  }
  if (offlineClasses === null) return;
  if (recipe !== "plain") faults.add("--offline-class is of recipe plain; the others have a steady offline load");
  else if (trace.length === 0 && profile !== null) faults.add("--offline-class: a profile has no classes, a trace has");
  if (offlineClasses.includes("")) faults.wanted("--offline-class", "a name or a comma list of names", "");
}

/** Whether a profile is the one that comes with the package. */
export function isBuiltInProfile(name: string): boolean {
  return name === azure2023Profile.name;
}

function recipeOf(raw: RawOptions, file: WorkloadFile, faults: OptionFaults): RecipeName {
  const named = raw.recipe ?? file.recipe ?? "B48";
  const known = recipes.find((recipe) => recipe === named);
  if (known === undefined) faults.wanted("--recipe", "B48, B or plain", named);
  return known ?? "B48";
}

function policiesOf(raw: RawOptions, file: WorkloadFile, faults: OptionFaults): readonly string[] {
  const named = raw.policy?.flatMap((value) => value.split(",")).map((name) => name.trim()) ?? file.policies ?? [];
  if (named.includes("")) {
    faults.wanted("--policy", `a name or a comma list of ${policyNames.join(", ")}`, "");
    return defaultPolicies;
  }
  for (const name of named) {
    faults.attempt(
      () => assertPolicyKnown(name),
      (error) => error instanceof UnknownPolicyError,
    );
  }
  return named.length === 0 ? defaultPolicies : [...new Set(named)];
}

function minutesOf(raw: RawOptions, file: WorkloadFile, recipe: RecipeName, faults: OptionFaults): number | null {
  const max = recipe === "plain" ? plainMinutesMax : recipeMinutesMax;
  const fallback = file.minutes ?? (recipe === "plain" ? null : recipeMinutesMax);
  const wanted = `above 0 and at most ${max}`;
  const minutes = faults.number("--minutes", raw.minutes, fallback, wanted, (v) => v > 0 && v <= max);
  if (minutes !== null && minutes > max) faults.add(`minutes must be ${wanted}, not ${minutes}`);
  return minutes;
}

function instanceOf(raw: RawOptions, file: WorkloadFile, faults: OptionFaults): number | null {
  const option = "--instance-accelerators";
  const isSize = (v: number): boolean => instanceSizes.includes(v);
  return faults.number(option, raw.instanceAccelerators, file.instanceAccelerators ?? null, "1, 2 or 4", isSize);
}
