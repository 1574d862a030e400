/**
 * 64-bit FNV-1a (Fowler, Noll, Vo; IETF draft-eastlake-fnv) over the UTF-8 bytes of a plain value's JSON text, as 16 hex digits. It tells states
 * apart in tests and logs; it is no protection against somebody who wants two states to have the same one. Linear in the text.
 */
export function hashOf(value: unknown): string {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of new TextEncoder().encode(JSON.stringify(value))) {
    low = (low ^ byte) >>> 0;
    // Times the prime 2^40 + 0x1b3, modulo 2^64: the low product stays below 2^41, so it is exact.
    const product = low * PRIME_LOW;
    high = (Math.imul(high, PRIME_LOW) + (low << 8) + Math.floor(product / WORD)) | 0;
    low = product >>> 0;
  }
  return hex(high >>> 0) + hex(low);
}

const PRIME_LOW = 0x1b3;
const WORD = 2 ** 32;

function hex(word: number): string {
  return word.toString(16).padStart(8, "0");
}
