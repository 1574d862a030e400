import { ArbitrationError } from "./errors.ts";
import type { ArbitrationOptions } from "./types.ts";

/** Defaults of ArbitrationOptions: 1 s and 4 s. */
export const DEFAULT_AGING_NS = 1e9;
export const DEFAULT_RESERVE_NS = 4e9;
/** Default deadline of a transfer: ten times what was expected, at least 10 s. */
export const DEFAULT_DEADLINE_FACTOR = 10;
export const DEFAULT_DEADLINE_MIN_NS = 1e10;

/** Whole nanoseconds that cannot get inexact: 0 … 2^53 − 1. */
export function isNs(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Fills in defaults; throws INVALID_OPTIONS naming every fault. */
export function checkedOptions(options: ArbitrationOptions): Required<ArbitrationOptions> {
  const { agingNs = DEFAULT_AGING_NS, reserveNs = DEFAULT_RESERVE_NS } = options;
  const { deadlineFactor = DEFAULT_DEADLINE_FACTOR, deadlineMinNs = DEFAULT_DEADLINE_MIN_NS } = options;
  const faults: string[] = [];
  if (!isNs(agingNs) || agingNs < 1) faults.push(`agingNs must be a whole number ≥ 1, found ${agingNs}`);
  if (!isNs(reserveNs)) faults.push(`reserveNs must be a whole number ≥ 0, found ${reserveNs}`);
  if (!(Number.isFinite(deadlineFactor) && deadlineFactor >= 1))
    faults.push(`deadlineFactor must be a number ≥ 1, found ${deadlineFactor}`);
  if (!isNs(deadlineMinNs) || deadlineMinNs < 1)
    faults.push(`deadlineMinNs must be a whole number ≥ 1, found ${deadlineMinNs}`);
  if (faults.length > 0) throw new ArbitrationError("INVALID_OPTIONS", `${faults.join("; ")}.`, { faults });
  return { agingNs, reserveNs, deadlineFactor, deadlineMinNs };
}
