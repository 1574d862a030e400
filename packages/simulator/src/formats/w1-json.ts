import type { Dag } from "../dag.ts";
import { JsonCursor } from "./json-cursor.ts";
import { ACCELERATORS_MAX, isCount } from "./layout.ts";
import { Source } from "./source.ts";
import { w1Graph } from "./w1-graph.ts";
import type { W1Fail } from "./w1-nodes.ts";

/** The JSON form of a W1 file: the same graph as `readW1` makes of the binary one. Throws `FormatError` with line and column. */
export function readW1Json(content: string | Uint8Array): Dag {
  const source: Source = new Source(content);
  const { counts, columns, offsets } = readFields(new JsonCursor(source));
  const count = (name: CountName) => {
    const value = counts.get(name);
    if (value === undefined) source.fail("MISSING_FIELD", 0, `W1 has no field "${name}"`);
    return value;
  };
  const column = (name: ColumnName, length: number | null) => {
    const values = columns.get(name);
    if (values === undefined) source.fail("MISSING_FIELD", 0, `W1 has no field "${name}"`);
    if (length !== null && values.length !== length) {
      const code = values.length < length ? "TRUNCATED" : "SYNTAX";
      source.fail(code, offsets.get(name) ?? 0, `${name} has ${values.length} items, the counts say ${length}`);
    }
    return values;
  };
  const nodes = count("n");
  const edges = count("e");
  const a = column("a", null);
  const fail: W1Fail = (code, field, index, message, details) =>
    source.fail(code, offsetOfItem(source, offsets.get(field) ?? 0, index), message, details);
  const w1 = {
    ...{ accelerators: count("N"), nodes, edges, models: a.length },
    ...{ res: column("res", nodes), est: column("est", nodes), memAcc: column("memAcc", nodes) },
    ...{ succPtr: column("succPtr", nodes + 1), succ: column("succ", edges) },
    ...{ x: column("x", nodes), bytes: column("bytes", nodes), a, b: column("b", a.length) },
  };
  if (!isCount(w1.accelerators))
    source.fail(
      "INVALID_NUMBER",
      offsets.get("N") ?? 0,
      `N is ${w1.accelerators}; it must be from 1 to ${ACCELERATORS_MAX}`,
    );
  const operators = count("R") * count("G") * count("P");
  let computing = 0;
  for (const resource of w1.res) if (resource < w1.accelerators) computing++;
  if (computing !== operators)
    source.fail(
      "INVALID_NUMBER",
      offsets.get("R") ?? 0,
      `R × G × P is ${operators}, ${computing} nodes run on accelerators`,
    );
  return w1Graph(w1, fail);
}

const COUNTS = ["N", "R", "G", "P", "n", "e"] as const;
const COLUMNS = ["res", "est", "memAcc", "succPtr", "succ", "x", "bytes", "a", "b"] as const;
type CountName = (typeof COUNTS)[number];
type ColumnName = (typeof COLUMNS)[number];

function readFields(cursor: JsonCursor) {
  const counts = new Map<CountName, number>();
  const columns = new Map<ColumnName, readonly number[]>();
  const offsets = new Map<string, number>();
  const source: Source = cursor.source;
  cursor.object("W1", (name, fieldAt) => {
    cursor.peek();
    const { at } = cursor;
    offsets.set(name, at);
    const count = COUNTS.find((known) => known === name);
    const column = COLUMNS.find((known) => known === name);
    if (count !== undefined) counts.set(count, source.requireWhole(cursor.number(name), 0, at, name));
    else if (column !== undefined) columns.set(column, readNumbers(cursor, column));
    else if (name === "kv") readFlag(cursor);
    else source.fail("UNKNOWN_FIELD", fieldAt, `W1 has no field ${JSON.stringify(name.slice(0, 80))}`, { field: name });
  });
  cursor.end();
  return { counts, columns, offsets };
}

function readNumbers(cursor: JsonCursor, what: string): readonly number[] {
  const numbers: number[] = [];
  cursor.array(what, () => numbers.push(cursor.number(what)));
  return numbers;
}

/** Says whether KV caches are in the graph, which the graph says itself. */
function readFlag(cursor: JsonCursor): void {
  const source: Source = cursor.source;
  cursor.peek();
  const [token] = /^(?:true|false)\b/.exec(source.text.slice(cursor.at, cursor.at + 6)) ?? [];
  if (token === undefined) source.fail("WRONG_TYPE", cursor.at, "kv must be true or false");
  cursor.at += token.length;
}

/** Read once more up to the item: that costs only the one who gets an error. */
function offsetOfItem(source: Source, arrayAt: number, index: number): number {
  const cursor = new JsonCursor(source, arrayAt);
  let item = 0;
  let found = arrayAt;
  cursor.array("an array", () => {
    cursor.peek();
    if (item++ === index) found = cursor.at;
    cursor.number("an item");
  });
  return found;
}
