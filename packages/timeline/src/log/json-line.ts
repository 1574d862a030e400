/** JSON has no NaN and no infinities: they stand as `{ "$number": "NaN" }`. */
const KEY = "$number";
const NAMES: ReadonlyMap<string, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value, (_, field: unknown) =>
    typeof field === "number" && !Number.isFinite(field) ? { [KEY]: String(field) } : field,
  )}\n`;
}

/** As `jsonLine`, several times as fast, for what holds only finite numbers. */
export function finiteJsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

/** Throws a `SyntaxError` for what is not JSON. */
export function parseJsonLine(line: string): unknown {
  if (!line.includes(`"${KEY}"`)) return JSON.parse(line);
  return JSON.parse(line, (_, field: unknown) => numberOf(field) ?? field);
}

function numberOf(field: unknown): number | undefined {
  if (typeof field !== "object" || field === null || Array.isArray(field)) return undefined;
  const keys = Object.keys(field);
  if (keys.length !== 1 || keys[0] !== KEY) return undefined;
  const name: unknown = (field as Record<string, unknown>)[KEY];
  return typeof name === "string" ? NAMES.get(name) : undefined;
}
