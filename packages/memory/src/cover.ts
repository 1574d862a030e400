/**
 * Covers: chains of holdings that can never be there together, in shares that add up to 1 for each holding. At any moment a
 * chain has at most one holding there, beside permanent ones before it, so that it holds at most its largest share; all
 * chains together hold everything. That is so for whatever bytes, so a cover found once bounds every instance.
 */
import { leastChains } from "./cover-flow.ts";
import type { HoldingOrder, Moment } from "./cover-order.ts";

export interface Cover {
  /** The moments it speaks of. */
  readonly moment: Moment;
  /** How many holdings it is about. */
  readonly holdings: number;
  /** Per chain: where it starts in `members`; one more entry closes the last. */
  readonly chainStart: Int32Array;
  /** Indices of holdings, each before the next one of its chain. */
  readonly members: Int32Array;
  /** The share of the holding that the chain has, in units of 1 / `SHARE_UNITS`, above 0. */
  readonly shares: Int32Array;
}

/** A power of two, so that a share of whole bytes below 2^53 is exact in two parts. */
export const SHARE_UNITS = 2 ** 20;

/**
 * The cover that is exact for the order at the given weights: bytes that are expected in some proportion. Cost of `leastChains`.
 */
export function coverOf(order: HoldingOrder, moment: Moment, weights: ArrayLike<number>): Cover {
  const scaled = new Float64Array(order.count);
  let most = 1;
  for (const x of order.sorted) most = Math.max(most, weights[x] as number);
  // Each carries something, so that each is in a chain.
  for (const x of order.sorted) scaled[x] = Math.max(1, Math.round(((weights[x] as number) / most) * SHARE_UNITS));
  const chains = leastChains(order, scaled);
  const carried = new Float64Array(order.count);
  for (const { members, amount } of chains) for (const x of members) carried[x] = (carried[x] as number) + amount;
  const before = new Float64Array(order.count);
  const builder = new CoverBuilder(moment, order.count);
  for (const { members, amount } of chains) {
    for (const x of members) {
      const all = carried[x] as number;
      const from = before[x] as number;
      before[x] = from + amount;
      // Rounded at both ends, so that the shares of a holding add up to 1 exactly.
      builder.add(x, unitsOf(from + amount, all) - unitsOf(from, all));
    }
    builder.endChain();
  }
  return builder.finish();
}

function unitsOf(part: number, whole: number): number {
  return Math.floor((part * SHARE_UNITS) / whole);
}

export class CoverBuilder {
  readonly #moment: Moment;
  readonly #holdings: number;
  readonly #chainStart = [0];
  readonly #members: number[] = [];
  readonly #shares: number[] = [];

  constructor(moment: Moment, holdings: number) {
    this.#moment = moment;
    this.#holdings = holdings;
  }

  add(holding: number, share: number): void {
    if (share === 0) return;
    this.#members.push(holding);
    this.#shares.push(share);
  }

  endChain(): void {
    if (this.#chainStart.at(-1) !== this.#members.length) this.#chainStart.push(this.#members.length);
  }

  finish(): Cover {
    return {
      moment: this.#moment,
      holdings: this.#holdings,
      chainStart: Int32Array.from(this.#chainStart),
      members: Int32Array.from(this.#members),
      shares: Int32Array.from(this.#shares),
    };
  }
}

/**
 * The most bytes that holdings of these bytes can have at once, by this cover; at its moments. Whole bytes, exact to 2^53: never too low, and at most one
 * byte per chain too high, which is nothing where all are multiples of a usual granularity and the result is rounded down to one.
 * Holdings may be permanent that were not when the cover was made: what comes after them in a chain is then added to them. Linear in the cover.
 * @param permanent per holding, 1 where it may stay.
 */
export function coverBytes(cover: Cover, bytes: ArrayLike<number>, permanent: ArrayLike<number>): number {
  const { chainStart, members, shares } = cover;
  let total = 0;
  for (let chain = 0; chain + 1 < chainStart.length; chain++) {
    let staying = 0;
    let most = 0;
    for (let i = chainStart[chain] as number; i < (chainStart[chain + 1] as number); i++) {
      const x = members[i] as number;
      const part = shareOf(bytes[x] as number, shares[i] as number);
      if (staying + part > most) most = staying + part;
      if (permanent[x] === 1) staying += part;
    }
    total += most;
  }
  return total;
}

/** Bytes times share, rounded up. */
export function shareOf(bytes: number, share: number): number {
  if (share === SHARE_UNITS) return bytes;
  const low = bytes % SHARE_UNITS;
  return ((bytes - low) / SHARE_UNITS) * share + Math.ceil((low * share) / SHARE_UNITS);
}
