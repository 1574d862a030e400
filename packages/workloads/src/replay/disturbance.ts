/** What a run may meet that nobody predicted: true durations other than the model's, as plain data. */
import { InvalidOptionError } from "../errors.ts";
import { fmix32 } from "../random.ts";

export interface Disturbance {
  /** True durations of operators × `factor`, of all or of one kind of pass, from a time on. */
  readonly bias?: { readonly pass: "prefill" | "decode" | "all"; readonly factor: number; readonly fromNs: number };
  /** So large a share of the operators, 0…1, drawn by the run's seed, takes `factor` times as long. */
  readonly stragglers?: { readonly share: number; readonly factor: number };
  /** Everything on one accelerator takes `factor` times as long from a time on. */
  readonly slowAccelerator?: { readonly name: string; readonly factor: number; readonly fromNs: number };
}

export interface DisturbedOperator {
  readonly pass: "prefill" | "decode";
  readonly accelerator: string;
  readonly instance: number;
  readonly operator: number;
  readonly atNs: number;
}

/**
 * By what a true duration is multiplied. Depends on the operator and the time it starts at only, never on the order of calls.
 * Errors: INVALID_OPTION.
 */
export function disturbanceFactor(disturbance: Disturbance, seed: number): (operator: DisturbedOperator) => number {
  const { bias, stragglers, slowAccelerator } = disturbance;
  checkFactor("bias.factor", bias?.factor);
  checkFactor("stragglers.factor", stragglers?.factor);
  checkFactor("slowAccelerator.factor", slowAccelerator?.factor);
  if (stragglers !== undefined && !(stragglers.share >= 0 && stragglers.share <= 1))
    throw new InvalidOptionError("stragglers.share", stragglers.share, "from 0 to 1");
  return ({ pass, accelerator, instance, operator, atNs }) => {
    let factor = 1;
    if (bias !== undefined && atNs >= bias.fromNs && (bias.pass === "all" || bias.pass === pass)) factor *= bias.factor;
    if (stragglers !== undefined && uniform(seed, instance, operator) < stragglers.share) factor *= stragglers.factor;
    if (slowAccelerator?.name === accelerator && atNs >= slowAccelerator.fromNs) factor *= slowAccelerator.factor;
    return factor;
  };
}

function uniform(seed: number, instance: number, operator: number): number {
  return fmix32(fmix32(fmix32(seed + 1) ^ instance) ^ (operator + 0x9e3779b9)) / 2 ** 32;
}

function checkFactor(name: string, factor: number | undefined): void {
  if (factor === undefined || (factor > 0 && factor <= 1000)) return;
  throw new InvalidOptionError(name, factor, "above 0 and at most 1000");
}
