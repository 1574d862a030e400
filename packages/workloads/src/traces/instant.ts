/** Moments of a trace, exact to the nanosecond whatever they count from. */

/** How a column writes a time: a number of this unit, or a date and time of day. */
export type TimeUnit = "s" | "ms" | "us" | "ns" | "iso";

/** Whole seconds since 1970, or since whatever a trace counts from, and nanoseconds: one number would not be exact. */
export interface Instant {
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly ns: number;
}

export const timeUnits: readonly TimeUnit[] = ["s", "ms", "us", "ns", "iso"];

/** For messages. */
export const timeUnitWords: Readonly<Record<TimeUnit, string>> = {
  s: "a number of seconds",
  ms: "a number of milliseconds",
  us: "a number of microseconds",
  ns: "a number of nanoseconds",
  iso: "YYYY-MM-DD HH:MM:SS.fffffff",
};

/**
 * Reads a time; digits below a nanosecond are cut off. Numbers are from 0 to 10^12 s, with a fraction or an exponent; dates
 * are UTC or have an offset (`Z`, `+02:00`). Undefined when the text is anything else.
 */
export function parseInstant(text: string, unit: TimeUnit): Instant | undefined {
  return unit === "iso" ? parseDate(text) : parseNumber(text, decimals[unit]);
}

/** Exact below 104 days. */
export function nsBetween(from: Instant, to: Instant): number {
  return (to.seconds - from.seconds) * 1e9 + (to.ns - from.ns);
}

/** By how many digits a unit lies below the second. */
const decimals = { s: 0, ms: 3, us: 6, ns: 9 } as const;
const secondsMax = 1e12;
const numberPattern = /^(\d{1,30})(?:\.(\d{0,30}))?(?:[eE]([+-]?\d{1,2}))?$/;

function parseNumber(text: string, unitDecimals: number): Instant | undefined {
  const match = numberPattern.exec(text);
  if (match === null) return undefined;
  const [, whole = "", fraction = "", exponent = "0"] = match;
  // The point is moved in the digits: a quotient in floating point would not be exact.
  const point = whole.length + Number(exponent) - unitDecimals;
  const digits = whole + fraction;
  const secondsText = point > 0 ? digits.slice(0, point).padEnd(point, "0") : "0";
  const below = point >= 0 ? digits.slice(point) : "0".repeat(-point) + digits;
  const seconds = Number(secondsText);
  return seconds <= secondsMax ? { seconds, ns: fractionNs(below) } : undefined;
}

function fractionNs(digits: string): number {
  return Number(digits.slice(0, 9).padEnd(9, "0"));
}

const datePattern =
  /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,12}))?(?:(Z)|([+-])(\d{2}):?(\d{2}))?$/;

function parseDate(text: string): Instant | undefined {
  const match = datePattern.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, date = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const utc = new Date(Date.UTC(year, month - 1, date));
  const exists = utc.getUTCFullYear() === year && utc.getUTCMonth() === month - 1 && utc.getUTCDate() === date;
  const [offsetHours, offsetMinutes] = [Number(match[10] ?? 0), Number(match[11] ?? 0)];
  if (!exists || hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return undefined;
  const offsetSeconds = (match[9] === "-" ? -1 : 1) * (offsetHours * 3600 + offsetMinutes * 60);
  const seconds = utc.getTime() / 1000 + hour * 3600 + minute * 60 + second - offsetSeconds;
  return { seconds, ns: fractionNs(match[7] ?? "") };
}
