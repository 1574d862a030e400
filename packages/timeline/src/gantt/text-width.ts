/** Ranges of characters that terminals give two columns: East Asian ones and pictures. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
];

/** Columns that a character takes; none for one that combines with the one before, or does not print. */
function columnsOf(character: string): number {
  if (/[\p{M}\p{Cc}\p{Cf}]/u.test(character)) return 0;
  const code = character.codePointAt(0) ?? 0;
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

/** Columns that a text takes in a terminal, without escape sequences. */
export function textColumns(text: string): number {
  let columns = 0;
  for (const character of text) columns += columnsOf(character);
  return columns;
}

/**
 * The text in exactly so many columns, filled up with blanks, or cut off with a mark. What does not print is left out, so that a name can do nothing
 * to the terminal; in ASCII other characters become question marks.
 */
export function fitted(text: string, columns: number, ascii: boolean): string {
  const printable = Array.from(text).filter((character) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(character));
  const characters = ascii ? printable.map((it) => (it.charCodeAt(0) < 128 ? it : "?")) : printable;
  const whole = characters.join("");
  const left = columns - textColumns(whole);
  if (left >= 0) return whole + " ".repeat(left);
  let cut = "";
  let taken = 0;
  for (const character of characters) {
    const next = columnsOf(character);
    if (taken + next > columns - 1) break;
    cut += character;
    taken += next;
  }
  if (columns < 1) return "";
  return cut + (ascii ? "~" : "…") + " ".repeat(columns - 1 - taken);
}
