/**
 * Which holdings on an accelerator can never be there together: *x* comes before *y* when *x* is surely freed before *y*
 * can be born, whatever the order and timing. What is known at a birth is that the ancestors of its operator are done, and for a
 * copy that operator too.
 */
import { type Ancestry, addAll, addBit, hasBit, isWithin, removeAll } from "./cover-ancestry.ts";
import type { Holding } from "./lifetimes.ts";

/**
 * - `any`: at any moment.
 * - `rest`: at moments when no operator of the instance runs on the accelerator. Then an output that is there has its
 *   producer done, so that what the producer read may come before it.
 */
export type Moment = "any" | "rest";

/** A strict partial order of holdings, by index. */
export interface HoldingOrder {
  readonly count: number;
  before(x: number, y: number): boolean;
  /**
   * Indices, each after all that come before it. At `rest` those are left out that are never there then: outputs that nobody
   * reads, freed by the end of their producer.
   */
  readonly sorted: readonly number[];
  /** Per holding: those that come after it with none in between, ascending. */
  readonly next: readonly (readonly number[])[];
}

/** The order of an accelerator's holdings, exact as far as it follows from ancestors. Costs O(holdings² · operators / 32). */
export function orderHoldings(holdings: readonly Holding[], ancestry: Ancestry, moment: Moment): HoldingOrder {
  const births = holdings.map((holding) => knownAtBirth(holding, ancestry, moment));
  const ends = holdings.map(({ permanent, freedAfter, issuedAfter, sentAfter }) => {
    if (permanent) return () => false;
    const [mustEnd, mustBeIssued] = [ancestry.setOf(freedAfter), ancestry.setOf(issuedAfter)];
    return ({ done, issued }: Known) =>
      isWithin(mustEnd, done) &&
      isWithin(mustBeIssued, issued) &&
      sentAfter.every((readers) => readers.some((operator) => ancestry.isIn(done, operator)));
  });
  const isFreed = (x: number, y: number) => ends[x]?.(births[y] as Known) ?? false;
  // Whether a growth goes depends on who keeps the slot, which is only known of an instance: it stays in, before nothing.
  const there = holdings.flatMap(({ kind }, x) => (kind !== "growth" && isFreed(x, x) ? [] : [x]));
  return new MatrixOrder(holdings.length, there, (x, y) => !isFreed(x, x) && isFreed(x, y));
}

/** Operators that are surely done, and surely issued, at some moment. */
interface Known {
  readonly done: Uint32Array;
  readonly issued: Uint32Array;
}

function knownAtBirth({ kind, bornWith, freedAfter }: Holding, ancestry: Ancestry, moment: Moment): Known {
  const done = ancestry.before(bornWith, bornWith >= 0 && (kind === "copy" || moment === "rest"));
  if (kind !== "copy") return { done, issued: done };
  // It is received for a reader here that is issued, and so are all before that one. What else frees it comes after its readers.
  const issued = ancestry.beforeAll(freedAfter);
  addAll(issued, done);
  return { done, issued };
}

class MatrixOrder implements HoldingOrder {
  readonly count: number;
  readonly sorted: readonly number[];
  readonly next: readonly (readonly number[])[];
  /** Per holding: the set of those after it. */
  readonly #rows: readonly Uint32Array[];

  constructor(count: number, there: readonly number[], isBefore: (x: number, y: number) => boolean) {
    this.count = count;
    this.#rows = Array.from({ length: count }, () => new Uint32Array(Math.ceil(count / 32)));
    const after: number[][] = Array.from({ length: count }, () => []);
    for (const x of there) {
      for (const y of there) {
        if (!isBefore(x, y)) continue;
        addBit(this.#rows[x] as Uint32Array, y);
        after[x]?.push(y);
      }
    }
    // Whatever comes before x comes before all that x comes before: it has more after it than x has.
    this.sorted = [...there].sort((x, y) => (after[y]?.length ?? 0) - (after[x]?.length ?? 0) || x - y);
    this.next = after.map((later, x) => {
      const direct = (this.#rows[x] as Uint32Array).slice();
      for (const y of later) removeAll(direct, this.#rows[y] as Uint32Array);
      return later.filter((y) => hasBit(direct, y));
    });
  }

  before(x: number, y: number): boolean {
    const row = this.#rows[x];
    return row !== undefined && y >= 0 && y < this.count && hasBit(row, y);
  }
}
