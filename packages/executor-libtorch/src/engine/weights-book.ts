import { ExecutorError } from "@slicescheduler/executor";
import type { CompiledOperator } from "@slicescheduler/templates";
import { didYouMeanOneOf } from "@slicescheduler/templates/validation";
import type { NativeAddon, NativeEngine } from "../native/addon.ts";
import { LibtorchError, withFaults } from "../programs/errors.ts";
import type { NativeWeights } from "../programs/native-runtime.ts";
import { lowerWeights } from "../weights/lower.ts";
import type { WeightsSource } from "../weights/types.ts";

interface Defined {
  readonly given: WeightsSource;
  readonly source: NativeWeights;
  /** What it has, by the names that programs read. */
  readonly tensors: readonly string[];
  readonly scripts: readonly string[];
}

/** Names told in one message. */
const NAMES_SHOWN_MAX = 8;

/** Where weights come from, by the names that templates give them; to the engine a name is a number. */
export class WeightsBook {
  readonly #addon: NativeAddon;
  readonly #allowTorchScript: boolean;
  readonly #sources = new Map<string, Defined>();
  /** Those that were loaded, on whatever accelerator; it may load them again when it returns. */
  readonly #loaded = new Set<string>();
  readonly #numbers = new Map<string, number>();

  constructor(addon: NativeAddon, allowTorchScript: boolean) {
    this.#addon = addon;
    this.#allowTorchScript = allowTorchScript;
  }

  /** Throws WEIGHTS_INVALID, WEIGHTS_IN_USE, FILE_UNREADABLE, FILE_INVALID, SCRIPT_DENIED. */
  define(name: string, source: WeightsSource): void {
    const about = `weights ${JSON.stringify(name)}`;
    if (this.#loaded.has(name)) {
      if (this.#sources.get(name)?.given === source) return;
      throw new LibtorchError(
        "WEIGHTS_IN_USE",
        `${about} are loaded, and another source would have no effect where they are; give the other weights another name`,
      );
    }
    const lowered = lowerWeights(source, about);
    const opened = withFaults(about, () => this.#addon.openWeights(lowered, this.#allowTorchScript));
    const [scripts, tensors] = "scripts" in source ? [source.scripts, {}] : [{}, source.tensors];
    const names = { scripts: Object.keys(scripts), tensors: Object.keys(tensors) };
    this.#sources.set(name, { given: source, source: opened.source, ...names });
  }

  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(name, number);
    return number;
  }

  /**
   * Whether what a program reads and calls is in the weights of its operator, each in one of them. Throws WEIGHTS_MISSING, and WEIGHTS_INVALID for a
   * name that two of them have.
   */
  check(about: string, { weights }: CompiledOperator, read: readonly string[], called: readonly string[]): void {
    const [first] = [...read, ...called];
    if (first === undefined) return;
    if (weights.length === 0)
      throw new LibtorchError(
        "WEIGHTS_MISSING",
        `${about} reads the weight ${JSON.stringify(first)}, and the template gives the operator no weights`,
      );
    const missing = weights.filter(({ name }) => !this.#sources.has(name)).map(({ name }) => JSON.stringify(name));
    if (missing.length > 0)
      throw new LibtorchError(
        "WEIGHTS_MISSING",
        `${about} reads weights, and ${missing.join(", ")} are not defined; call executor.defineWeights before the template is registered`,
      );
    const names = weights.map(({ name }) => name);
    for (const tensor of read) this.#checkHeld(about, names, "tensors", tensor);
    for (const script of called) this.#checkHeld(about, names, "scripts", script);
  }

  #checkHeld(about: string, weights: readonly string[], kind: "tensors" | "scripts", name: string): void {
    const of = (set: string): readonly string[] => this.#sources.get(set)?.[kind] ?? [];
    const holders = weights.filter((set) => of(set).includes(name));
    if (holders.length === 1) return;
    const asked = `${about} ${kind === "tensors" ? "reads the weight" : "calls the script"} ${JSON.stringify(name)}`;
    if (holders.length > 1)
      throw new LibtorchError(
        "WEIGHTS_INVALID",
        `${asked}, which ${quoted(holders)} have each; names are one per operator, so rename it in all but one`,
      );
    const have = weights.map((set) => `${JSON.stringify(set)} has the ${kind} ${quoted(of(set))}`).join(", ");
    const near = didYouMeanOneOf(name, weights.flatMap(of));
    throw new LibtorchError("WEIGHTS_MISSING", `${asked}, and of its weights ${have}${near}`);
  }

  /**
   * Loads them on an accelerator, where they were defined; otherwise they are bytes of the account and nothing else. Throws WEIGHTS_INVALID, and an
   * ExecutorError OVER_CAPACITY.
   */
  load(engine: NativeEngine, accelerator: number, name: string, declaredBytes: number): void {
    const source = this.#sources.get(name)?.source;
    if (source === undefined) return;
    const about = `weights ${JSON.stringify(name)} on accelerator ${accelerator}`;
    try {
      withFaults(about, () => engine.loadWeights(accelerator, this.numberOf(name), source, declaredBytes));
      this.#loaded.add(name);
    } catch (cause) {
      if (!(cause instanceof LibtorchError) || cause.code !== "OUT_OF_MEMORY") throw cause;
      throw new ExecutorError("OVER_CAPACITY", `weights do not fit: ${cause.message}`, { cause });
    }
  }
}

function quoted(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const shown = names.slice(0, NAMES_SHOWN_MAX).map((name) => JSON.stringify(name));
  return names.length > NAMES_SHOWN_MAX
    ? `${shown.join(", ")} and ${names.length - NAMES_SHOWN_MAX} more`
    : shown.join(", ");
}
