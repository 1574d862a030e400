import fc from "fast-check";
import { expect, test } from "vitest";
import { Lines } from "./lines.ts";
import { StateSet } from "./state-set.ts";

test("states are numbered as they come, each once", () => {
  const tuples = fc.array(fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 40 }), fc.constantFrom(0, 1, 2 ** 31 - 1)), {
    maxLength: 6000,
    size: "max",
  });
  fc.assert(
    fc.property(tuples, (states) => {
      const set = new StateSet(3);
      const twin = new Map<string, number>();
      for (const state of states) {
        const expected = twin.get(state.join()) ?? twin.size;
        twin.set(state.join(), expected);
        expect(set.add(state)).toBe(expected);
      }
      expect(set.size).toBe(twin.size);
      for (const [text, id] of twin) expect(set.at(id).join()).toBe(text);
    }),
    { numRuns: 20 },
  );
});

test("a line is what was pushed and not popped, and equal lines have equal numbers", () => {
  const commands = fc.array(fc.option(fc.nat({ max: 3 })));
  fc.assert(
    fc.property(fc.array(commands, { minLength: 1 }), (runs) => {
      const lines = new Lines();
      const ids = new Map<string, number>();
      for (const run of runs) {
        let line = 0;
        const twin: number[] = [];
        for (const message of run) {
          if (message !== null) {
            line = lines.push(line, message);
            twin.push(message);
          } else if (twin.length > 0) {
            expect(lines.head(line)).toBe(twin[0]);
            line = lines.pop(line);
            twin.shift();
          }
          expect(lines.messages(line)).toEqual(twin);
          expect(line).toBe(ids.get(twin.join()) ?? line);
          ids.set(twin.join(), line);
        }
      }
      expect(new Set(ids.values()).size).toBe(ids.size);
    }),
  );
});
