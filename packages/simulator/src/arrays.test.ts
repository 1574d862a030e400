import { expect, test } from "vitest";
import { nextStamp, STAMP_MAX } from "./arrays.ts";

test("a stamp that starts again is on no element, and no stamp leaves an Int32Array", () => {
  const stamps = new Int32Array([1, STAMP_MAX, 7]);
  expect(nextStamp(STAMP_MAX - 1, stamps)).toBe(STAMP_MAX);
  expect([...stamps]).toEqual([1, STAMP_MAX, 7]);
  const again = nextStamp(STAMP_MAX, stamps);
  expect([...stamps]).not.toContain(again);
  expect(new Int32Array([STAMP_MAX])[0]).toBe(STAMP_MAX);
});
