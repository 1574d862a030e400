import { SimulatorError } from "./errors.ts";

/**
 * A planned simulation is made of *nodes*: operators, transfers, and copies of tensors that neither an operator's first
 * output nor a transfer is. A node is one record of 64 bytes, a cache line, seen through two views of one buffer, since
 * from some 10,000 nodes up a simulation costs what its cache misses cost:
 *
 *     byte   f64                          byte   i32
 *      0  DURATION   ns                    32  MISSING      inputs still to come; while it waits, the node after it
 *      8  DONE       ns, see below         36  MISSING_ALL  the same at begin
 *     16  BYTES      of its own copy       40  NEED         pending uses and sends of its own copy
 *     24  WORKSPACE  bytes                 44  NEED_ALL     the same at begin
 *                                          48  SUCCESSORS   list: who waits for its own copy
 *                                          52  INPUTS       list: copies it uses or sends
 *                                          56  MORE         next output of the same operator, −1 = none
 *                                          60  PLACE        accelerator (16 bits), flags (8), rank (5)
 *
 * A node's *own copy* is the first output of an operator, the copy that a transfer brings, or the copy itself; an operator
 * without outputs has one of 0 bytes that nobody needs. A list is −1 (empty), a node (that one alone), or −2 − e: the last
 * edge of a ring of edges, which are pairs (node, next edge).
 *
 * MISSING and NEED restore themselves: whoever counts one down to 0 sets it back, so a run that reached its end has left
 * them as it found them. DONE is when the node ends, set at its start; while it waits for its accelerator, since when.
 */
export class Nodes {
  count = 0;
  f64: Float64Array = new Float64Array(0);
  i32: Int32Array = new Int32Array(0);
  edgeCount = 0;
  edges: Int32Array = new Int32Array(0);

  /** Room for so many; what is there stays. Throws TOO_LARGE. */
  reserve(nodes: number, edges: number): void {
    if (nodes > NODES_MAX)
      throw new SimulatorError("TOO_LARGE", `${nodes} operators, transfers and tensors; the most is ${NODES_MAX}`, {
        nodes,
      });
    if (this.f64.length < 8 * nodes) {
      const f64 = new Float64Array(8 * Math.max(nodes, 2 * (this.f64.length >> 3), 64));
      f64.set(this.f64);
      this.f64 = f64;
      this.i32 = new Int32Array(f64.buffer);
    }
    if (this.edges.length < 2 * edges) {
      const wider = new Int32Array(2 * Math.max(edges, this.edges.length, 64));
      wider.set(this.edges);
      this.edges = wider;
    }
  }

  /** A record of zeros and empty lists. */
  add(place: number): number {
    const node = this.count++;
    const at = node << 4;
    const record = node << 3;
    const { f64, i32 } = this;
    // Field by field: `fill` costs more than a record is worth.
    f64[record] = 0;
    f64[record + 1] = 0;
    f64[record + 2] = 0;
    f64[record + 3] = 0;
    i32[at + MISSING] = 0;
    i32[at + MISSING_ALL] = 0;
    i32[at + NEED] = 0;
    i32[at + NEED_ALL] = 0;
    i32[at + SUCCESSORS] = -1;
    i32[at + INPUTS] = -1;
    i32[at + MORE] = -1;
    i32[at + PLACE] = place;
    return node;
  }

  /** Counters of a node as at begin, after a run that did not reach its end. */
  restore(node: number): void {
    const at = node << 4;
    const { i32 } = this;
    i32[at + MISSING] = i32[at + MISSING_ALL] as number;
    i32[at + NEED] = i32[at + NEED_ALL] as number;
  }
}

const NODES_MAX = 1 << 25;

// From `node << 3` in f64.
export const DURATION = 0;
export const DONE = 1;
export const BYTES = 2;
export const WORKSPACE = 3;
// From `node << 4` in i32.
export const MISSING = 8;
export const MISSING_ALL = 9;
export const NEED = 10;
export const NEED_ALL = 11;
export const SUCCESSORS = 12;
export const INPUTS = 13;
export const MORE = 14;
export const PLACE = 15;

// PLACE: accelerator, flags, rank.
export const ACCELERATOR = 0xffff;
/** A transfer, otherwise an operator, or a copy that is no node of its own right. */
export const TRANSFER: number = 1 << 16;
/** Neither: it takes no time and is never an event. */
export const COPY: number = 1 << 17;
/** The master holds its own copy. */
export const HELD: number = 1 << 18;
/** Its own copy shares a buffer with others, through aliases. */
export const SHARED: number = 1 << 19;
/** Its own copy is present at begin. */
export const PRESENT_AT_BEGIN: number = 1 << 20;
/** Counts for the score. */
export const TARGET: number = 1 << 21;
/** It runs, or moves, at begin. */
export const UNDERWAY: number = 1 << 22;
/** From here the rank, for operators whose ranks are all below RANKS. */
export const RANK_SHIFT = 24;
export const RANKS = 32;

/** Calls for each node of a list, in the order in which they were appended. */
export function forEach({ i32, edges }: Nodes, field: number, node: number, visit: (other: number) => void): void {
  const list = i32[(node << 4) + field] as number;
  if (list >= 0) visit(list);
  if (list >= -1) return;
  const last = -2 - list;
  let edge = last;
  do {
    edge = edges[2 * edge + 1] as number;
    visit(edges[2 * edge] as number);
  } while (edge !== last);
}
