/**
 * Philox 4×32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a keyed bijection of
 * 128-bit counters whose outputs are random numbers. A draw depends on its key and counter alone, never on earlier draws.
 */

/** Four words of 32 bits. */
export type Words = readonly [number, number, number, number];

const ROUNDS = 10;
const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const KEY_STEP_0 = 0x9e3779b9;
const KEY_STEP_1 = 0xbb67ae85;

/**
 * The random words of a counter under a key; every word is taken modulo 2^32. Integer arithmetic only, so the same on every
 * machine.
 */
export function philox4x32(counter: Words, key0: number, key1: number): Words {
  let [c0, c1, c2, c3] = counter;
  let k0 = key0;
  let k1 = key1;
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low0 = Math.imul(MULTIPLIER_0, c0);
    const low1 = Math.imul(MULTIPLIER_1, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + KEY_STEP_0) | 0;
    k1 = (k1 + KEY_STEP_1) | 0;
  }
  return [c0 >>> 0, c1 >>> 0, c2 >>> 0, c3 >>> 0];
}

/** The upper 32 bits of the product of two unsigned words; each partial product is below 2^48. */
function multiplyHigh(a: number, b: number): number {
  const word = b >>> 0;
  const low = a * (word & 0xffff);
  return Math.floor((a * (word >>> 16) + Math.floor(low / 0x10000)) / 0x10000);
}
