/** Amounts with units as people write them: `80 GB`, `900GB/s`, `989 TFLOP/s`, `20us`. Plain numbers are in the base unit. */

/** What a quantity is measured in; its text is matched by the pattern of the same name in the schemas. */
export type QuantityKind = "bytes" | "bytesPerSecond" | "flopsPerSecond" | "nanoseconds";

const prefixes: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

const times: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 };

const amount = String.raw`(\d{1,15}(?:\.\d{1,9})?) ?`;

/** The pattern of each kind, without anchors; the schemas hold the same. */
export const quantityPatterns: Readonly<Record<QuantityKind, string>> = {
  bytes: `${amount}((?:[kKMGTP]|[KMGT]i)?)B`,
  bytesPerSecond: `${amount}((?:[kKMGTP]|[KMGT]i)?)(B|bit|b)(?:/s|ps)`,
  flopsPerSecond: `${amount}([kKMGTP]?)FLOP(?:/s|S)`,
  nanoseconds: `${amount}(ns|us|µs|μs|ms|s)`,
};

/** What is allowed, for messages. */
export const quantityWords: Readonly<Record<QuantityKind, string>> = {
  bytes: "a number of bytes, or text such as 80GB or 79.6 GiB",
  bytesPerSecond: "a number of bytes per second, or text such as 3.35TB/s or 400 Gbit/s",
  flopsPerSecond: "a number of FLOP per second, or text such as 989 TFLOP/s",
  nanoseconds: "a number of nanoseconds, or text such as 20us or 1.5 ms",
};

const patterns = new Map(
  Object.entries(quantityPatterns).map(([kind, pattern]) => [kind, new RegExp(`^${pattern}$`)] as const),
);

/**
 * The amount in its base unit, bytes and nanoseconds rounded to whole ones; undefined for what is no such quantity.
 * A number is taken as it is.
 */
export function parseQuantity(value: unknown, kind: QuantityKind): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string") return undefined;
  const match = patterns.get(kind)?.exec(value);
  if (match === null || match === undefined) return undefined;
  const [, digits = "", unit = "", of = ""] = match;
  if (kind === "nanoseconds") return Math.round(Number(digits) * (times[unit] ?? Number.NaN));
  const exact = Number(digits) * (prefixes[unit] ?? Number.NaN);
  if (kind === "bytes") return Math.round(exact);
  return kind === "bytesPerSecond" && of !== "B" ? exact / 8 : exact;
}
