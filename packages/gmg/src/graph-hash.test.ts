import fc from "fast-check";
import { expect, test } from "vitest";
import { hashOf } from "./graph-hash.ts";

/** The definition, in whole numbers of any size. */
function slowHash(value: unknown): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(JSON.stringify(value), "utf8")) {
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return hash.toString(16).padStart(16, "0");
}

test("is FNV-1a of the JSON text", () => {
  expect(hashOf(0)).toBe("af63ad4c86019caf");
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(hashOf(value)).toBe(slowHash(value));
    }),
  );
});
