import fc from "fast-check";
import { expect, test } from "vitest";
import { type Holder, safeOrder } from "./safe-order.ts";

const ACCELERATORS = 2;

const holders = fc.array(
  fc.array(fc.record({ used: fc.nat(6), more: fc.nat(6) }), { minLength: ACCELERATORS, maxLength: ACCELERATORS }),
  { maxLength: 5 },
);

const free = fc.array(fc.nat(8), { minLength: ACCELERATORS, maxLength: ACCELERATORS });

function holderOf(bytes: readonly { readonly used: number; readonly more: number }[]): Holder {
  const reservedBytes = Float64Array.from(bytes, ({ used, more }) => used + more);
  const accelerators = [...bytes.keys()].filter((a) => (reservedBytes[a] as number) > 0);
  return { accelerators, reservedBytes, usedBytes: Float64Array.from(bytes, ({ used }) => used) };
}

/** Whether all can end one after the other in exactly this order. */
function works(order: readonly Holder[], freeBytes: readonly number[]): boolean {
  const left = [...freeBytes];
  return order.every(({ reservedBytes, usedBytes }) => {
    const fits = left.every((bytes, a) => (reservedBytes[a] as number) - (usedBytes[a] as number) <= bytes);
    for (let a = 0; a < left.length; a++) left[a] = (left[a] as number) + (usedBytes[a] as number);
    return fits;
  });
}

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length === 0) yield [];
  for (const [i, first] of items.entries()) {
    for (const rest of permutations(items.toSpliced(i, 1))) yield [first, ...rest];
  }
}

test("finds an order exactly when one of all orders works", () => {
  let safe = 0;
  let unsafe = 0;
  fc.assert(
    fc.property(holders, free, (bytes, freeBytes) => {
      const all = bytes.map(holderOf);
      const { order, stuck } = safeOrder(all, Float64Array.from(freeBytes), () => true);
      const exists = [...permutations(all)].some((each) => works(each, freeBytes));
      expect(stuck === null).toBe(exists);
      if (stuck === null) {
        safe += 1;
        expect(works(order, freeBytes)).toBe(true);
        expect(new Set(order)).toEqual(new Set(all));
      } else {
        unsafe += 1;
        // Nobody who is stuck can go on with what the others gave back.
        for (const holder of stuck.holders) expect(works([holder], [...stuck.freeBytes])).toBe(false);
        expect(new Set([...order, ...stuck.holders])).toEqual(new Set(all));
      }
    }),
    { numRuns: 500 },
  );
  expect(safe).toBeGreaterThan(50);
  expect(unsafe).toBeGreaterThan(50);
});

test("what is not contended is in nobody's way", () => {
  const holder = holderOf([
    { used: 0, more: 9 },
    { used: 0, more: 1 },
  ]);
  expect(safeOrder([holder], Float64Array.of(0, 1), (a) => a === 1).stuck).toBe(null);
  expect(safeOrder([holder], Float64Array.of(0, 1), () => true).stuck?.holders).toEqual([holder]);
});
