const ROWS_FIRST = 256;

/**
 * Rows of numbers, one `Float64Array` per field, which grow up to `rowsMax`; when that is reached the oldest quarter goes. A row keeps the number
 * it was given. A field that was not set is NaN. Adding costs O(fields), amortised.
 */
export class GrowingTable<Field extends string> {
  readonly #columns: Record<Field, Float64Array>;
  readonly #fields: readonly Field[];
  readonly #rowsMax: number;
  #allocated = 0;
  #count = 0;
  #dropped = 0;

  constructor(fields: readonly Field[], rowsMax: number) {
    this.#fields = fields;
    this.#rowsMax = rowsMax;
    this.#columns = Object.fromEntries(fields.map((field) => [field, new Float64Array(0)])) as Record<
      Field,
      Float64Array
    >;
  }

  /** Rows that are kept. */
  get count(): number {
    return this.#count;
  }

  /** Rows that have gone: the number of the oldest row kept. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Returns the number of the new row. */
  add(): number {
    if (this.#count === this.#rowsMax) this.#dropOldest();
    if (this.#count === this.#allocated) this.#grow();
    return this.#dropped + this.#count++;
  }

  /** Does nothing to a row that has gone. */
  set(row: number, field: Field, value: number): void {
    const index = row - this.#dropped;
    if (index >= 0) this.#columns[field][index] = value;
  }

  /** NaN for a row that has gone. */
  get(row: number, field: Field): number {
    const index = row - this.#dropped;
    return index >= 0 && index < this.#count ? (this.#columns[field][index] ?? Number.NaN) : Number.NaN;
  }

  /** A copy. */
  column(field: Field): Float64Array {
    return this.#columns[field].slice(0, this.#count);
  }

  #grow(): void {
    this.#allocated = Math.min(Math.max(ROWS_FIRST, this.#allocated * 2), this.#rowsMax);
    for (const field of this.#fields) {
      const column = new Float64Array(this.#allocated).fill(Number.NaN);
      column.set(this.#columns[field]);
      this.#columns[field] = column;
    }
  }

  #dropOldest(): void {
    const gone = Math.max(1, this.#count >> 2);
    for (const field of this.#fields) {
      const column = this.#columns[field];
      column.copyWithin(0, gone, this.#count);
      column.fill(Number.NaN, this.#count - gone);
    }
    this.#dropped += gone;
    this.#count -= gone;
  }
}
