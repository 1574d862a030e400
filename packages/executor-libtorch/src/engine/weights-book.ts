import { ExecutorError } from "@slicescheduler/executor";
import type { CompiledOperator } from "@slicescheduler/templates";
import type { NativeAddon, NativeEngine } from "../native/addon.ts";
import { LibtorchError, withFaults } from "../programs/errors.ts";
import type { NativeWeights } from "../programs/native-runtime.ts";
import { lowerWeights } from "../weights/lower.ts";
import type { WeightsSource } from "../weights/types.ts";

/** Where weights come from, by the names that templates give them; to the engine a name is a number. */
export class WeightsBook {
  readonly #addon: NativeAddon;
  readonly #allowTorchScript: boolean;
  readonly #sources = new Map<string, NativeWeights>();
  readonly #numbers = new Map<string, number>();

  constructor(addon: NativeAddon, allowTorchScript: boolean) {
    this.#addon = addon;
    this.#allowTorchScript = allowTorchScript;
  }

  /** Throws WEIGHTS_INVALID, FILE_UNREADABLE, FILE_INVALID, SCRIPT_DENIED. */
  define(name: string, source: WeightsSource): void {
    const about = `weights ${JSON.stringify(name)}`;
    const lowered = lowerWeights(source, about);
    const opened = withFaults(about, () => this.#addon.openWeights(lowered, this.#allowTorchScript));
    this.#sources.set(name, opened.source);
  }

  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(name, number);
    return number;
  }

  /** Whether the tensors that a program reads can come from the weights of its operator. Throws WEIGHTS_MISSING. */
  check(about: string, { weights }: CompiledOperator, read: readonly string[]): void {
    if (read.length === 0) return;
    const [tensor] = read;
    if (weights.length === 0)
      throw new LibtorchError(
        "WEIGHTS_MISSING",
        `${about} reads the weight ${JSON.stringify(tensor)}, and the template gives the operator no weights`,
      );
    const missing = weights.filter(({ name }) => !this.#sources.has(name)).map(({ name }) => JSON.stringify(name));
    if (missing.length > 0)
      throw new LibtorchError(
        "WEIGHTS_MISSING",
        `${about} reads weights, and ${missing.join(", ")} are not defined; call executor.defineWeights before the template is registered`,
      );
  }

  /**
   * Loads them on an accelerator, where they were defined; otherwise they are bytes of the account and nothing else. Throws WEIGHTS_INVALID, and an
   * ExecutorError OVER_CAPACITY.
   */
  load(engine: NativeEngine, accelerator: number, name: string, declaredBytes: number): void {
    const source = this.#sources.get(name);
    if (source === undefined) return;
    const about = `weights ${JSON.stringify(name)} on accelerator ${accelerator}`;
    try {
      withFaults(about, () => engine.loadWeights(accelerator, this.numberOf(name), source, declaredBytes));
    } catch (cause) {
      if (!(cause instanceof LibtorchError) || cause.code !== "OUT_OF_MEMORY") throw cause;
      throw new ExecutorError("OVER_CAPACITY", `weights do not fit: ${cause.message}`, { cause });
    }
  }
}
