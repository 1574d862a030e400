/** ceil(bytes / rate) in ns from the bits of the rate, in whole numbers of any length. */
export function exactMovingNs(bytes: number, bytesPerSecond: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, bytesPerSecond);
  const bits = view.getBigUint64(0);
  const biased = bits >> 52n;
  const fraction = bits & 0xf_ffff_ffff_ffffn;
  // The rate is mantissa / 2^1074 · 2^shift.
  const mantissa = biased === 0n ? fraction : fraction | (1n << 52n);
  const shift = biased === 0n ? 0n : biased - 1n;
  const numerator = BigInt(bytes) * 10n ** 9n * 2n ** 1074n;
  const denominator = mantissa << shift;
  const over = numerator % denominator === 0n ? 0n : 1n;
  return Number(numerator / denominator + over);
}
