/** The online workload of an experiment: a recipe on the public traces where they are at hand, else on generated ones. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  azure2023Profile,
  generateTraces,
  hasAzureTraces,
  readServeGenLengths,
  readServeGenWindows,
  readTracePair,
  recipeB,
  recipeB48,
  recipeC,
  recipeCShare,
  shortened,
  type Workload,
} from "@slicescheduler/workloads";

export interface WorkloadArguments {
  readonly recipe: "B48" | "B" | "C";
  /** Of the arrivals, or of the client's rate. */
  readonly share: number;
  /** Of the window, or null for all of it. */
  readonly minutes: number | null;
  /** Where in the day recipe C begins. */
  readonly hour: number;
  readonly seeds: readonly number[];
  /** Directory of the traces, or null for the built-in profile. */
  readonly traces: string | null;
}

export interface ArgumentDefaults {
  readonly share: number;
  readonly seeds?: number;
}

/** Reads `--recipe --share --minutes --hour --seed --seeds --trace`. Throws a `RangeError` that names the argument. */
export function readWorkloadArguments(args: readonly string[], defaults: ArgumentDefaults): WorkloadArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      recipe: { type: "string", default: "B48" },
      share: { type: "string" },
      minutes: { type: "string" },
      hour: { type: "string", default: "0" },
      seed: { type: "string", default: "1" },
      seeds: { type: "string", default: String(defaults.seeds ?? 1) },
      trace: { type: "string" },
    },
  });
  const { recipe } = values;
  if (recipe !== "B48" && recipe !== "B" && recipe !== "C")
    throw new RangeError(`--recipe ${recipe}: there are B48, B and C`);
  const share = recipe === "C" ? recipeCShare : defaults.share;
  const seed = numberOf("seed", values.seed, (it) => Number.isSafeInteger(it) && it >= 0);
  const count = numberOf("seeds", values.seeds, (it) => Number.isInteger(it) && it >= 1 && it <= 100);
  return {
    recipe,
    share: values.share === undefined ? share : numberOf("share", values.share, (it) => it > 0 && it <= 1),
    minutes: values.minutes === undefined ? null : numberOf("minutes", values.minutes, (it) => it > 0),
    hour: numberOf("hour", values.hour, (it) => it >= 0 && it < 24),
    seeds: Array.from({ length: count }, (_, i) => seed + i),
    traces: tracesIn(values.trace),
  };
}

export interface LabelledWorkload {
  readonly workload: Workload;
  /** True when no trace was read; then the label says so too. */
  readonly generated: boolean;
  readonly label: string;
}

/** Recipe C is drawn by the seed from the client's statistics; B48 and B only when they are generated. */
export function workloadOf(args: WorkloadArguments, seed: number): LabelledWorkload {
  const { recipe, share, minutes, hour, traces } = args;
  const cut = (whole: Workload): Workload => (minutes === null ? whole : shortened(whole, minutes * 60e9));
  if (recipe === "C") {
    if (traces === null) throw new RangeError("--recipe C needs the ServeGen files: give --trace DIR");
    const prefix = join(traces, "servegen", "m-mid-chunk-30");
    const windows = readServeGenWindows(`${prefix}-trace.csv`);
    const lengths = readServeGenLengths(`${prefix}-dataset.json`);
    const workload = cut(recipeC({ windows, lengths, share, seed, fromHour: hour }));
    const from = `ServeGen client 30 from ${hour}:00, seed ${seed}`;
    return { workload, generated: false, label: described(args, workload, from) };
  }
  const make = recipe === "B48" ? recipeB48 : recipeB;
  const { arrivals, lengths } = traces === null ? generateTraces(azure2023Profile, seed) : readTracePair([traces]);
  const workload = cut(make(arrivals, lengths, share));
  const from = traces === null ? `GENERATED from the built-in profile, seed ${seed}` : "Azure traces 2023";
  return { workload, generated: traces === null, label: described(args, workload, from) };
}

function described({ recipe, share }: WorkloadArguments, { windowNs, tenants }: Workload, from: string): string {
  return `${recipe} at share ${share} over ${Math.round(windowNs / 60e9)} min, ${tenants.flat().length} requests, ${from}`;
}

function tracesIn(named: string | undefined): string | null {
  if (named !== undefined) return named;
  const directory = process.env["SLICESCHEDULER_TRACES"] ?? "../shared/data/traces";
  return hasAzureTraces(directory) ? directory : null;
}

function numberOf(name: string, text: string, isValid: (value: number) => boolean): number {
  const value = text === "" ? Number.NaN : Number(text);
  if (!isValid(value)) throw new RangeError(`--${name} ${text}: out of range`);
  return value;
}
