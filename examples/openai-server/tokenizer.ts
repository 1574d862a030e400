/** A tokenizer as small as can be: a token is a printable ASCII character or a new line; every other character is read as `?`. */
const CHARACTERS = `\n${Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join("")}`;

export const VOCABULARY = CHARACTERS.length;

const UNKNOWN = CHARACTERS.indexOf("?");

export function encode(text: string): number[] {
  return Array.from(text, (character) => {
    const token = CHARACTERS.indexOf(character);
    return token < 0 ? UNKNOWN : token;
  });
}

export function decode(token: number): string {
  return CHARACTERS[token] ?? "?";
}
