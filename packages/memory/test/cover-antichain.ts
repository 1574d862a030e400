/** The heaviest set of elements of which none is before another, by trying every set. */
export function heaviestAntichain(
  elements: readonly number[],
  before: (x: number, y: number) => boolean,
  weights: ArrayLike<number>,
): number {
  const extend = (chosen: readonly number[], from: number, weight: number): number => {
    let most = weight;
    for (let i = from; i < elements.length; i++) {
      const x = elements[i] as number;
      if (chosen.some((y) => before(x, y) || before(y, x))) continue;
      most = Math.max(most, extend([...chosen, x], i + 1, weight + (weights[x] as number)));
    }
    return most;
  };
  return extend([], 0, 0);
}
