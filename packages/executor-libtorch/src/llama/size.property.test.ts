import { fc, test } from "@fast-check/vitest";
import { compileExpression } from "@slicescheduler/templates";
import { describe, expect } from "vitest";
import { largest, Size } from "./size.ts";

const names = ["capacity", "past", "tokens"];

/** A size, and what it is worth as a function of the symbols, computed in the obvious way. */
interface Drawn {
  readonly size: Size;
  readonly worth: (symbols: Readonly<Record<string, number>>) => number;
}

const drawn: fc.Arbitrary<Drawn> = fc.letrec<{ any: Drawn }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.integer({ min: -50, max: 50 }).map((value): Drawn => ({ size: Size.of(value), worth: () => value })),
    fc.constantFrom(...names).map((name): Drawn => ({ size: Size.of(name), worth: (symbols) => symbols[name] ?? 0 })),
    fc.tuple(tie("any"), fc.constantFrom("plus", "minus", "times"), tie("any")).map(([a, operation, b]): Drawn => {
      const size = a.size[operation as "plus" | "minus" | "times"](b.size);
      const worth: Drawn["worth"] = (symbols) => {
        const [x, y] = [a.worth(symbols), b.worth(symbols)];
        return operation === "plus" ? x + y : operation === "minus" ? x - y : x * y;
      };
      return { size, worth };
    }),
  ),
})).any;

const symbols = fc.record(Object.fromEntries(names.map((name) => [name, fc.integer({ min: 0, max: 9 })])));

describe("sizes", () => {
  test.prop([drawn, symbols])("are worth what they were made of", ({ size, worth }, values) => {
    expect(size.evaluate(values)).toBeCloseTo(worth(values), 6);
  });

  test.prop([drawn, symbols])("read as expressions of a template with the same worth", ({ size, worth }, values) => {
    const program = compileExpression(`${size}`, names);
    expect(program.evaluate(names.map((name) => values[name] ?? 0))).toBeCloseTo(worth(values), 6);
  });

  test.prop([drawn, drawn, symbols])("cover another only where they are never less", (a, b, values) => {
    if (a.size.covers(b.size)) expect(a.worth(values)).toBeGreaterThanOrEqual(b.worth(values));
    const sum = a.size.plus(Size.of("past").times(3)).plus(1);
    expect(sum.covers(a.size)).toBe(true);
    expect(a.size.covers(sum)).toBe(false);
  });

  test.prop([fc.array(drawn, { minLength: 1, maxLength: 5 }), symbols])(
    "the largest of several is the largest",
    (several, values) => {
      const program = compileExpression(largest(several.map(({ size }) => size)), names);
      const expected = Math.max(...several.map(({ worth }) => worth(values)));
      expect(program.evaluate(names.map((name) => values[name] ?? 0))).toBeCloseTo(expected, 6);
    },
  );

  test.prop([drawn])("are constants only without symbols", ({ size, worth }) => {
    const at = (value: number) => worth(Object.fromEntries(names.map((name) => [name, value])));
    if (size.constant !== undefined) expect([at(3), at(8)]).toEqual([size.constant, size.constant]);
  });
});

test("no size at all is 0", () => {
  expect(largest([])).toBe("0");
  expect(`${Size.of("past").minus("past")}`).toBe("0");
});
