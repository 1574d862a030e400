import type { Dag } from "../dag.ts";
import type { FormatErrorCode } from "../errors.ts";
import { FormatError } from "./errors.ts";
import { ACCELERATORS_MAX, isCount, refuse } from "./layout.ts";
import { w1Graph } from "./w1-graph.ts";
import { requireIndices, requireOffsets, type W1Columns, type W1Fail, type W1Field } from "./w1-nodes.ts";

/**
 * A W1 file, the yardstick of simulators (with and without KV caches), as a graph for `simulateDag`: accelerators "0", "1", …,
 * operators "op" + the index of their node, see `w1Graph`. Times are rounded to nanoseconds. Throws `FormatError` with the
 * byte offset; no more memory is taken than the content accounts for. Linear, but for sorting the predecessors of a node.
 */
export function readW1(content: Uint8Array): Dag {
  if (!(content instanceof Uint8Array)) refuse(`content is ${typeof content}; W1 is binary, a Uint8Array`);
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const header = readHeader(view);
  const { columns, predPtr, pred, offsets } = readColumns(view, header);
  const fail: W1Fail = (code, field, index, message, details) =>
    failAt(code, offsets[field] + index * (FLOATS.has(field) ? 8 : 4), message, details);
  const dag = w1Graph(columns, fail);
  requireOffsets(predPtr, "predPtr", columns.edges, fail);
  requireIndices(pred, "pred", columns.nodes, fail);
  requireMirror(columns, predPtr, pred, fail);
  return dag;
}

const MAGIC = 0x31563157; // "W1V1"
const HEADER_BYTES = 64;
const FLOATS: ReadonlySet<W1Field> = new Set<W1Field>(["x", "bytes", "a", "b"]);

interface W1Header {
  readonly accelerators: number;
  readonly nodes: number;
  readonly edges: number;
  readonly models: number;
  /** Requests × passes × groups. */
  readonly operators: number;
}

function failAt(
  code: FormatErrorCode,
  byteOffset: number,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): never {
  throw new FormatError(code, { byteOffset }, message, details);
}

function readHeader(view: DataView): W1Header {
  if (view.byteLength < HEADER_BYTES)
    failAt("TRUNCATED", view.byteLength, `the header of W1 takes ${HEADER_BYTES} bytes, here are ${view.byteLength}`);
  const word = (index: number) => view.getInt32(4 * index, true);
  if (word(0) !== MAGIC)
    failAt("SYNTAX", 0, `the content begins with 0x${(word(0) >>> 0).toString(16)}, not with "W1V1"`);
  if (!isCount(word(1)))
    failAt(
      "INVALID_NUMBER",
      4,
      `there are ${word(1)} accelerators; it must be a whole number from 1 to ${ACCELERATORS_MAX}`,
    );
  if (word(2) !== 2 * word(1))
    failAt("INVALID_NUMBER", 8, `there are ${word(2)} resources; it must be twice the accelerators, ${2 * word(1)}`);
  for (let index = 3; index < 9; index++) {
    if (word(index) < 0) failAt("INVALID_NUMBER", 4 * index, `a count is ${word(index)}; it must be 0 or more`);
  }
  return {
    accelerators: word(1),
    nodes: word(3),
    edges: word(4),
    models: word(5),
    operators: word(6) * word(7) * word(8),
  };
}

/** All columns, once the length of the content is what the counts say: nothing is allocated before that. */
function readColumns(view: DataView, { accelerators, nodes, edges, models, operators }: W1Header) {
  const lengths: readonly (readonly [W1Field, number])[] = [
    ...([
      ["res", nodes],
      ["est", nodes],
      ["memAcc", nodes],
      ["succPtr", nodes + 1],
      ["succ", edges],
    ] as const),
    ...([
      ["predPtr", nodes + 1],
      ["pred", edges],
    ] as const),
    ...([
      ["x", nodes],
      ["bytes", nodes],
      ["a", models],
      ["b", models],
    ] as const),
  ];
  const offsets = { res: 0, est: 0, memAcc: 0, succPtr: 0, succ: 0, predPtr: 0, pred: 0, x: 0, bytes: 0, a: 0, b: 0 };
  let end = HEADER_BYTES;
  for (const [field, length] of lengths) {
    if (field === "x") end += end % 8;
    offsets[field] = end;
    end += length * (FLOATS.has(field) ? 8 : 4);
  }
  if (view.byteLength !== end)
    failAt(
      view.byteLength < end ? "TRUNCATED" : "SYNTAX",
      Math.min(view.byteLength, end),
      `${nodes} nodes, ${edges} edges and ${models} models take ${end} bytes, here are ${view.byteLength}`,
    );
  const ints = (field: W1Field, length: number) =>
    Int32Array.from({ length }, (_, index) => view.getInt32(offsets[field] + 4 * index, true));
  const floats = (field: W1Field, length: number) =>
    Float64Array.from({ length }, (_, index) => view.getFloat64(offsets[field] + 8 * index, true));
  const columns: W1Columns = {
    ...{ accelerators, nodes, edges, models },
    ...{ res: ints("res", nodes), est: ints("est", nodes), memAcc: ints("memAcc", nodes) },
    ...{ succPtr: ints("succPtr", nodes + 1), succ: ints("succ", edges) },
    ...{ x: floats("x", nodes), bytes: floats("bytes", nodes), a: floats("a", models), b: floats("b", models) },
  };
  let computing = 0;
  for (let node = 0; node < nodes; node++) if ((columns.res[node] ?? 0) < accelerators) computing++;
  if (computing !== operators)
    failAt("INVALID_NUMBER", 24, `requests × groups × passes is ${operators}, ${computing} nodes run on accelerators`);
  return { columns, predPtr: ints("predPtr", nodes + 1), pred: ints("pred", edges), offsets };
}

/** The edges are in the file twice, by their start and by their end: both must tell the same. */
function requireMirror({ nodes, succPtr, succ }: W1Columns, predPtr: Int32Array, pred: Int32Array, fail: W1Fail): void {
  const next = predPtr.slice();
  const mirrored = new Int32Array(pred.length);
  for (let node = 0; node < nodes; node++) {
    for (let edge = succPtr[node] ?? 0; edge < (succPtr[node + 1] ?? 0); edge++) {
      const to = succ[edge] ?? 0;
      const at = next[to] ?? 0;
      if (at >= (predPtr[to + 1] ?? 0))
        fail("INVALID_NUMBER", "predPtr", to, `node ${to} has fewer predecessors than edges that end at it`);
      mirrored[at] = node;
      next[to] = at + 1;
    }
  }
  for (let node = 0; node < nodes; node++) {
    const begin = predPtr[node] ?? 0;
    const own = pred.slice(begin, predPtr[node + 1] ?? 0).sort();
    for (let index = 0; index < own.length; index++) {
      if (own[index] !== mirrored[begin + index])
        fail(
          "INVALID_NUMBER",
          "pred",
          begin,
          `the predecessors of node ${node} are not the nodes that name it a successor`,
        );
    }
  }
}
