/**
 * What kind of promise was broken: `overCapacity` an accelerator over its capacity, or an allocation refused; `standstills` work
 * that waits for ever; `lost` an accepted instance without outcome; `doubled` two outcomes, or an operator that ran twice
 * without cause; `leakedBytes` memory that nobody needs and nobody gave back; `broken` any other invariant.
 */
export type ViolationKind = "overCapacity" | "standstills" | "lost" | "doubled" | "leakedBytes" | "broken";

/** One broken promise. */
export interface Violation {
  readonly kind: ViolationKind;
  readonly words: string;
  /** Bytes where it is about leaked bytes, else how many. */
  readonly amount: number;
}
