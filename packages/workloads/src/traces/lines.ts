/** Bytes and texts as lines, in batches: one wait for many lines. */

/** Longest line, and longest record of several lines. */
export const recordBytesMax: number = 1024 * 1024;

/** Lines without their line feeds, in their order; null for one that is too long, of which nothing is kept. */
export async function* lineBatches(bytes: AsyncGenerator<Uint8Array>): AsyncGenerator<(string | null)[]> {
  /** Of a line whose end has not come. */
  let begun: Uint8Array = new Uint8Array(0);
  let isTooLong = false;
  for await (const chunk of bytes) {
    const end = chunk.lastIndexOf(lineFeed);
    const rest = chunk.subarray(end + 1);
    if (end >= 0) {
      const lines = textOf(begun, chunk.subarray(0, end)).split("\n").map(checked);
      if (isTooLong) lines[0] = null;
      isTooLong = false;
      yield lines;
      begun = rest;
    } else if (!isTooLong) begun = Buffer.concat([begun, rest]);
    if (begun.byteLength > recordBytesMax) {
      isTooLong = true;
      begun = new Uint8Array(0);
    }
  }
  if (isTooLong) yield [null];
  else if (begun.byteLength > 0) yield [textOf(begun, new Uint8Array(0))];
}

/** The same of a text. */
export function linesOfText(text: string): (string | null)[] {
  const lines = text.split("\n").map(checked);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function textOf(begun: Uint8Array, rest: Uint8Array): string {
  return Buffer.concat([begun, rest]).toString("utf8");
}

function checked(line: string): string | null {
  return line.length > recordBytesMax ? null : line;
}

const lineFeed = 0x0a;
