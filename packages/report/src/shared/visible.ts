/** Control and format characters but tab, line feed and the joiners that scripts and emoji need: none is seen, and some turn what stands beside them. */
const unseen = /[^\P{Cc}\t\n]|[^\P{Cf}\u200c\u200d]|[\p{Zl}\p{Zp}]/gu;

/** What a run calls something, with each character that cannot be seen as JSON writes it: no name looks like another, or turns its letters round. */
export function visible(text: string): string {
  return text.replace(unseen, (character) =>
    // Of a character beyond the first plane, both halves.
    Array.from({ length: character.length }, (_, i) => escaped(character.charCodeAt(i))).join(""),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
