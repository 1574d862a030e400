/** Numbers in words: short, with a unit, the same on the page and in the browser. */

/** `850 µs`, `42.3 ms`, `7.91 s`, `12 min 5 s`; three digits. */
export function formatNs(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  const sign = ns < 0 ? "−" : "";
  const abs = Math.abs(ns);
  if (abs < 999.5) return `${sign}${digits(abs)} ns`;
  if (abs < 999.5e3) return `${sign}${digits(abs / 1e3)} µs`;
  if (abs < 999.5e6) return `${sign}${digits(abs / 1e6)} ms`;
  if (abs < 119.95e9) return `${sign}${digits(abs / 1e9)} s`;
  const seconds = Math.round(abs / 1e9);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${sign}${minutes} min${seconds % 60 === 0 ? "" : ` ${seconds % 60} s`}`;
  return `${sign}${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? "" : ` ${minutes % 60} min`}`;
}

/** Decimal units, as capacities are declared: `64 GB`. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return "–";
  for (const [unit, size] of [
    ["TB", 1e12],
    ["GB", 1e9],
    ["MB", 1e6],
    ["kB", 1e3],
  ] as const) {
    if (Math.abs(bytes) >= size) return `${digits(bytes / size)} ${unit}`;
  }
  return `${bytes} B`;
}

/** `1,394`. */
export function formatCount(count: number): string {
  return Number.isFinite(count) ? String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",") : "–";
}

/** @param share 0…1. */
export function formatShare(share: number): string {
  return Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : "–";
}

/** A plain number with three digits: `0.775`, `1.64`, `28.1`, `1,234`. */
export function formatNumber(value: number): string {
  return Number.isFinite(value) ? digits(value) : "–";
}

/** In runs of up to two minutes times are told in seconds; in longer ones as on a clock. */
const secondsSpanNs = 120e9;

/** A time within a run that takes `spanNs`, told to `stepNs`: `12.25 s`, or `12:30` in a long run. */
export function formatTime(ns: number, stepNs: number, spanNs: number): string {
  if (spanNs > secondsSpanNs) return formatClock(ns, stepNs);
  return `${(ns / 1e9).toFixed(decimalsOf(stepNs)).replace("-", "−")} s`;
}

/** What the parts of a clock's time are, up to `untilNs`; empty where each time has its unit. */
export function clockUnit(untilNs: number, spanNs: number): string {
  if (spanNs <= secondsSpanNs) return "";
  return untilNs >= 3600e9 ? "h:min:s" : "min:s";
}

/** A time on a clock whose marks are `stepNs` apart: `0:00`, `12:30`, `12:30.250`. */
export function formatClock(ns: number, stepNs: number): string {
  const sign = ns < 0 ? "−" : "";
  const abs = Math.abs(Math.round(ns));
  const decimals = decimalsOf(stepNs);
  const unit = 10 ** (9 - decimals);
  const ticks = Math.round(abs / unit);
  const perSecond = 10 ** decimals;
  const seconds = Math.floor(ticks / perSecond);
  const fraction = decimals === 0 ? "" : `.${String(ticks % perSecond).padStart(decimals, "0")}`;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const clock = `${String(seconds % 60).padStart(2, "0")}${fraction}`;
  return hours > 0 ? `${sign}${hours}:${String(minutes).padStart(2, "0")}:${clock}` : `${sign}${minutes}:${clock}`;
}

/** Of a second. */
function decimalsOf(stepNs: number): number {
  return stepNs >= 1e9 ? 0 : Math.min(9, Math.ceil(-Math.log10(stepNs / 1e9) - 1e-9));
}

function digits(value: number): string {
  const abs = Math.abs(value);
  if (abs >= 999.5) return formatCount(value);
  if (abs >= 99.95) return value.toFixed(0);
  if (abs >= 9.995) return trimmed(value.toFixed(1));
  if (abs >= 0.9995 || abs === 0) return trimmed(value.toFixed(2));
  return trimmed(value.toPrecision(3));
}

/** `64.0` says no more than `64`. */
function trimmed(text: string): string {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}
