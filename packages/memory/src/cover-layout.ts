/** A template laid out: what it can hold on each accelerator, and the covers that bound it. Found once, good for every instance. */
import type { AcceleratorIndex, Cluster, Template } from "@slicescheduler/templates";
import { type Cover, coverBytes, coverOf } from "./cover.ts";
import { Ancestry } from "./cover-ancestry.ts";
import { Descent } from "./cover-descent.ts";
import { GreedyCoverer, type GreedyPart } from "./cover-greedy.ts";
import { type Moment, orderHoldings } from "./cover-order.ts";
import { type HoldingBytes, type Reference, referencesOf, referenceWeights } from "./cover-references.ts";
import { type LifetimeOptions, type Lifetimes, lifetimesOf } from "./lifetimes.ts";

export interface CoverOptions extends LifetimeOptions {
  /** With more holdings than this on an accelerator the greedy cover serves there. Default 256. */
  readonly exactHoldingsMax?: number;
}

const EXACT_HOLDINGS_MAX = 256;
/** Covers kept per accelerator and moment. */
const COVERS_MAX = 3;
/** In the second greedy cover a chain has only holdings that are so much heavier or lighter than one another. */
const LIKE_RATIO_MAX = 2;
/** A further cover is kept where those before it are that much above the least for its sizes. */
const WORTH_KEEPING = 1.01;

export interface CoveredAccelerator {
  readonly lifetimes: Lifetimes;
  /** Each by itself bounds what is there at any moment, … */
  readonly covers: readonly Cover[];
  /** … each of these, while none of the instance's operators runs there. */
  readonly restCovers: readonly Cover[];
  readonly frees: Frees;
}

/** What an operator may be the last to need: at its end as much may go, beside what is there at rest. */
export interface Frees {
  /** Operators on the accelerator. */
  readonly operators: Int32Array;
  /** Per entry of `operators`: where its holdings start in `holdings`; one more entry closes the last. */
  readonly start: Int32Array;
  readonly holdings: Int32Array;
}

/**
 * Covers for every accelerator of a layout. Up to 256 holdings on an accelerator: by least flows, about 10 ms each for LLM-like
 * graphs; above: greedily, linear.
 */
export function coverLayout(
  template: Template,
  acceleratorOf: readonly AcceleratorIndex[],
  cluster: Cluster,
  options: CoverOptions = {},
): CoveredAccelerator[] {
  const references = referencesOf(template, acceleratorOf);
  const { exactHoldingsMax = EXACT_HOLDINGS_MAX } = options;
  const large: Lifetimes[] = [];
  const covered = new Map<AcceleratorIndex, CoveredAccelerator>();
  const lifetimes = lifetimesOf(template, acceleratorOf, options);
  for (const [accelerator, here] of lifetimes) {
    const found = here.holdings.length > exactHoldingsMax ? null : coverExactly(template, here, cluster, references);
    if (found === null) large.push(here);
    else covered.set(accelerator, found);
  }
  for (const found of coverGreedily(template, large, cluster, references)) {
    covered.set(found.lifetimes.accelerator, found);
  }
  return [...lifetimes.keys()].map((accelerator) => covered.get(accelerator) as CoveredAccelerator);
}

function coverExactly(
  template: Template,
  lifetimes: Lifetimes,
  cluster: Cluster,
  references: readonly Reference[],
): CoveredAccelerator | null {
  const { holdings, accelerator } = lifetimes;
  const ancestry = Ancestry.of(template, holdings);
  if (ancestry === null) return null;
  const weights = referenceWeights(lifetimes, accelerator, cluster, references);
  const covers = (moment: Moment): Cover[] => {
    const order = orderHoldings(holdings, ancestry, moment);
    const kept: Cover[] = [];
    for (const { bytes, permanent } of weights) {
      const cover = coverOf(order, moment, bytes);
      const known = kept.reduce((least, other) => Math.min(least, coverBytes(other, bytes, permanent)), Infinity);
      if (known > coverBytes(cover, bytes, permanent) * WORTH_KEEPING) kept.push(cover);
      if (kept.length === COVERS_MAX) break;
    }
    return kept;
  };
  const lastOf = (freedAfter: readonly number[]) => ancestry.lastOf(freedAfter);
  return { lifetimes, covers: covers("any"), restCovers: covers("rest"), frees: freesOf(lifetimes, lastOf) };
}

function coverGreedily(
  template: Template,
  large: readonly Lifetimes[],
  cluster: Cluster,
  references: readonly Reference[],
): CoveredAccelerator[] {
  if (large.length === 0) return [];
  const descent = new Descent(template);
  const parts = large.map((lifetimes): GreedyPart => {
    const [first] = referenceWeights(lifetimes, lifetimes.accelerator, cluster, references.slice(0, 1));
    return { lifetimes, weights: (first as HoldingBytes).bytes };
  });
  const coverer = new GreedyCoverer(template, descent, parts);
  const cover = (moment: Moment) => {
    const mixed = coverer.covers({ moment });
    const alike = coverer.covers({ moment, ratioMax: LIKE_RATIO_MAX });
    return parts.map((_, i) => [mixed[i] as Cover, alike[i] as Cover]);
  };
  const any = cover("any");
  const rest = cover("rest");
  const lastOf = (freedAfter: readonly number[]) => {
    const last = descent.meet(freedAfter);
    return freedAfter.includes(last) ? [last] : freedAfter;
  };
  return large.map((lifetimes, i) => ({
    lifetimes,
    covers: any[i] as Cover[],
    restCovers: rest[i] as Cover[],
    frees: freesOf(lifetimes, lastOf),
  }));
}

/** @param lastOf those operators that none of the others surely comes after. */
function freesOf({ holdings }: Lifetimes, lastOf: (operators: readonly number[]) => readonly number[]): Frees {
  const byOperator = new Map<number, number[]>();
  holdings.forEach(({ permanent, freedAfter }, x) => {
    if (permanent) return;
    for (const operator of lastOf(freedAfter)) {
      const known = byOperator.get(operator);
      if (known === undefined) byOperator.set(operator, [x]);
      else known.push(x);
    }
  });
  const start = new Int32Array(byOperator.size + 1);
  let at = 0;
  for (const frees of byOperator.values()) {
    start[at + 1] = (start[at] as number) + frees.length;
    at += 1;
  }
  return {
    operators: Int32Array.from(byOperator.keys()),
    start,
    holdings: Int32Array.from([...byOperator.values()].flat()),
  };
}
