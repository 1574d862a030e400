import type { CompiledPartition } from "@slicescheduler/templates";
import fc from "fast-check";
import { expect, test } from "vitest";
import { heaviestAntichain } from "../test/cover-antichain.ts";
import { type Choice, choices, graphOf } from "../test/cover-graphs.ts";
import { type Cover, coverBytes, coverOf, SHARE_UNITS, shareOf } from "./cover.ts";
import { Ancestry } from "./cover-ancestry.ts";
import { Descent } from "./cover-descent.ts";
import { leastChains } from "./cover-flow.ts";
import { GreedyCoverer } from "./cover-greedy.ts";
import { type HoldingOrder, type Moment, orderHoldings } from "./cover-order.ts";
import { lifetimesOf } from "./lifetimes.ts";

const moments = fc.constantFrom<Moment>("any", "rest");
const graphs = choices(9, fc.integer({ min: 1, max: 2 }));

/** Every accelerator of a graph with its order. */
function ordersOf(choice: Choice, moment: Moment) {
  const { template } = graphOf(choice);
  const { acceleratorOf } = template.partitions[0] as CompiledPartition;
  const lifetimes = [...lifetimesOf(template, acceleratorOf).values()];
  return {
    template,
    places: lifetimes.map((there) => ({
      lifetimes: there,
      order: orderHoldings(there.holdings, Ancestry.of(template, there.holdings) as Ancestry, moment),
      fixed: Uint8Array.from(there.holdings, ({ permanent }) => (permanent ? 1 : 0)),
    })),
  };
}

/** Bytes per holding, from a seed. */
function bytesFrom(picks: readonly number[], count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, x) => picks[x % picks.length] ?? 0);
}

const picks = fc.array(fc.oneof(fc.nat(20), fc.nat(1e6), fc.nat(2 ** 40)), { minLength: 1, maxLength: 9 });

function chainsOf({ chainStart, members, shares }: Cover): { holding: number; share: number }[][] {
  return Array.from({ length: chainStart.length - 1 }, (_, chain) => {
    const [from, to] = [chainStart[chain] as number, chainStart[chain + 1] as number];
    return Array.from(members.subarray(from, to), (holding, i) => ({ holding, share: shares[from + i] as number }));
  });
}

function expectCover(cover: Cover, order: HoldingOrder): void {
  const covered = new Map<number, number>();
  for (const chain of chainsOf(cover)) {
    chain.forEach(({ holding, share }, i) => {
      expect(share).toBeGreaterThan(0);
      covered.set(holding, (covered.get(holding) ?? 0) + share);
      const next = chain[i + 1];
      if (next !== undefined) expect(order.before(holding, next.holding)).toBe(true);
    });
  }
  expect([...covered.keys()].sort((x, y) => x - y)).toEqual([...order.sorted].sort((x, y) => x - y));
  for (const share of covered.values()) expect(share).toBe(SHARE_UNITS);
}

test("the chains of a least flow carry every weight, and no more in all than the heaviest antichain", () => {
  fc.assert(
    fc.property(
      graphs,
      moments,
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 9 }),
      (choice, moment, some) => {
        for (const { order } of ordersOf(choice, moment).places) {
          const weights = bytesFrom(some, order.count);
          const chains = leastChains(order, weights);
          const total = chains.reduce((sum, { amount }) => sum + amount, 0);
          expect(total).toBe(heaviestAntichain(order.sorted, order.before.bind(order), weights));
          for (const x of order.sorted) {
            const carried = chains.reduce((sum, { members, amount }) => sum + (members.includes(x) ? amount : 0), 0);
            expect(carried).toBeGreaterThanOrEqual(weights[x] as number);
          }
        }
      },
    ),
    { numRuns: 100 },
  );
}, 60_000);

test("covers are made of chains, and the shares of each holding add up to 1", () => {
  fc.assert(
    fc.property(graphs, moments, picks, fc.constantFrom(2, Infinity), (choice, moment, some, ratioMax) => {
      const { template, places } = ordersOf(choice, moment);
      const parts = places.map(({ lifetimes }) => ({ lifetimes, weights: bytesFrom(some, lifetimes.holdings.length) }));
      const greedy = new GreedyCoverer(template, new Descent(template), parts).covers({ moment, ratioMax });
      places.forEach(({ order }, i) => {
        expectCover(coverOf(order, moment, bytesFrom(some, order.count)), order);
        const cover = greedy[i] as Cover;
        if (moment === "any") expectCover(cover, order);
        // At rest it leaves out only what nobody reads, not all that is gone by then.
        else expectCover(cover, { ...order, before: order.before.bind(order), sorted: [...new Set(cover.members)] });
        expect(order.sorted.every((x) => cover.members.includes(x))).toBe(true);
      });
    }),
    { numRuns: 100 },
  );
}, 60_000);

test("a cover is exact at its own weights, and never below the heaviest antichain at any other", () => {
  fc.assert(
    fc.property(graphs, moments, picks, picks, (choice, moment, own, others) => {
      for (const { order, fixed } of ordersOf(choice, moment).places) {
        const weights = bytesFrom(own, order.count);
        const cover = coverOf(order, moment, weights);
        const before = order.before.bind(order);
        const exact = heaviestAntichain(order.sorted, before, weights);
        const bytes = coverBytes(cover, weights, fixed);
        expect(bytes).toBeGreaterThanOrEqual(exact);
        expect(bytes).toBeLessThanOrEqual(exact * (1 + 1e-4) + cover.members.length + 1e-4 * Math.max(...weights));
        const other = bytesFrom(others, order.count);
        expect(coverBytes(cover, other, fixed)).toBeGreaterThanOrEqual(heaviestAntichain(order.sorted, before, other));
      }
    }),
    { numRuns: 100 },
  );
}, 60_000);

test("holdings that turn out permanent are added to what comes after them", () => {
  fc.assert(
    fc.property(
      graphs,
      moments,
      picks,
      fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
      (choice, moment, some, stay) => {
        for (const { order, fixed } of ordersOf(choice, moment).places) {
          const bytes = bytesFrom(some, order.count);
          const permanent = fixed.map((isFixed, x) => (isFixed === 1 || stay[x % stay.length] === true ? 1 : 0));
          const before = (x: number, y: number) => permanent[x] === 0 && order.before(x, y);
          const cover = coverOf(order, moment, bytes);
          const exact = heaviestAntichain(order.sorted, before, bytes);
          expect(coverBytes(cover, bytes, permanent)).toBeGreaterThanOrEqual(exact);
        }
      },
    ),
    { numRuns: 100 },
  );
}, 60_000);

test("a share of bytes is exact and rounded up, to 2^53", () => {
  const bytes = fc.oneof(fc.maxSafeNat(), fc.nat(100), fc.constant(Number.MAX_SAFE_INTEGER));
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: SHARE_UNITS }), (whole, share) => {
      const exact = (BigInt(whole) * BigInt(share) + BigInt(SHARE_UNITS) - 1n) / BigInt(SHARE_UNITS);
      expect(BigInt(shareOf(whole, share))).toBe(exact);
    }),
  );
}, 60_000);
