import { EstimatorError } from "./errors.ts";
import { DURATION_MAX_NS } from "./limits.ts";

export interface RooflineInput {
  /** Floating-point operations, at least 0. */
  readonly flops: number;
  /** Bytes to and from HBM, at least 0. */
  readonly movedBytes: number;
  /** Peak rates of the device, above 0. */
  readonly flopsPerSecond?: number | undefined;
  readonly hbmBytesPerSecond?: number | undefined;
}

/**
 * Assumed where a device declares no rates. Their size hardly matters, since the first observation corrects it; that
 * larger operators get larger priors does.
 */
export const ASSUMED_FLOPS_PER_SECOND = 100e12;
export const ASSUMED_HBM_BYTES_PER_SECOND = 1e12;
/** No operator is shorter than its launch. */
export const ROOFLINE_MIN_NS = 1000;

/**
 * The time that the slower of arithmetic and memory traffic takes at the device's peak rates, in whole nanoseconds of at
 * least 1,000: a prior, usually too small. A missing rate is left out if the other is given; without any, assumed rates
 * stand in. Throws `ROOFLINE_INVALID` for negative or non-finite numbers. Paper §3.3.1.
 */
export function rooflineNs(input: RooflineInput): number {
  const { flops, movedBytes, flopsPerSecond, hbmBytesPerSecond } = input;
  check("flops", flops, flops >= 0);
  check("movedBytes", movedBytes, movedBytes >= 0);
  if (flopsPerSecond !== undefined) check("flopsPerSecond", flopsPerSecond, flopsPerSecond > 0);
  if (hbmBytesPerSecond !== undefined) check("hbmBytesPerSecond", hbmBytesPerSecond, hbmBytesPerSecond > 0);
  const noRate = flopsPerSecond === undefined && hbmBytesPerSecond === undefined;
  const flopsRate = flopsPerSecond ?? (noRate ? ASSUMED_FLOPS_PER_SECOND : Number.POSITIVE_INFINITY);
  const bytesRate = hbmBytesPerSecond ?? (noRate ? ASSUMED_HBM_BYTES_PER_SECOND : Number.POSITIVE_INFINITY);
  const seconds = Math.max(flops / flopsRate, movedBytes / bytesRate);
  return Math.min(Math.max(Math.ceil(seconds * 1e9), ROOFLINE_MIN_NS), DURATION_MAX_NS);
}

function check(name: string, value: number, inRange: boolean): void {
  if (inRange && Number.isFinite(value)) return;
  const message = `${name} is ${value}; give a finite number, at least 0 for amounts and above 0 for rates`;
  throw new EstimatorError("ROOFLINE_INVALID", message, { name, value });
}
