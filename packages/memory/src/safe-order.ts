/**
 * The Banker's test (Dijkstra, EWD 623; Habermann 1969): holders whose claims together exceed what is there can all run to
 * their end if there is an order in which each can get the rest of its claim from what is free and what those before it gave
 * back. The more is free the more can go on, so trying in any order finds one where there is one.
 */
import type { AcceleratorIndex } from "@slicescheduler/templates";

/** What a holder has taken and may come to take in all, in bytes per accelerator of the cluster. */
export interface Holder {
  /** Where its claim is not 0. */
  readonly accelerators: readonly AcceleratorIndex[];
  readonly reservedBytes: Float64Array;
  readonly usedBytes: Float64Array;
}

/** Holders that cannot all end, and what is free when nobody can go on. */
export interface Stuck<H extends Holder> {
  readonly holders: readonly H[];
  readonly freeBytes: Float64Array;
}

/**
 * An order in which all holders can end, tried in the order given, or those that get stuck. Only accelerators that are
 * `contended`, where claims together exceed the room, can be in anybody's way. Costs O(holders) when the order given is still a safe
 * one, O(holders²) at most.
 * @param freeBytes per accelerator, beside what the holders use; not changed.
 */
export function safeOrder<H extends Holder>(
  holders: readonly H[],
  freeBytes: Float64Array,
  contended: (accelerator: AcceleratorIndex) => boolean,
): { readonly order: H[]; readonly stuck: Stuck<H> | null } {
  return orderWithin(holders, freeBytes.slice(), contended);
}

/** As `safeOrder`, but `free` is changed: to what is free in the end on accelerators that are contended. */
export function orderWithin<H extends Holder>(
  holders: readonly H[],
  free: Float64Array,
  contended: (accelerator: AcceleratorIndex) => boolean,
): { readonly order: H[]; readonly stuck: Stuck<H> | null } {
  const order: H[] = [];
  let waiting: readonly H[] = holders;
  while (waiting.length > 0) {
    const left: H[] = [];
    for (const holder of waiting) {
      if (!canEnd(holder, free, contended)) left.push(holder);
      else {
        order.push(holder);
        for (const a of holder.accelerators) free[a] = (free[a] as number) + (holder.usedBytes[a] as number);
      }
    }
    if (left.length === waiting.length) return { order, stuck: { holders: left, freeBytes: free } };
    waiting = left;
  }
  return { order, stuck: null };
}

function canEnd(
  { accelerators, reservedBytes, usedBytes }: Holder,
  free: Float64Array,
  contended: (accelerator: AcceleratorIndex) => boolean,
): boolean {
  for (const a of accelerators) {
    if (contended(a) && (reservedBytes[a] as number) - (usedBytes[a] as number) > (free[a] as number)) return false;
  }
  return true;
}
