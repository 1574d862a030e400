import { type Random, seededRandom } from "../random.ts";
import type { TraceRow } from "../traces/types.ts";
import type { ArrivalProfile, LengthProfile, WorkloadProfile } from "./types.ts";

/** Rows made up from a profile: feed them to a recipe as if they came from files, and say that they did not. */
export interface GeneratedTraces {
  readonly generated: true;
  readonly profile: string;
  readonly arrivals: readonly TraceRow[];
  readonly lengths: readonly TraceRow[];
}

/**
 * Generates an arrival trace and a length trace like the measured ones. Arrivals are a renewal process with the measured
 * gaps, stretched to follow the measured rate; lengths are drawn independently from their marginals.
 * @param seed whole number; equal seeds give equal rows. Linear in the rows.
 */
export function generateTraces(profile: WorkloadProfile, seed: number): GeneratedTraces {
  const lengths = generateLengths(profile.lengths, seededRandom(seed, 1));
  const arrivals = generateArrivals(profile.arrivals, seededRandom(seed, 2)).map((arrivalNs, i) => {
    const { inputTokens = 1, outputTokens = 1 } = lengths[i % lengths.length] ?? {};
    return { arrivalNs, inputTokens, outputTokens };
  });
  return { generated: true, profile: profile.name, arrivals, lengths };
}

function generateArrivals(profile: ArrivalProfile, random: Random): number[] {
  const { windowSeconds, requestsPerSecond, gapQuantiles } = profile;
  const meanGap = trapezoidMean(gapQuantiles);
  const drawGap = (): number => quantile(gapQuantiles, random()) / meanGap;
  const arrivals: number[] = [];
  // Distance from the window's start to the next arrival, in requests expected at the window's rate.
  let next = drawGap();
  requestsPerSecond.forEach((rate, window) => {
    const expected = rate * windowSeconds;
    for (; next < expected; next += drawGap()) {
      arrivals.push(Math.round((window + next / expected) * windowSeconds * 1e9));
    }
    next -= expected;
  });
  return arrivals;
}

function generateLengths(profile: LengthProfile, random: Random): TraceRow[] {
  return Array.from({ length: profile.rows }, () => ({
    arrivalNs: 0,
    inputTokens: drawTokens(profile.inputTokenQuantiles, random),
    outputTokens: drawTokens(profile.outputTokenQuantiles, random),
  }));
}

function drawTokens(quantiles: readonly number[], random: Random): number {
  return Math.max(1, Math.round(quantile(quantiles, random())));
}

function quantile(quantiles: readonly number[], share: number): number {
  const position = share * (quantiles.length - 1);
  const below = Math.floor(position);
  const low = quantiles[below] ?? 0;
  return low + (position - below) * ((quantiles[below + 1] ?? low) - low);
}

function trapezoidMean(quantiles: readonly number[]): number {
  let sum = 0;
  for (let i = 1; i < quantiles.length; i++) sum += ((quantiles[i - 1] ?? 0) + (quantiles[i] ?? 0)) / 2;
  return sum / (quantiles.length - 1);
}
