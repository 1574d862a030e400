/** Marks of a time axis. */
const minuteNs = 60e9;
const longSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** The shortest readable step of which at most `count` lie in the stretch: 1, 2, 5 × a power of ten, above a second as on a clock. */
export function tickStepNs(lengthNs: number, count: number): number {
  const wanted = lengthNs / Math.max(1, count);
  for (const seconds of longSteps) if (wanted > 0.5e9 && seconds * 1e9 >= wanted) return seconds * 1e9;
  if (wanted > 1440 * minuteNs) return Math.ceil(wanted / (1440 * minuteNs)) * 1440 * minuteNs;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, wanted)));
  for (const factor of [1, 2, 5]) if (factor * power >= wanted) return factor * power;
  return 10 * power;
}

/** Multiples of the step from one time to another. */
export function ticks(fromNs: number, toNs: number, stepNs: number): number[] {
  const marks: number[] = [];
  for (let i = Math.ceil(fromNs / stepNs - 1e-9); i * stepNs <= toNs; i++) marks.push(i * stepNs);
  return marks;
}
