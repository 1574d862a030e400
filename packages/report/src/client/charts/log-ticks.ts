/** Marks of an axis of times on a logarithmic scale. */
import { formatNs } from "../../shared/format.ts";

export interface AxisMarks {
  /** Logarithms of ms, ascending. */
  readonly at: readonly number[];
  readonly texts: readonly string[];
}

/** From one mark to the next at least: a text is some 45 wide. */
const gapPixels = 55;
/** Fewer marks do not show where a value lies: then they are evenly spaced in the values. */
const marksMin = 3;
/** Of each power of ten. */
const choices: readonly (readonly number[])[] = [
  [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9],
  [1, 1.5, 2, 3, 4, 5, 7],
  [1, 2, 3, 5],
  [1, 2, 5],
  [1, 3],
  [1],
];

/** Round values, as many as there is room for, and at least two. @param from Logarithm of ms. @param width In CSS pixels. */
export function logTicks(from: number, to: number, width: number): AxisMarks {
  const gap = (gapPixels / width) * (to - from);
  const all = choices.map((factors) => roundLogs(from, to, factors));
  const at =
    all.find((marks) => marks.every((log, i) => i === 0 || log - (marks[i - 1] ?? 0) >= gap)) ??
    thinned(all.at(-1) ?? [], gap);
  if (at.length < 2 || (at.length < marksMin && to - from < 1)) return linearTicks(from, to, gap);
  return { at, texts: at.map((log) => formatNs(10 ** log * 1e6)) };
}

function roundLogs(from: number, to: number, factors: readonly number[]): number[] {
  const found: number[] = [];
  for (let power = Math.floor(from); power <= Math.ceil(to); power++)
    for (const factor of factors) found.push(power + Math.log10(factor));
  return found.filter((at) => at >= from && at <= to);
}

/** Of powers of ten that are too close: every second, every third and so on. */
function thinned(powers: readonly number[], gap: number): number[] {
  const every = Math.ceil(gap);
  return powers.filter((_, i) => i % every === 0);
}

/** Multiples of 1, 2 or 5 of a power of ten, told in one unit with the digits that tell them apart. */
function linearTicks(from: number, to: number, gap: number): AxisMarks {
  const fromNs = 10 ** from * 1e6;
  const toNs = 10 ** to * 1e6;
  const stepNs = stepOf(fromNs, toNs, gap);
  const [unit, unitNs] = units.find(([, size]) => toNs >= size) ?? ["ns", 1];
  const decimals = Math.min(15, Math.max(0, Math.ceil(-Math.log10(stepNs / unitNs) - 1e-9)));
  const fitting = multiples(fromNs, toNs, stepNs);
  // The step may be too short for its largest values, where a longer one has no two marks.
  const isFitting = Math.log10(toNs / (toNs - stepNs)) >= gap;
  const values = isFitting ? fitting : fitting.filter((_, i) => i === 0 || i === fitting.length - 1);
  return {
    at: values.map((ns) => Math.log10(ns / 1e6)),
    texts: values.map((ns) => `${(ns / unitNs).toFixed(decimals)} ${unit}`),
  };
}

const units: readonly (readonly [string, number])[] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
];

/** The shortest step whose marks are far enough apart, the largest values of them the closest; or one with two marks. */
function stepOf(fromNs: number, toNs: number, gap: number): number {
  let found = 0;
  for (let power = Math.floor(Math.log10(toNs - fromNs)) - 3; ; power++)
    for (const factor of [1, 2, 5]) {
      const step = factor * 10 ** power;
      if (found > 0 && multiples(fromNs, toNs, step).length < 2) return found;
      found = step;
      if (step >= toNs || Math.log10(toNs / (toNs - step)) >= gap) return found;
    }
}

function multiples(fromNs: number, toNs: number, stepNs: number): number[] {
  const values: number[] = [];
  for (let i = Math.ceil(fromNs / stepNs); i * stepNs <= toNs; i++) values.push(i * stepNs);
  return values;
}
