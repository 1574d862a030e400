import { expect, test } from "vitest";
import { visible } from "./visible.ts";

test("characters that are not seen are shown as JSON writes them; all others stay", () => {
  expect(visible("a\u202eb\u2066c\u061cd\u200be\u00adf\u0007g\u2028h\ufeff")).toBe(
    String.raw`a\u202eb\u2066c\u061cd\u200be\u00adf\u0007g\u2028h\ufeff`,
  );
  expect(visible("\u{e0041}")).toBe(String.raw`\udb40\udc41`);
  const plain = "tenant 1\t\n שלום سلام 👩‍👩‍👧 é";
  expect(visible(plain)).toBe(plain);
});
