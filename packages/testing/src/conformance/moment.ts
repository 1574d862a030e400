/** When something happened: by the order in which it was heard or said, and by the backend's clock. */
export interface Moment {
  readonly order: number;
  readonly nowNs: number;
}

/** What is expected of an observed duration where it cannot be right; null where it can. Devices measure by clocks of their own. */
export function observedWords(observedNs: number, sinceNs: number, nowNs: number, simulated: boolean): string | null {
  const passedNs = nowNs - sinceNs;
  const mostNs = simulated ? passedNs : passedNs * 1.1 + 1e6;
  if (Number.isSafeInteger(observedNs) && observedNs >= 1 && observedNs <= mostNs) return null;
  return `a whole number from 1 to ${Math.floor(mostNs)}, as ${passedNs} ns have passed`;
}
