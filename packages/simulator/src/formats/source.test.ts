import { expect, test } from "vitest";
import { Source } from "./source.ts";

test("a line ends with its newline, and the end of the content is a place", () => {
  const source = new Source("ab\n\ncd");
  expect([0, 1, 2, 3, 4, 5, 6].map((at) => source.position(at))).toEqual([
    { line: 1, column: 1 },
    { line: 1, column: 2 },
    { line: 1, column: 3 },
    { line: 2, column: 1 },
    { line: 3, column: 1 },
    { line: 3, column: 2 },
    { line: 3, column: 3 },
  ]);
});
