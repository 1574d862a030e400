/** The array, or a copy of at least `needed` elements and twice the size, so that growing costs O(1) per element. */
export function grown<T extends Float64Array | Int32Array | Uint8Array>(array: T, needed: number): T {
  if (array.length >= needed) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(needed, 2 * array.length, 64));
  larger.set(array);
  return larger;
}
