/** Compares the nodes of two graphs field by field, whatever fields they have, so that one that a snapshot forgets is found. */
import type { GlobalMappingGraph } from "@slicescheduler/gmg";

/** Left to chance, since nothing reads them: order of shares; counts of operators that do not wait; copies that were lost. */
const IGNORED = new Set(["shares", "reads"]);

/** Where two graphs differ, as a path; null when nowhere. */
export function nodesDiffer(a: GlobalMappingGraph, b: GlobalMappingGraph, instances: Iterable<number>): string | null {
  const pairs = new Map<object, object>();
  const waiting: [unknown, unknown, string][] = [];
  for (const id of instances) waiting.push([a.instance(id), b.instance(id), `instance ${id}`]);
  waiting.push([[...a.issuedOperators()], [...b.issuedOperators()], "issued"]);
  waiting.push([[...a.transfers()], [...b.transfers()], "transfers"]);
  waiting.push([[...a.unscheduledFrontier], [...b.unscheduledFrontier], "frontier"]);
  waiting.push([[...a.claims.placed()], [...b.claims.placed()], "placed"]);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [x, y, path] = next;
    if (Object.is(x, y)) continue;
    if (typeof x !== "object" || typeof y !== "object" || x === null || y === null) return path;
    // One empty list serves for many.
    if (Array.isArray(x) && x.length === 0 && Array.isArray(y) && y.length === 0) continue;
    const known = pairs.get(x);
    if (known !== undefined && known !== y) return path;
    if (known !== undefined || isCompiled(path)) continue;
    pairs.set(x, y);
    const entries = entriesOf(x);
    const others = entriesOf(y);
    if (entries.length !== others.length) return path;
    for (const [i, [key, value]] of entries.entries()) {
      const [otherKey, other] = others[i] ?? [];
      if (key !== otherKey) return `${path}.${key}`;
      if (!IGNORED.has(key) && !isIdle(x, key)) waiting.push([value, other, `${path}.${key}`]);
    }
  }
  return null;
}

/** Follows from specifications, which have tests of their own. */
function isCompiled(path: string): boolean {
  return /\.(template|binding|limits|partition)(\.|$)/.test(path);
}

/** Counts that mean something only while an operator waits for what they count. */
function isIdle(node: object, key: string): boolean {
  if (!("state" in node)) return false;
  return (
    (key === "unscheduledInputs" && node.state !== "unscheduled") ||
    (key === "missingInputs" && node.state !== "issued")
  );
}

function entriesOf(value: object): [string, unknown][] {
  if (value instanceof Set || value instanceof Float64Array || Array.isArray(value)) {
    return Array.from(value as Iterable<unknown>, (item, i) => [String(i), item]);
  }
  if (value instanceof Map)
    return [...value].flatMap(([key, item], i) => [
      [`key ${i}`, key],
      [String(i), item],
    ]);
  return Object.entries(value);
}
