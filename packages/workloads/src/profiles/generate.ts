import { InvalidOptionError } from "../errors.ts";
import { type Random, seededRandom } from "../random.ts";
import type { TraceRow } from "../traces/types.ts";
import { type ArrivalProfile, type LengthProfile, requestsMax, type WorkloadProfile } from "./types.ts";

/** Rows made up from a profile: feed them to a recipe as if they came from files, and say that they did not. */
export interface GeneratedTraces {
  readonly generated: true;
  readonly profile: string;
  readonly arrivals: readonly TraceRow[];
  readonly lengths: readonly TraceRow[];
}

/**
 * Generates an arrival trace and a length trace like the measured ones. Arrivals are a renewal process with the measured
 * gaps, stretched to follow the measured rate; lengths are drawn from their marginals with their rank correlation.
 * @param seed whole number; equal seeds give equal rows. Linear in the rows.
 * Errors: INVALID_OPTION for a profile of more than 10 million requests or rows.
 */
export function generateTraces(profile: WorkloadProfile, seed: number): GeneratedTraces {
  assertBounded(profile);
  const lengths = generateLengths(profile.lengths, seededRandom(seed, 1));
  const arrivals = generateArrivals(profile.arrivals, seededRandom(seed, 2)).map((arrivalNs, i) => {
    const { inputTokens = 1, outputTokens = 1 } = lengths[i % lengths.length] ?? {};
    return { arrivalNs, inputTokens, outputTokens };
  });
  return { generated: true, profile: profile.name, arrivals, lengths };
}

function assertBounded({ arrivals, lengths }: WorkloadProfile): void {
  const expected = arrivals.requestsPerSecond.reduce((sum, rate) => sum + rate * arrivals.windowSeconds, 0);
  if (expected <= requestsMax && lengths.rows <= requestsMax) return;
  throw new InvalidOptionError(
    "profile",
    `one of ${expected} requests and ${lengths.rows} rows`,
    `at most ${requestsMax}`,
  );
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
  const { rows, inputTokenQuantiles, outputTokenQuantiles, rankCorrelation = 0 } = profile;
  const draw = rankCorrelation === 0 ? () => [random(), random()] : correlated(rankCorrelation, random);
  return Array.from({ length: rows }, () => {
    const [input = 0, output = 0] = draw();
    return {
      arrivalNs: 0,
      inputTokens: tokensAt(inputTokenQuantiles, input),
      outputTokens: tokensAt(outputTokenQuantiles, output),
    };
  });
}

/** Pairs of shares with this rank correlation: normal numbers that correlate as much as that takes, as shares of their distribution. */
function correlated(rankCorrelation: number, random: Random): () => number[] {
  const r = 2 * Math.sin((Math.PI * rankCorrelation) / 6);
  const rest = Math.sqrt(Math.max(0, 1 - r * r));
  return () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    const angle = 2 * Math.PI * random();
    const x = radius * Math.cos(angle);
    return [normalShare(x), normalShare(r * x + rest * radius * Math.sin(angle))];
  };
}

/** Of a normal distribution below x, within 1e-7 (Abramowitz and Stegun 26.2.17). */
function normalShare(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const above = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return x >= 0 ? 1 - above : above;
}

function tokensAt(quantiles: readonly number[], share: number): number {
  return Math.max(1, Math.round(quantile(quantiles, share)));
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
