/**
 * Whole nanoseconds to move `bytes` at a rate: ceil(bytes / rate), exactly, where floating point could round across a whole number.
 * @param bytes Whole, from 0 to 2^53 − 1.
 * @param bytesPerSecond Above 0 and finite, also with a fraction.
 */
export function movingNs(bytes: number, bytesPerSecond: number): number {
  const scaled = bytes * NS_PER_SECOND;
  // `%` of doubles is exact, and what it leaves divides without a rest; a product within 2^53 is exact.
  if (scaled <= Number.MAX_SAFE_INTEGER && Number.isSafeInteger(bytesPerSecond)) {
    const over = scaled % bytesPerSecond;
    return (scaled - over) / bytesPerSecond + (over > 0 ? 1 : 0);
  }
  return movingLongNs(bytes, bytesPerSecond);
}

/** Latency and moving, at least 1 ns. */
export function linkNs(link: { readonly latencyNs: number; readonly bytesPerSecond: number }, bytes: number): number {
  return Math.max(1, link.latencyNs + movingNs(bytes, link.bytesPerSecond));
}

const NS_PER_SECOND = 1_000_000_000;

/** Any rate is a whole number once it is doubled often enough. */
function movingLongNs(bytes: number, bytesPerSecond: number): number {
  let rate = bytesPerSecond;
  let doublings = 0n;
  while (!Number.isInteger(rate)) {
    rate *= 2;
    doublings++;
  }
  const divisor = BigInt(rate);
  return Number((((BigInt(bytes) * BigInt(NS_PER_SECOND)) << doublings) + divisor - 1n) / divisor);
}
