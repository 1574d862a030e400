/** The array, or a copy of at least `needed` elements and twice the size, so that growing costs O(1) per element. */
export function grown<T extends Float64Array | Int32Array | Uint8Array>(array: T, needed: number): T {
  if (array.length >= needed) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(needed, 2 * array.length, 64));
  larger.set(array);
  return larger;
}

/** Stamps start again well before an Int32Array would wrap them. */
export const STAMP_MAX: number = 2 ** 30;

/** The stamp after `last`, which no element of `stamps` has; all are cleared where the numbers end. */
export function nextStamp(last: number, stamps: Int32Array): number {
  if (last < STAMP_MAX) return last + 1;
  stamps.fill(0);
  return 1;
}
