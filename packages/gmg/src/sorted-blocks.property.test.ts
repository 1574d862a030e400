import fc from "fast-check";
import { expect, test } from "vitest";
import { SortedBlocks } from "./sorted-blocks.ts";

test("is a sorted set of what was added and not removed", () => {
  fc.assert(
    fc.property(
      // Runs of neighbours, up and down, fill and empty blocks.
      fc.array(fc.record({ from: fc.nat(2000), count: fc.integer({ min: 1, max: 600 }), adds: fc.boolean() }), {
        maxLength: 12,
      }),
      (runs) => {
        const list = new SortedBlocks<number>((a, b) => a - b);
        const twin = new Set<number>();
        for (const { from, count, adds } of runs) {
          for (let item = from; item < from + count; item++) {
            if (adds && !twin.has(item)) {
              list.add(item);
              twin.add(item);
            } else if (!adds) expect(list.remove(item)).toBe(twin.delete(item));
          }
          expect([...list]).toEqual([...twin].sort((a, b) => a - b));
          expect(list.size).toBe(twin.size);
          for (const item of [from - 1, from, from + count]) expect(list.has(item)).toBe(twin.has(item));
        }
      },
    ),
  );
});
