/** Requests drawn from the statistics of a ServeGen client. */
import { InvalidOptionError, TraceError } from "../errors.ts";
import { type Random, seededRandom } from "../random.ts";
import type { LengthDistribution, ServeGenLengths, ServeGenWindow } from "./servegen.ts";
import type { TraceRow } from "./types.ts";
import { traceDaysMax } from "./types.ts";

export interface ServeGenDraw {
  /** Whole number; equal seeds draw equal requests. */
  readonly seed: number;
  /** Where in the client's days the trace begins, in seconds from the midnight that starts day 0. Default 0. */
  readonly fromSeconds?: number;
  /** Length of the trace; default to the end of the last window, 100 days at most. */
  readonly seconds?: number;
  /** Each request is kept with this probability, above 0 and at most 1. Default 1. */
  readonly share?: number;
}

const windowSeconds = 600;
/** Arrivals that are drawn at most, kept or not: what no client of the public files comes near, and a broken file might. */
const arrivalsMax = 100_000_000;

/**
 * Draws requests as the client's statistics have them: in each window of 600 s inter-arrival times from the fitted Gamma or Weibull
 * distribution, lengths independently from the distributions of the part of the day. Arrivals count from `fromSeconds`. Each window
 * starts afresh. Errors: INVALID_OPTION, TRACE_TOO_LARGE, TRACE_EMPTY (while it is iterated). Linear in the requests.
 */
export function* serveGenRequests(
  windows: readonly ServeGenWindow[],
  lengths: readonly ServeGenLengths[],
  { seed, fromSeconds = 0, seconds, share = 1 }: ServeGenDraw,
): Generator<TraceRow> {
  const endSeconds = (windows.at(-1)?.startSeconds ?? 0) + windowSeconds;
  const length = seconds ?? Math.min(endSeconds - fromSeconds, traceDaysMax * 86_400);
  if (!(fromSeconds >= 0)) throw new InvalidOptionError("fromSeconds", fromSeconds, "0 or more");
  if (!(share > 0 && share <= 1)) throw new InvalidOptionError("share", share, "above 0 and at most 1");
  if (!(length > 0 && length <= traceDaysMax * 86_400))
    throw new InvalidOptionError("seconds", length, `above 0 and at most ${traceDaysMax} days`);
  const until = fromSeconds + length;
  const draw = { gaps: seededRandom(seed, 1), sizes: seededRandom(seed, 2), kept: seededRandom(seed, 3) };
  let drawn = 0;
  let rows = 0;
  for (const window of windows) {
    const end = Math.min(window.startSeconds + windowSeconds, until);
    if (window.distribution === null || end <= fromSeconds || window.startSeconds >= until) continue;
    const before = drawn;
    const expected = windowSeconds * window.requestsPerSecond;
    for (let at = window.startSeconds + gap(window, draw.gaps); at < end; at += gap(window, draw.gaps)) {
      if (++drawn > arrivalsMax) throw tooMany(window);
      if (drawn - before > 10 * expected + 10_000) throw contradiction(window);
      if (at < fromSeconds || draw.kept() >= share) continue;
      rows++;
      yield { arrivalNs: Math.floor((at - fromSeconds) * 1e9), ...lengthsAt(lengths, at, draw.sizes) };
    }
  }
  if (rows > 0) return;
  const reason = `no request arrives from second ${fromSeconds} to ${until} at share ${share}`;
  throw new TraceError("TRACE_EMPTY", "ServeGen windows", null, reason);
}

function tooMany({ startSeconds }: ServeGenWindow): TraceError {
  const reason = `more than ${arrivalsMax} arrivals up to the window at second ${startSeconds}; ask for fewer seconds`;
  return new TraceError("TRACE_TOO_LARGE", "ServeGen windows", null, reason);
}

/** A shape and a scale that give far more arrivals than the rate says: without this a broken window would hardly end. */
function contradiction({ startSeconds, requestsPerSecond, shape, scaleSeconds }: ServeGenWindow): TraceError {
  const reason = `the window at second ${startSeconds} has ${requestsPerSecond} requests/s, its distribution (shape ${shape}, scale ${scaleSeconds} s) draws more than ten times as many`;
  return new TraceError("TRACE_MALFORMED_ROW", "ServeGen windows", null, reason);
}

/** Seconds to the next arrival. */
function gap({ distribution, shape, scaleSeconds }: ServeGenWindow, random: Random): number {
  if (distribution === "Weibull") return scaleSeconds * (-Math.log(1 - random())) ** (1 / shape);
  return scaleSeconds * gammaOf(shape, random);
}

/** Marsaglia and Tsang (2000); below shape 1 by its power of a uniform number. */
function gammaOf(shape: number, random: Random): number {
  if (shape < 1) return gammaOf(shape + 1, random) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  // Accepts more than 95 of 100 tries.
  for (let tries = 0; tries < 1000; tries++) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random()) < (x * x) / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
  return shape;
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function lengthsAt(
  lengths: readonly ServeGenLengths[],
  atSeconds: number,
  random: Random,
): Omit<TraceRow, "arrivalNs"> {
  // Ascending by start. A silent part of a day has no distributions; then those before it hold, or the first ones.
  let low = 0;
  for (let high = lengths.length; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if ((lengths[middle]?.startSeconds ?? 0) <= atSeconds) low = middle;
    else high = middle;
  }
  const current = lengths[low];
  if (current === undefined) throw new InvalidOptionError("lengths", "none", "at least one window");
  return { inputTokens: tokensOf(current.inputTokens, random), outputTokens: tokensOf(current.outputTokens, random) };
}

function tokensOf(distribution: LengthDistribution, random: Random): number {
  let left = random();
  for (const { tokens, probability } of distribution) {
    left -= probability;
    if (left < 0) return Math.max(1, tokens);
  }
  return Math.max(1, distribution.at(-1)?.tokens ?? 1);
}
