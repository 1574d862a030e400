import fc from "fast-check";
import { unitOf } from "./hash.ts";

const KINDS = ["heavyTailed", "extreme", "inverted", "alternating"] as const;

/** How true durations differ from what anybody expects, as plain data: each depends on its numbers alone, so that a run repeats. */
export interface Surprises {
  /**
   * `heavyTailed`: most as expected, few a thousand times and more; `extreme`: nothing, as expected, or 1000 s; `inverted`: what
   * should be short is long; `alternating`: every other instance takes a thousand times as long, so that what was learned is wrong.
   */
  readonly kind: (typeof KINDS)[number];
  readonly seed: number;
}

/** Of one duration, in nanoseconds; hundreds of them stay far below 2^53. */
const LONGEST_NS = 1e12;
const STRETCH = 1000;

export function surprises(): fc.Arbitrary<Surprises> {
  return fc.record({ kind: fc.constantFrom(...KINDS), seed: fc.nat() });
}

/** The true duration in place of the expected one, from 0 to 10^12 ns. `who` is a small number, for example of the instance. */
export function surprisedNs({ kind, seed }: Surprises, expectedNs: number, who: number, what: number): number {
  switch (kind) {
    case "heavyTailed":
      return Math.min(LONGEST_NS, expectedNs * Math.floor((1 - unitOf(seed, who, what)) ** -2));
    case "extreme": {
      const choice = Math.floor(3 * unitOf(seed, who, what));
      return choice === 0 ? 0 : choice === 1 ? expectedNs : LONGEST_NS;
    }
    case "inverted":
      return Math.ceil(STRETCH / Math.max(1, expectedNs));
    case "alternating":
      return Math.min(LONGEST_NS, who % 2 === 0 ? expectedNs : expectedNs * STRETCH);
  }
}
