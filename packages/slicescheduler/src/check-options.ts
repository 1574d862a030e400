import { InvalidOptionsError } from "./errors.ts";
import { HEALTH_OPTIONS, healthFaults } from "./health.ts";
import type { SliceSchedulerOptions } from "./options.ts";

const KNOWN_OPTIONS = [
  ...[
    "cluster",
    "executor",
    "priorities",
    "scheduling",
    "arbitration",
    "memorySafety",
    "health",
    "hostNowNs",
    "metrics",
  ],
  ...["onEvent", "onListenerError"],
];
/** Whole numbers above 0, but for those named as fractions below. */
const NUMBERS_OF_SCHEDULING = [
  ...["batchOperatorsMax", "memoryPatienceNs", "decisionsKept", "turnMsMax", "preemptionsPerRequestMax"],
  ...["queuedRequestsMax", "starvationBoundNs", "timeliness", "simulatedOperatorsPerMs", "operatorsPerAcceleratorMax"],
];
const FRACTIONS = ["turnMsMax", "timeliness", "simulatedOperatorsPerMs", "weight"];
const LIMITS_OF_TENANT = ["weight", "placedRequestsMax", "claimedBytesMax", "issuedOperatorsMax", "queuedRequestsMax"];
const NUMBERS_OF_SLICES = ["toleranceShare", "toleranceNs"];
const TIMES_OF_ARBITRATION = ["agingNs", "reserveNs", "deadlineMinNs"];

/** The same, or throws INVALID_OPTIONS naming everything wrong at once. A misspelt option is a fault, so that it is not silently without effect. */
export function checkedOptions(options: SliceSchedulerOptions): SliceSchedulerOptions {
  const faults = new OptionFaults();
  const given = faults.group("options", "", (options as unknown) ?? null, KNOWN_OPTIONS);
  if (given !== null) {
    checkPriorities(given["priorities"], faults);
    checkScheduling(given["scheduling"], faults);
    checkArbitration(given["arbitration"], faults);
    checkHealth(given["health"], faults);
    checkMetrics(given["metrics"], faults);
    faults.oneOf("memorySafety", given["memorySafety"], ["guaranteed", "predicted"]);
    for (const name of ["hostNowNs", "onEvent", "onListenerError"]) faults.callback(name, given[name]);
    for (const name of ["cluster", "executor"]) faults.required(name, given[name]);
  }
  faults.throwAny();
  return options;
}

function checkPriorities(priorities: unknown, faults: OptionFaults): void {
  if (priorities === undefined) return;
  if (!Array.isArray(priorities) || priorities.some((name) => typeof name !== "string" || name === "")) {
    faults.add(`priorities: ${shown(priorities)} is not a list of names`);
    return;
  }
  if (priorities.length === 0) faults.add("priorities: name at least one class");
  if (new Set(priorities).size < priorities.length) faults.add(`priorities: ${priorities.join(", ")} names one twice`);
}

function checkScheduling(scheduling: unknown, faults: OptionFaults): void {
  const known = [...NUMBERS_OF_SCHEDULING, "policy", "estimators", "slices", "tenants"];
  const given = faults.group("scheduling", "scheduling.", scheduling, known);
  if (given === null) return;
  for (const name of NUMBERS_OF_SCHEDULING)
    faults.positive(`scheduling.${name}`, given[name], !FRACTIONS.includes(name));
  for (const name of ["policy", "estimators"]) faults.object(`scheduling.${name}`, given[name]);
  if (given["slices"] !== false) {
    const slices = faults.group("scheduling.slices", "scheduling.slices.", given["slices"], NUMBERS_OF_SLICES);
    for (const [name, value] of Object.entries(slices ?? {})) faults.notNegative(`scheduling.slices.${name}`, value);
  }
  if (!faults.object("scheduling.tenants", given["tenants"])) return;
  for (const [name, tenant] of Object.entries(given["tenants"] ?? {})) {
    if (name === "") faults.add("scheduling.tenants: a tenant needs a name");
    const prefix = `scheduling.tenants.${name}`;
    const limits = faults.group(prefix, `${prefix}.`, tenant ?? null, LIMITS_OF_TENANT);
    for (const limit of LIMITS_OF_TENANT)
      faults.positive(`${prefix}.${limit}`, limits?.[limit], !FRACTIONS.includes(limit));
  }
}

function checkArbitration(arbitration: unknown, faults: OptionFaults): void {
  const known = [...TIMES_OF_ARBITRATION, "deadlineFactor"];
  const given = faults.group("arbitration", "arbitration.", arbitration, known);
  for (const name of TIMES_OF_ARBITRATION) faults.positive(`arbitration.${name}`, given?.[name], true);
  const factor = given?.["deadlineFactor"];
  if (factor !== undefined && !(typeof factor === "number" && factor >= 1 && factor < Number.POSITIVE_INFINITY))
    faults.add(`arbitration.deadlineFactor: ${shown(factor)} is not a number from 1`);
}

function checkHealth(health: unknown, faults: OptionFaults): void {
  if (health === false) return;
  const given = faults.group("health", "health.", health, HEALTH_OPTIONS);
  if (given !== null) faults.add(...healthFaults(given));
}

function checkMetrics(metrics: unknown, faults: OptionFaults): void {
  if (metrics === undefined) return;
  const given = faults.group("metrics", "metrics.", metrics, ["sink", "tenantsMax", "acceleratorsMax"]);
  if (given === null) return;
  faults.required("metrics.sink", given["sink"]);
  faults.whole("metrics.tenantsMax", given["tenantsMax"], 0);
  faults.whole("metrics.acceleratorsMax", given["acceleratorsMax"], 1);
}

type Given = Readonly<Record<string, unknown>>;

/** What was found wrong so far. What is left out is never wrong, but for what is required. */
class OptionFaults {
  readonly #faults: string[] = [];

  add(...faults: readonly string[]): void {
    this.#faults.push(...faults);
  }

  throwAny(): void {
    if (this.#faults.length > 0) throw new InvalidOptionsError(this.#faults);
  }

  /** Options under a common name: null where they are none, and so cannot be looked into. */
  group(name: string, prefix: string, given: unknown, known: readonly string[]): Given | null {
    if (given === undefined) return {};
    if (!isObject(given)) {
      this.add(`${name}: ${shown(given)} is not an object of options`);
      return null;
    }
    for (const option of Object.keys(given)) {
      if (!known.includes(option))
        this.add(`${prefix}${option}: there is no such option; there are ${known.join(", ")}`);
    }
    return given;
  }

  object(name: string, value: unknown): boolean {
    const isGood = value === undefined || isObject(value);
    if (!isGood) this.add(`${name}: ${shown(value)} is not an object`);
    return isGood;
  }

  required(name: string, value: unknown): void {
    if (!isObject(value)) this.add(`${name}: ${shown(value)} is not an object, and there is no default`);
  }

  callback(name: string, value: unknown): void {
    if (value !== undefined && typeof value !== "function") this.add(`${name}: ${shown(value)} is not a function`);
  }

  oneOf(name: string, value: unknown, allowed: readonly string[]): void {
    if (value !== undefined && !allowed.some((it) => it === value))
      this.add(`${name}: ${shown(value)} is none of ${allowed.map((it) => JSON.stringify(it)).join(", ")}`);
  }

  positive(name: string, value: unknown, isWhole: boolean): void {
    const isGood =
      typeof value === "number" &&
      value > 0 &&
      (isWhole ? Number.isSafeInteger(value) : value < Number.POSITIVE_INFINITY);
    if (value !== undefined && !isGood)
      this.add(`${name}: ${shown(value)} is not a ${isWhole ? "whole " : ""}number above 0`);
  }

  notNegative(name: string, value: unknown): void {
    const isGood = typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;
    if (!isGood) this.add(`${name}: ${shown(value)} is not a number from 0`);
  }

  whole(name: string, value: unknown, least: number): void {
    const isGood = Number.isSafeInteger(value) && (value as number) >= least;
    if (value !== undefined && !isGood) this.add(`${name}: ${shown(value)} is not a whole number from ${least}`);
  }
}

function isObject(value: unknown): value is Given {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Short, whatever it is. */
function shown(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(isObject(value) ? "an object" : value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
