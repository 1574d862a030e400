import { RunRecordInvalidError } from "../errors.ts";
import { COLUMN_DELTAS, COLUMN_DOUBLES, DELTA_NAN, DELTA_NEGATIVE, nearTo } from "./byte-writer.ts";

/** Reads what a `ByteWriter` wrote, and trusts nothing: RUN_RECORD_INVALID with the offset. Takes no memory out of proportion to the bytes. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get offset(): number {
    return this.#offset;
  }

  get left(): number {
    return this.#bytes.length - this.#offset;
  }

  fail(reason: string, offset = this.#offset): never {
    throw new RunRecordInvalidError(offset, reason);
  }

  byte(): number {
    const byte = this.#bytes[this.#offset];
    if (byte === undefined) this.fail("the file ends here, in the middle of a record");
    this.#offset++;
    return byte;
  }

  bytes(count: number): Uint8Array {
    if (count > this.left) this.fail(`${count} bytes are announced and ${this.left} are left`);
    this.#offset += count;
    return this.#bytes.subarray(this.#offset - count, this.#offset);
  }

  double(): number {
    if (this.left < 8) this.fail("the file ends here, in the middle of a number");
    this.#offset += 8;
    return this.#view.getFloat64(this.#offset - 8, true);
  }

  whole(): number {
    const start = this.#offset;
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (!Number.isSafeInteger(value)) this.fail("a number is larger than 2^53 − 1", start);
      if (byte < 128) return value;
      if (scale > 2 ** 49) this.fail("a number has more than eight bytes", start);
    }
  }

  text(): string {
    const start = this.#offset;
    const bytes = this.bytes(this.whole());
    try {
      return this.#text.decode(bytes);
    } catch {
      return this.fail("a text is not UTF-8", start);
    }
  }

  /** How many of something follow, of which each takes at least a byte. */
  count(what: string): number {
    const start = this.#offset;
    const count = this.whole();
    if (count > this.left) this.fail(`${count} ${what} are announced and ${this.left} bytes are left`, start);
    return count;
  }

  texts(what: string): string[] {
    return Array.from({ length: this.count(what) }, () => this.text());
  }

  /** See `ByteWriter.column`. */
  column(rows: number, base: ArrayLike<number> | null = null): Float64Array {
    const kind = this.byte();
    if (kind !== COLUMN_DELTAS && kind !== COLUMN_DOUBLES) this.fail(`a column is of the unknown kind ${kind}`);
    const least = kind === COLUMN_DELTAS ? rows : rows * 8;
    if (least > this.left) this.fail(`a column of ${rows} rows needs ${least} bytes and ${this.left} are left`);
    const values = new Float64Array(rows);
    if (kind === COLUMN_DOUBLES) {
      for (let row = 0; row < rows; row++) values[row] = this.double();
      return values;
    }
    let before = 0;
    for (let row = 0; row < rows; row++) {
      const start = this.#offset;
      const delta = this.#delta();
      const value = nearTo(base, row, before) + delta;
      if (!Number.isSafeInteger(value) && !Number.isNaN(value)) this.fail("a number is larger than 2^53 − 1", start);
      values[row] = value;
      if (!Number.isNaN(value)) before = value;
    }
    return values;
  }

  #delta(): number {
    const start = this.#offset;
    const first = this.byte();
    if ((first & DELTA_NAN) !== 0) return Number.NaN;
    const rest = first >= 128 ? this.whole() : 0;
    const magnitude = rest * 32 + ((first >> 2) & 31);
    if (!Number.isSafeInteger(magnitude)) this.fail("a difference is larger than 2^53 − 1", start);
    return (first & DELTA_NEGATIVE) !== 0 ? -magnitude : magnitude;
  }
}
