import fc from "fast-check";
import { expect, test } from "vitest";
import { bestFill, type Piece } from "./fill.ts";

/** What a slice is filled with when it begins with one piece and the others follow, the longest first, as long as they fit. */
function filledNs(pieces: readonly Piece[], first: number, sliceNs: number): number {
  const others = pieces.filter((_piece, index) => index !== first);
  let sum = (pieces[first] as Piece).durationNs;
  while (others.length > 0) {
    const longest = others.reduce((a, b) => (b.durationNs > a.durationNs ? b : a));
    others.splice(others.indexOf(longest), 1);
    if (longest.neededNs <= sliceNs - sum) sum += longest.durationNs;
  }
  return sum;
}

const pieces = fc.array(
  fc
    .record({ durationNs: fc.integer({ min: 1, max: 30 }), slackNs: fc.integer({ min: -3, max: 3 }) })
    .map(({ durationNs, slackNs }) => ({ durationNs, neededNs: durationNs + slackNs })),
  { maxLength: 8 },
);

test("begins with the first piece that fits and fills the slice most", () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: -5, max: 80 }), (given, sliceNs) => {
      const fits = given.flatMap(({ neededNs }, index) => (neededNs <= sliceNs ? [index] : []));
      const most = Math.max(...fits.map((index) => filledNs(given, index, sliceNs)));
      const expected = fits.find((index) => filledNs(given, index, sliceNs) === most) ?? -1;
      expect(bestFill(given, sliceNs)).toBe(expected);
    }),
  );
});

test("two of 10 fill a slice of 21 better than one of 14", () => {
  const of = (durationNs: number) => ({ durationNs, neededNs: durationNs });
  expect(bestFill([of(14), of(10), of(10)], 21)).toBe(1);
  expect(bestFill([of(14), of(10)], 21)).toBe(0);
  expect(bestFill([of(22)], 21)).toBe(-1);
});
