/** A number from 0 to 1, 1 excluded, that looks random and depends on its arguments alone: murmur3's finaliser over each. */
export function unitOf(seed: number, ...numbers: readonly number[]): number {
  let hash = scrambled(seed >>> 0);
  for (const number of numbers) hash = scrambled(Math.imul(hash, 31) + (number >>> 0) + 0x9e3779b9);
  return (hash >>> 0) / 2 ** 32;
}

function scrambled(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
