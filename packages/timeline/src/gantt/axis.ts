import { fitted } from "./text-width.ts";

const UNITS = [
  { unit: "ns", ns: 1 },
  { unit: "µs", ns: 1e3 },
  { unit: "ms", ns: 1e6 },
  { unit: "s", ns: 1e9 },
  { unit: "min", ns: 60e9 },
  { unit: "h", ns: 3600e9 },
] as const;

/**
 * A time in the largest unit in which the span takes at least two, but in minutes and hours only where a step is whole in them; with so many decimals
 * that marks a step apart differ.
 */
export function timeText(ns: number, spanNs: number, stepNs: number, ascii: boolean): string {
  const suits = (unitNs: number) => spanNs >= 2 * unitNs && (unitNs <= 1e9 || stepNs % unitNs === 0);
  const { unit, ns: unitNs } = UNITS.findLast((it) => suits(it.ns)) ?? UNITS[0];
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(stepNs / unitNs) - 1e-9)));
  return `${(ns / unitNs).toFixed(decimals)} ${ascii && unit === "µs" ? "us" : unit}`;
}

/** Columns from one mark to the next at least. */
const MARK_COLUMNS_MIN = 14;

/** Marks at round times, each a tick in its column followed by its time. */
export function axisLine(fromNs: number, toNs: number, columns: number, ascii: boolean): string {
  const nsPerColumn = (toNs - fromNs) / columns;
  const stepNs = roundStep(nsPerColumn * MARK_COLUMNS_MIN);
  let line = "";
  for (let ns = Math.ceil(fromNs / stepNs) * stepNs; ns < toNs; ns += stepNs) {
    const column = Math.floor((ns - fromNs) / nsPerColumn);
    if (column < line.length || column >= columns) continue;
    line = `${line.padEnd(column)}${ascii ? "|" : "│"}${timeText(ns, Math.max(Math.abs(fromNs), Math.abs(toNs)), stepNs, ascii)} `;
  }
  return fitted(line.trimEnd(), columns, ascii);
}

/** The least of 1, 2 and 5 times a power of ten, of units below a minute, that is not less; then of round minutes and hours. */
function roundStep(leastNs: number): number {
  for (const seconds of [60, 120, 300, 600, 1800, 3600, 7200, 18_000, 43_200, 86_400])
    if (leastNs > 50e9 && leastNs <= seconds * 1e9) return seconds * 1e9;
  const power = 10 ** Math.floor(Math.log10(Math.max(leastNs, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= leastNs) ?? 10 * power;
}
