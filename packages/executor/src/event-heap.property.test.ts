import fc from "fast-check";
import { expect, test } from "vitest";
import { EventHeap, type HeapEntry } from "./event-heap.ts";

test("what stays comes out in order, whatever was taken out in between", () => {
  const entries = fc.array(fc.tuple(fc.nat(9), fc.nat(2), fc.nat(2)));
  fc.assert(
    fc.property(entries, entries, fc.integer({ min: 1, max: 5 }), (before, after, every) => {
      const made = [...before, ...after].map(([atNs, kind, number], sequence) => ({ atNs, kind, number, sequence }));
      const heap = new EventHeap<HeapEntry>();
      for (const entry of made.slice(0, before.length)) heap.push(entry);
      const stays = ({ sequence }: HeapEntry) => sequence % every === 0;
      heap.keep(stays);
      for (const entry of made.slice(before.length)) heap.push(entry);
      const left = made.filter((entry) => entry.sequence >= before.length || stays(entry));
      left.sort((a, b) => a.atNs - b.atNs || a.kind - b.kind || a.number - b.number || a.sequence - b.sequence);
      expect(heap.size).toBe(left.length);
      expect(left.map(() => heap.pop())).toEqual(left);
      expect(heap.pop()).toBeUndefined();
    }),
  );
});
