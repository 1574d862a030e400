/** Reads options as text and collects what is wrong with them, so that all of it is told at once. */
import { UsageError } from "./errors.ts";

const plainNumber = /^\d{1,20}(\.\d{1,20})?$/;

export class OptionFaults {
  readonly #faults: string[] = [];

  /** What several checks find alike is told once. */
  add(message: string): void {
    if (!this.#faults.includes(message)) this.#faults.push(message);
  }

  /** `option must be wanted, not found`. */
  wanted(option: string, wanted: string, found: string): void {
    this.add(`${option} must be ${wanted}, not ${JSON.stringify(found)}`);
  }

  /** A plain decimal number, or `fallback` where the option is missing or wrong. */
  number<Fallback>(
    option: string,
    text: string | undefined,
    fallback: Fallback,
    wanted: string,
    isValid: (value: number) => boolean,
  ): number | Fallback {
    if (text === undefined) return fallback;
    const value = Number(text.trim() === "" ? Number.NaN : text);
    const isPlain = plainNumber.test(text);
    if (isPlain && isValid(value)) return value;
    const plain = String(value);
    if (isValid(value) && plainNumber.test(plain))
      this.wanted(option, `a plain decimal number, such as ${plain}`, text);
    else this.wanted(option, wanted, text);
    return fallback;
  }

  whole<Fallback>(
    option: string,
    text: string | undefined,
    fallback: Fallback,
    [min, max]: readonly [number, number],
  ): number | Fallback {
    const most = max === Number.MAX_SAFE_INTEGER ? "2^53 − 1" : String(max);
    const isValid = (value: number): boolean => Number.isSafeInteger(value) && value >= min && value <= max;
    return this.number(option, text, fallback, `a whole number from ${min} to ${most}`, isValid);
  }

  /** Runs a check whose errors are the user's; those of other classes pass through. */
  attempt(check: () => void, isFault: (error: unknown) => boolean): void {
    try {
      check();
    } catch (error) {
      if (!isFault(error)) throw error;
      this.add((error as Error).message);
    }
  }

  /** Errors: USAGE. */
  throwIfAny(): void {
    if (this.#faults.length > 0) throw new UsageError(this.#faults);
  }
}
