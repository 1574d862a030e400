import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { columnOf, pack, unpack } from "./columns.ts";

const wholeNumbers = fc.array(
  fc.oneof(fc.integer({ min: -(2 ** 51), max: 2 ** 51 }), fc.integer({ min: -300, max: 300 }), fc.constant(0)),
  { maxLength: 200 },
);

test.prop([fc.dictionary(fc.string({ minLength: 1 }), wholeNumbers, { maxKeys: 5 }), fc.jsonValue()])(
  "what was packed comes back as it was",
  (columns, meta) => {
    const named = Object.fromEntries(Object.entries(columns).filter(([name]) => name !== "__proto__"));
    const back = unpack(pack(meta, named));
    expect(back.meta).toEqual(JSON.parse(JSON.stringify(meta)));
    for (const [name, values] of Object.entries(named)) {
      expect(Array.from(columnOf(back, name))).toEqual(values.map((value) => value + 0));
    }
  },
);

test.prop([wholeNumbers, fc.double({ min: 0, max: 1, maxExcluded: true })])(
  "bytes that are cut short are refused, not read beyond",
  (values, share) => {
    const bytes = pack({}, { values: [...values, 1] });
    expect(() => unpack(bytes.subarray(0, Math.floor(share * bytes.length)))).toThrow(TypeError);
  },
);

test("numbers that are not whole are refused", () => {
  expect(() => pack({}, { a: [1, 0.5] })).toThrow("a column holds 0.5 at 1");
  expect(() => pack({}, { a: [2 ** 51 + 1] })).toThrow(TypeError);
  expect(() => pack({}, { a: [Number.NaN] })).toThrow(TypeError);
  expect(() => columnOf(unpack(pack({}, { a: [1] })), "b")).toThrow("no packed column b");
});
