import type { CompiledPartition } from "@slicescheduler/templates";
import fc from "fast-check";
import { expect, test } from "vitest";
import { choices, graphOf } from "../test/cover-graphs.ts";
import { exploreAll } from "../test/cover-twin.ts";
import { Ancestry } from "./cover-ancestry.ts";
import { orderHoldings } from "./cover-order.ts";
import { type Holding, lifetimesOf } from "./lifetimes.ts";

/** Two that nobody reads, of different operators on one accelerator, are never there together: it runs one at a time. */
function isUnread({ kind, permanent, freedAfter, issuedAfter, bornWith }: Holding): boolean {
  const isRead = issuedAfter.length > 0 || freedAfter.some((operator) => operator !== bornWith);
  return kind === "output" && !permanent && !isRead;
}

test("two holdings can be there together in some order and timing exactly when neither is before the other", () => {
  const seen = { before: 0, together: 0 };
  fc.assert(
    fc.property(choices(6), fc.boolean(), (choice, heldUntilIssued) => {
      const { template, binding, inputs } = graphOf(choice);
      const { acceleratorOf } = template.partitions[0] as CompiledPartition;
      const lifetimes = lifetimesOf(template, acceleratorOf, { heldUntilIssued });
      const together = new Set<string>();
      exploreAll({ binding, acceleratorOf, accelerators: 3, inputs, heldUntilIssued }, (state) => {
        for (const [a, { holdings }] of lifetimes) {
          const there = holdings.flatMap(({ members }, x) => (members.some((t) => state.isThere(t, a)) ? [x] : []));
          for (const x of there) for (const y of there) together.add(`${a} ${x} ${y}`);
        }
      });
      for (const [a, { holdings }] of lifetimes) {
        const order = orderHoldings(holdings, Ancestry.of(template, holdings) as Ancestry, "any");
        holdings.forEach((one, x) => {
          expect(order.before(x, x)).toBe(false);
          holdings.forEach((other, y) => {
            // Of slots an instance has a copy or a growth; the twin of the bounds sees to them.
            if (y <= x || one.slot >= 0 || other.slot >= 0) return;
            const isOrdered = order.before(x, y) || order.before(y, x);
            const isTogether = together.has(`${a} ${x} ${y}`);
            if (isOrdered) expect(isTogether).toBe(false);
            else if (!isUnread(one) && !isUnread(other)) expect(isTogether).toBe(true);
            seen[isOrdered ? "before" : "together"]++;
          });
        });
      }
    }),
    { numRuns: Number(process.env["RUNS"] ?? 80) },
  );
  expect(Math.min(seen.before, seen.together)).toBeGreaterThan(10);
}, 60_000);

test("the order is transitive, and `next` and `sorted` say the same as `before`", () => {
  fc.assert(
    fc.property(choices(12), fc.boolean(), fc.constantFrom("any", "rest"), (choice, heldUntilIssued, moment) => {
      const { template } = graphOf(choice);
      const { acceleratorOf } = template.partitions[0] as CompiledPartition;
      for (const { holdings } of lifetimesOf(template, acceleratorOf, { heldUntilIssued }).values()) {
        const order = orderHoldings(holdings, Ancestry.of(template, holdings) as Ancestry, moment);
        order.sorted.forEach((x, i) => {
          expect(order.sorted.slice(0, i).some((y) => order.before(x, y))).toBe(false);
          const after = order.sorted.filter((y) => order.before(x, y));
          for (const y of after) for (const z of order.sorted) if (order.before(y, z)) expect(after).toContain(z);
          const direct = after.filter((y) => !after.some((between) => order.before(between, y)));
          expect(order.next[x]).toEqual(direct.sort((y, z) => y - z));
        });
      }
    }),
    { numRuns: 100 },
  );
}, 60_000);
