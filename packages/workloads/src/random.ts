/** Seeded random numbers: same seed, same numbers, on every machine. */

/** murmur3's finaliser: a bijection of 32-bit numbers that spreads neighbours. */
export function fmix32(value: number): number {
  let h = value | 0;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  h ^= h >>> 16;
  return h >>> 0;
}

/** Draws numbers in [0, 1) of 53 random bits. */
export type Random = () => number;

/**
 * A generator (sfc32) of its own for each seed and stream, so that drawing more from one stream never shifts another.
 * @param seed whole number; its low 53 bits count.
 * @param stream which of the seed's streams, a small whole number.
 */
export function seededRandom(seed: number, stream = 0): Random {
  let a = fmix32(seed);
  let b = fmix32(Math.floor(seed / 2 ** 32) ^ 0x9e3779b9);
  let c = fmix32(stream + 0x6a09e667);
  let counter = 1;
  const next = (): number => {
    const t = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t;
    return t >>> 0;
  };
  // The first outputs still resemble the seed words.
  for (let i = 0; i < 16; i++) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}
