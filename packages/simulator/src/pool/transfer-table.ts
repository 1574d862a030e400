/**
 * Durations of the transfers that a round may need, as an open hash table of rows (pair + 1, bytes, durationNs); 0 in the first
 * word marks an empty row. At most half of the rows are taken, so a search always ends.
 */
const ROW = 3;
const ROWS_MIN = 16;

/** What `transferNs` answered, or NaN for a transfer that was not asked for. `table` is empty or has a power of two of rows. */
export function lookUpNs(table: Float64Array, pair: number, bytes: number): number {
  if (table.length === 0) return Number.NaN;
  return table[rowOf(table, pair, bytes) + 2] as number;
}

export class TransferTable {
  table: Float64Array = new Float64Array(ROW * ROWS_MIN).fill(0);
  #rows = 0;

  clear(): void {
    this.table.fill(0);
    this.#rows = 0;
  }

  has(pair: number, bytes: number): boolean {
    return this.table[rowOf(this.table, pair, bytes)] !== 0;
  }

  /** One that is not there yet. */
  add(pair: number, bytes: number, durationNs: number): void {
    if (2 * ROW * (this.#rows + 1) > this.table.length) this.#grow();
    this.#rows++;
    write(this.table, pair, bytes, durationNs);
  }

  #grow(): void {
    const old = this.table;
    this.table = new Float64Array(2 * old.length);
    for (let at = 0; at < old.length; at += ROW) {
      const key = old[at] as number;
      if (key !== 0) write(this.table, key - 1, old[at + 1] as number, old[at + 2] as number);
    }
  }
}

function write(table: Float64Array, pair: number, bytes: number, durationNs: number): void {
  const row = rowOf(table, pair, bytes);
  table[row] = pair + 1;
  table[row + 1] = bytes;
  table[row + 2] = durationNs;
}

/** First word of the row that holds it, or of the empty one where it belongs. */
function rowOf(table: Float64Array, pair: number, bytes: number): number {
  const rows = table.length / ROW;
  let hash = Math.imul(pair, 0x9e3779b1) ^ Math.imul(bytes % 0x1_0000_0000, 0x85ebca6b) ^ (bytes / 0x1_0000_0000);
  hash ^= hash >>> 15;
  let row = hash & (rows - 1);
  while (table[ROW * row] !== 0 && !(table[ROW * row] === pair + 1 && table[ROW * row + 1] === bytes))
    row = (row + 1) & (rows - 1);
  return ROW * row;
}
