/** Inputs before their readers, or the operators of a cycle, each followed by one that reads it. */
export type Order =
  | { readonly acyclic: true; readonly order: readonly number[] }
  | { readonly acyclic: false; readonly cycle: readonly number[] };

/**
 * Takes away operators all of whose inputs are taken away. Linear, and without recursion: a chain may be as long as the file.
 * @param inputs Per operator the indices of the operators that it reads, each once.
 */
export function orderOf(inputs: readonly (readonly number[])[]): Order {
  const readers = readersOf(inputs);
  const missing = inputs.map(({ length }) => length);
  const order = [...missing.keys()].filter((index) => missing[index] === 0);
  for (const index of order) {
    for (const reader of readers[index] ?? []) {
      const left = (missing[reader] ?? 0) - 1;
      missing[reader] = left;
      if (left === 0) order.push(reader);
    }
  }
  if (order.length === inputs.length) return { acyclic: true, order };
  return { acyclic: false, cycle: cycleAmong(inputs, missing) };
}

export function readersOf(inputs: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const readers: number[][] = inputs.map(() => []);
  for (const [reader, producers] of inputs.entries()) {
    for (const producer of producers) readers[producer]?.push(reader);
  }
  return readers;
}

/**
 * Upstream through what is left, where every operator misses an input that is left as well, until one comes up again. The
 * cycle begins with its first operator in the order of the file.
 */
function cycleAmong(inputs: readonly (readonly number[])[], missing: readonly number[]): number[] {
  const isLeft = (index: number) => (missing[index] ?? 0) > 0;
  const path: number[] = [];
  const positions = new Map<number, number>();
  let index = missing.findIndex((count) => count > 0);
  while (!positions.has(index)) {
    positions.set(index, path.length);
    path.push(index);
    index = inputs[index]?.find(isLeft) ?? index;
  }
  const cycle = path.slice(positions.get(index)).reverse();
  const first = cycle.reduce((best, candidate, at) => (candidate < (cycle[best] ?? 0) ? at : best), 0);
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}
