import fc from "fast-check";

const pieces = [
  "\n",
  "\r",
  '"',
  ",",
  "-",
  ".",
  "{",
  "}",
  "[",
  ":",
  "\u0000",
  "NaN",
  "1e999",
  "__proto__",
  "\uFEFF",
  "9".repeat(40),
];

/** A valid file with a few characters replaced, removed or inserted. */
export function damaged(valid: string): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat(),
    removed: fc.nat(3),
    inserted: fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom(...pieces)),
  });
  return fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits) =>
    edits.reduce((text, { at, removed, inserted }) => {
      const position = at % (text.length + 1);
      return text.slice(0, position) + inserted + text.slice(position + removed);
    }, valid),
  );
}
