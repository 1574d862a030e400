/** JSON that may be hostile: a value of two bytes takes forty in memory, so values are counted before they are made. */

/** Parsed they take some 1.2 GB at the worst. */
export const jsonValuesMax = 30_000_000;

/** The text is no JSON, or has too many values. */
export class JsonBytesError extends Error {}

/**
 * Parses a text in UTF-8, with a byte-order mark or without. Linear.
 * @param valuesMax how many values there may be; commas and brackets in strings count as well.
 * Errors: JsonBytesError.
 */
export function parseJsonBytes(bytes: Uint8Array, valuesMax: number = jsonValuesMax): unknown {
  const values = valuesAtMost(bytes);
  if (values > valuesMax) throw new JsonBytesError(`up to ${values} values; at most ${valuesMax} are read`);
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new JsonBytesError((cause as Error).message.replace(/\s+/g, " "), { cause });
  }
}

/** Every value but the first comes after a comma or an opening bracket; those in strings are counted as well. */
function valuesAtMost(bytes: Uint8Array): number {
  let count = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === comma || byte === openBracket || byte === openBrace) count++;
  }
  return count;
}

const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;
