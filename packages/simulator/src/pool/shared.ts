/** Typed arrays that threads share. */

export function sharedInts(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * length));
}

export function sharedFloats(values: ArrayLike<number>): Float64Array {
  const shared = new Float64Array(new SharedArrayBuffer(8 * values.length));
  shared.set(values);
  return shared;
}

/** The same array if it is long enough, else one with room to spare; what was in it is not kept. */
export function withRoom(array: Float64Array, length: number): Float64Array {
  return array.length >= length ? array : new Float64Array(new SharedArrayBuffer(16 * length));
}
