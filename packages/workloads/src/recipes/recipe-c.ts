/**
 * Recipe C: whole days of one ServeGen client. Tenant j lives through day `firstDay + j`: in each window of 600 s requests arrive as a
 * Poisson process at the client's rate × a share, and their lengths are drawn from the client's distributions of that part of the day.
 */
import { EmptyWorkloadError, InvalidOptionError } from "../errors.ts";
import { type Random, seededRandom } from "../random.ts";
import type { LengthDistribution, ServeGenLengths, ServeGenWindow } from "../traces/servegen.ts";
import type { Workload, WorkloadRequest } from "./types.ts";

export interface RecipeCOptions {
  readonly windows: readonly ServeGenWindow[];
  readonly lengths: readonly ServeGenLengths[];
  /** Share of the client's rate that each tenant gets, above 0 and at most 1. Default 0.005. */
  readonly share?: number;
  /** Seed of arrivals and lengths, a whole number from 0. */
  readonly seed: number;
  /** Day of the first tenant, from 0. Default 0. */
  readonly firstDay?: number;
  /** Default 4. */
  readonly tenants?: number;
  /** Where in the day the workload begins, 0 to 24. Default 0. */
  readonly fromHour?: number;
  /** Its length in hours, above 0; with `fromHour` at most 24. Default to the day's end. */
  readonly hours?: number;
}

/**
 * With it a serial instance on two accelerators is busy for a third of the day and, in the busiest windows, for less than the whole of
 * it: the day's shape shows, and queues empty again.
 */
export const recipeCShare = 0.005;

const windowSeconds = 600;
const daySeconds = 86_400;

/** Errors: INVALID_OPTION, WORKLOAD_EMPTY. Linear in the requests. */
export function recipeC(options: RecipeCOptions): Workload {
  const { windows, lengths, share = recipeCShare, seed, firstDay = 0, tenants = 4, fromHour = 0 } = options;
  const hours = options.hours ?? 24 - fromHour;
  if (!(share > 0 && share <= 1)) throw new InvalidOptionError("share", share, "above 0 and at most 1");
  if (!(fromHour >= 0 && hours > 0 && fromHour + hours <= 24))
    throw new InvalidOptionError("hours", `${fromHour} to ${fromHour + hours}`, "within one day");
  const days = Math.floor(((windows.at(-1)?.startSeconds ?? -windowSeconds) + windowSeconds) / daySeconds);
  if (!(Number.isInteger(firstDay) && firstDay >= 0 && Number.isInteger(tenants) && tenants >= 1))
    throw new InvalidOptionError("firstDay and tenants", `${firstDay} and ${tenants}`, "whole, from 0 and from 1");
  if (firstDay + tenants > days)
    throw new InvalidOptionError("firstDay", `${firstDay} for ${tenants} tenants`, `so that ${days} days suffice`);
  const list = Array.from({ length: tenants }, (_, tenant) => {
    const fromSeconds = (firstDay + tenant) * daySeconds + fromHour * 3600;
    const random = seededRandom(seed, 16 + tenant);
    return requestsOf({ windows, lengths, share }, tenant, fromSeconds, hours * 3600, random);
  });
  if (list.every((requests) => requests.length === 0)) {
    throw new EmptyWorkloadError(`recipe C keeps no request of ${hours} h at share ${share}; a larger share is needed`);
  }
  return { windowNs: Math.round(hours * 3600e9), tenants: list };
}

function requestsOf(
  {
    windows,
    lengths,
    share,
  }: { windows: readonly ServeGenWindow[]; lengths: readonly ServeGenLengths[]; share: number },
  tenant: number,
  fromSeconds: number,
  seconds: number,
  random: Random,
): WorkloadRequest[] {
  const requests: WorkloadRequest[] = [];
  for (const { startSeconds, requestsPerSecond } of windows) {
    const beginSeconds = Math.max(startSeconds, fromSeconds);
    const endSeconds = Math.min(startSeconds + windowSeconds, fromSeconds + seconds);
    const rate = requestsPerSecond * share;
    if (beginSeconds >= endSeconds || rate === 0) continue;
    // Memoryless: each window starts afresh.
    for (let at = beginSeconds + exponential(rate, random); at < endSeconds; at += exponential(rate, random)) {
      const arrivalNs = Math.floor((at - fromSeconds) * 1e9);
      requests.push({ tenant, arrivalNs, ...lengthsAt(lengths, at, random) });
    }
  }
  return requests;
}

function exponential(rate: number, random: Random): number {
  return -Math.log(1 - random()) / rate;
}

function lengthsAt(
  lengths: readonly ServeGenLengths[],
  atSeconds: number,
  random: Random,
): { inputTokens: number; outputTokens: number } {
  // A silent part of a day has no distributions; then those before it hold, or the first ones.
  let current = lengths[0];
  for (const candidate of lengths) if (candidate.startSeconds <= atSeconds) current = candidate;
  if (current === undefined) throw new EmptyWorkloadError("recipe C was given no length distributions");
  return { inputTokens: draw(current.inputTokens, random), outputTokens: draw(current.outputTokens, random) };
}

function draw(distribution: LengthDistribution, random: Random): number {
  let left = random();
  for (const { tokens, probability } of distribution) {
    left -= probability;
    if (left < 0) return Math.max(1, tokens);
  }
  return Math.max(1, distribution.at(-1)?.tokens ?? 1);
}
