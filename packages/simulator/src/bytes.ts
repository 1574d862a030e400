/** The next multiple of `granularity`, exactly, where a quotient could round across a whole number; past 2^53 no longer. */
export function roundedUp(bytes: number, granularity: number): number {
  const over = bytes % granularity;
  return over === 0 ? bytes : bytes - over + granularity;
}
