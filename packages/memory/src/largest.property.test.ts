import fc from "fast-check";
import { expect, test } from "vitest";
import { Largest } from "./largest.ts";

test("is the largest of what was added and not removed", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ number: fc.nat(5), adds: fc.boolean() })), (steps) => {
      const largest = new Largest();
      const twin: number[] = [];
      for (const { number, adds } of steps) {
        if (adds) {
          largest.add(number);
          twin.push(number);
        } else if (twin.includes(number)) {
          largest.remove(number);
          twin.splice(twin.indexOf(number), 1);
        }
        expect(largest.value).toBe(Math.max(0, ...twin));
      }
    }),
  );
});
