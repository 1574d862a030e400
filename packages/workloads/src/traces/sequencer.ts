/** Puts rows in the order of their arrival and counts from the first. */
import type { TraceFault } from "../errors.ts";
import { nsBetween } from "./instant.ts";
import type { ReadRow } from "./row-reader.ts";
import { type TraceRequest, traceDaysMax } from "./types.ts";

/**
 * Takes rows in the order of the file and gives requests in the order of their arrival, equal ones in that of the file. It
 * holds back `reorderRows` rows; a row that comes still later than that is a fault. Time per row: the logarithm of that.
 */
export class Sequencer {
  readonly #reorderRows: number;
  /** A binary heap, the earliest row first. */
  readonly #held: HeldRow[] = [];
  #taken = 0;
  #first: ReadRow | undefined;
  #lastNs = 0;

  constructor(reorderRows: number) {
    this.#reorderRows = reorderRows;
  }

  /** The request that is next once this row is known, if any is. */
  push(row: ReadRow): TraceRequest | TraceFault | undefined {
    this.#insert({ row, order: this.#taken++ });
    return this.#held.length > this.#reorderRows ? this.pop() : undefined;
  }

  /** The earliest request that is held back. */
  pop(): TraceRequest | TraceFault | undefined {
    const row = this.#removeFirst();
    if (row === undefined) return undefined;
    this.#first ??= row;
    const arrivalNs = nsBetween(this.#first.at, row.at);
    if (arrivalNs < this.#lastNs) {
      const lateSeconds = (this.#lastNs - arrivalNs) / 1e9;
      const held = this.#reorderRows === 0 ? "" : `, further than ${this.#reorderRows} rows can put right`;
      const reason = `arrives ${lateSeconds} s before a row above it${held}; rows must be sorted by time, or \`convert --reorder-rows\` say by how many they may be out of order`;
      return { code: "TRACE_OUT_OF_ORDER", line: row.line, reason };
    }
    if (arrivalNs > traceDaysMax * 86_400e9) {
      const reason = `arrives more than ${traceDaysMax} days after the first row`;
      return { code: "TRACE_MALFORMED_ROW", line: row.line, reason };
    }
    this.#lastNs = arrivalNs;
    return { arrivalNs, ...row.request };
  }

  #insert(held: HeldRow): void {
    const heap = this.#held;
    let index = heap.length;
    heap.push(held);
    for (let parent = (index - 1) >> 1; index > 0; parent = (index - 1) >> 1) {
      const above = heap[parent];
      if (above === undefined || !isBefore(held, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = held;
  }

  #removeFirst(): ReadRow | undefined {
    const heap = this.#held;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first?.row;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      let least = left;
      if (right !== undefined && isBefore(right, left)) {
        least = right;
        child++;
      }
      if (!isBefore(least, last)) break;
      heap[index] = least;
      index = child;
    }
    heap[index] = last;
    return first.row;
  }
}

interface HeldRow {
  readonly row: ReadRow;
  readonly order: number;
}

function isBefore(a: HeldRow, b: HeldRow): boolean {
  const ns = nsBetween(a.row.at, b.row.at);
  return ns > 0 || (ns === 0 && a.order < b.order);
}
