import fc from "fast-check";
import { expect, test } from "vitest";
import { choices, cluster, graphOf } from "../test/cover-graphs.ts";
import { largeTemplate } from "../test/cover-large.ts";
import { Descent } from "./cover-descent.ts";

function descentOf(reads: readonly (readonly number[])[]): Descent {
  return new Descent(largeTemplate(cluster, reads, () => 1).template);
}

test("ways meet where they join", () => {
  // 0 → {1, 2}, {1, 2} → 3 → 4
  const descent = descentOf([[], [0], [0], [1, 2], [3]]);
  expect(descent.meet([1, 2])).toBe(3);
  expect(descent.meet([0, 4])).toBe(4);
  expect(descent.meet([1])).toBe(1);
  expect(descent.meet([1, 1])).toBe(1);
  expect(descent.meet([])).toBe(-1);
});

test("a way that ends on the side does not hide the main one", () => {
  // 0 → {1, 2}, 2 → 3; 1 ends.
  const descent = descentOf([[], [0], [0], [2]]);
  expect(descent.meet([0, 3])).toBe(3);
  expect(descent.meet([1, 2])).toBe(-1);
  expect(descent.deepest([1, 2])).toBe(2);
  expect(descent.deepest([])).toBe(-1);
});

test("what it says comes after operators is one of them, or a descendant of all others", () => {
  let met = 0;
  fc.assert(
    fc.property(choices(14), fc.array(fc.nat(30), { minLength: 1, maxLength: 4 }), (choice, picks) => {
      const { template } = graphOf(choice);
      const { operators, order } = template;
      const after = operators.map(() => new Set<number>());
      for (const index of [...order].reverse()) {
        for (const next of operators[index]?.successors ?? []) {
          after[index]?.add(next);
          for (const later of after[next] ?? []) after[index]?.add(later);
        }
      }
      const asked = picks.map((pick) => pick % operators.length);
      const found = new Descent(template).meet(asked);
      if (found < 0) return;
      met += asked.length > 1 ? 1 : 0;
      for (const operator of asked) expect(operator === found || after[operator]?.has(found)).toBe(true);
    }),
    { numRuns: 200 },
  );
  expect(met).toBeGreaterThan(20);
});

test("meets far away on a long chain are found in few steps", () => {
  const length = 100_000;
  const descent = descentOf(Array.from({ length }, (_, i) => (i === 0 ? [] : [i - 1])));
  const asked = Array.from({ length: 20_000 }, (_, i) => i);
  expect(asked.filter((i) => descent.meet([i, length - 1 - i]) !== length - 1 - i)).toEqual([]);
}, 60_000);
