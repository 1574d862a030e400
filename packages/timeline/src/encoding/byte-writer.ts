/** How a column is written: deltas where all of its values are whole numbers or NaN, else the doubles as they are. */
export const COLUMN_DELTAS = 0;
export const COLUMN_DOUBLES = 1;

/** First byte of a delta: NaN, sign, five bits of the magnitude, and whether more follow. */
export const DELTA_NAN = 1;
export const DELTA_NEGATIVE = 2;

/** Bytes that grow. */
export class ByteWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;
  readonly #text = new TextEncoder();

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  bytes(values: Uint8Array): void {
    this.#reserve(values.length);
    this.#bytes.set(values, this.#length);
    this.#length += values.length;
  }

  uint32(value: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.byte((value >>> shift) & 255);
  }

  double(value: number): void {
    this.#reserve(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** A whole number from 0 to 2^53 − 1: seven bits a byte, the lowest first. */
  whole(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.byte((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    this.byte(rest);
  }

  text(value: string): void {
    const bytes = this.#text.encode(value);
    this.whole(bytes.length);
    this.bytes(bytes);
  }

  texts(values: readonly string[]): void {
    this.whole(values.length);
    for (const value of values) this.text(value);
  }

  /** @param base Of each row, what the value is near to; without it the value of the row before is. */
  column(values: ArrayLike<number>, base: ArrayLike<number> | null = null): void {
    if (!hasExactDeltas(values, base)) {
      this.byte(COLUMN_DOUBLES);
      for (let i = 0; i < values.length; i++) this.double(values[i] as number);
      return;
    }
    this.byte(COLUMN_DELTAS);
    let before = 0;
    for (let i = 0; i < values.length; i++) {
      const value = values[i] as number;
      if (Number.isNaN(value)) {
        this.byte(DELTA_NAN);
        continue;
      }
      this.#delta(value - nearTo(base, i, before));
      before = value;
    }
  }

  /** What was written; the writer is not to be used any more. */
  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #delta(delta: number): void {
    const magnitude = Math.abs(delta);
    const rest = Math.floor(magnitude / 32);
    this.byte((delta < 0 ? DELTA_NEGATIVE : 0) | ((magnitude % 32) << 2) | (rest > 0 ? 128 : 0));
    if (rest > 0) this.whole(rest);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/** What a value is written relative to; shared with the reader. */
export function nearTo(base: ArrayLike<number> | null, row: number, before: number): number {
  const near = base === null ? before : (base[row] as number);
  return Number.isSafeInteger(near) ? near : 0;
}

function hasExactDeltas(values: ArrayLike<number>, base: ArrayLike<number> | null): boolean {
  let before = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (Number.isNaN(value)) continue;
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) return false;
    if (!Number.isSafeInteger(value - nearTo(base, i, before))) return false;
    before = value;
  }
  return true;
}
