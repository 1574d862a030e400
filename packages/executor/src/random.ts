/**
 * Philox 4×32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): the
 * draw is a function of a key and a counter and of nothing else, so it does not depend on how many were drawn before.
 * 32-bit integer arithmetic throughout.
 */
export type Counter = readonly [number, number, number, number];

export function philox(counter: Counter, key: readonly [number, number]): Counter {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(0xd2511f53, c0);
    const low0 = Math.imul(0xd2511f53, c0);
    const high1 = multiplyHigh(0xcd9e8d57, c2);
    const low1 = Math.imul(0xcd9e8d57, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  return [c0 >>> 0, c1 >>> 0, c2 >>> 0, c3 >>> 0];
}

/** The upper 32 bits of an unsigned product, by halves of 16 bits. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = aLow * bHigh + (middle & 0xffff);
  return aHigh * bHigh + Math.floor(middle / 0x10000) + (carry >>> 16);
}

/** A whole number below 2^53 as two words of 32 bits, the lower one first. */
export function words(value: number): readonly [number, number] {
  return [value >>> 0, Math.floor(value / 0x100000000)];
}

/** What `stream` a draw belongs to: each has draws of its own for equal numbers. */
export const OPERATOR_STREAM = 0;
export const TRANSFER_STREAM = 1;

/**
 * A positive factor with mean 1 and the given coefficient of variation, log-normal: exp(σz − σ²/2) with σ² = ln(1 + cv²) and
 * z by Box and Muller. Exactly 1 when `cv` is 0. The same arguments give the same factor, in any order of calls.
 */
export function noiseFactor(
  cv: number,
  key: {
    readonly seed: number;
    readonly stream: number;
    readonly number: number;
    readonly part: number;
    readonly attempt: number;
  },
): number {
  if (cv === 0) return 1;
  const [low, high] = words(key.number);
  const last = (key.attempt << 1) | key.stream;
  const [a, b] = philox([low, high, key.part, last], words(key.seed));
  // In (0, 1], so that its logarithm is finite.
  const radius = Math.sqrt(-2 * Math.log((a + 1) / 0x100000000));
  const z = radius * Math.cos((2 * Math.PI * b) / 0x100000000);
  const variance = Math.log(1 + cv * cv);
  return Math.exp(Math.sqrt(variance) * z - variance / 2);
}
