/**
 * Whole numbers in columns, small enough to travel inside a page: each column as it is or as differences, whichever is
 * smaller, zigzag, and split into planes of bytes so that the high ones, nearly all equal, compress to nothing. Used on
 * both sides: it knows neither Node nor the browser.
 *
 * Layout: length of the head (4 bytes, little endian), head (JSON), then each column's planes in the order of the head.
 */
export interface Packed<Meta> {
  readonly meta: Meta;
  readonly columns: Readonly<Record<string, Float64Array>>;
}

interface Head {
  readonly meta: unknown;
  /** Name, how many numbers, bytes of each, and whether differences are stored. */
  readonly columns: readonly (readonly [string, number, number, boolean])[];
}

const headLengthBytes = 4;
/** A difference of two, doubled by zigzag, is still exact. */
const wholeMax = 2 ** 51;

/** @param columns Whole numbers within ±2^51 (26 days in ns); anything else is a TypeError. Linear in their count. */
export function pack(meta: unknown, columns: Readonly<Record<string, ArrayLike<number>>>): Uint8Array<ArrayBuffer> {
  const parts = Object.entries(columns).map(([name, values]) => {
    const isDelta = isSmallerAsDeltas(values);
    const width = widthOf(values, isDelta);
    return { name, values, isDelta, width };
  });
  const head: Head = {
    meta,
    columns: parts.map(({ name, values, width, isDelta }) => [name, values.length, width, isDelta]),
  };
  const headBytes = new TextEncoder().encode(JSON.stringify(head));
  const bodyBytes = parts.reduce((sum, { values, width }) => sum + values.length * width, 0);
  const bytes = new Uint8Array(headLengthBytes + headBytes.length + bodyBytes);
  new DataView(bytes.buffer).setUint32(0, headBytes.length, true);
  bytes.set(headBytes, headLengthBytes);
  let offset = headLengthBytes + headBytes.length;
  for (const { values, width, isDelta } of parts) {
    writePlanes(values, isDelta, width, bytes, offset);
    offset += values.length * width;
  }
  return bytes;
}

/** What `pack` made. Throws a TypeError when the bytes are something else. */
export function unpack<Meta>(bytes: Uint8Array): Packed<Meta> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headBytes = bytes.length < headLengthBytes ? Number.POSITIVE_INFINITY : view.getUint32(0, true);
  if (headLengthBytes + headBytes > bytes.length) throw new TypeError("packed columns are cut short in their head");
  const text = new TextDecoder().decode(bytes.subarray(headLengthBytes, headLengthBytes + headBytes));
  const head = JSON.parse(text) as Head;
  const columns: Record<string, Float64Array> = {};
  let offset = headLengthBytes + headBytes;
  for (const [name, count, width, isDelta] of head.columns) {
    if (offset + count * width > bytes.length) throw new TypeError(`packed column ${name} is cut short`);
    columns[name] = readPlanes(bytes, offset, count, width, isDelta);
    offset += count * width;
  }
  return { meta: head.meta as Meta, columns };
}

/** A column by name; a TypeError where there is none. */
export function columnOf(packed: Packed<unknown>, name: string): Float64Array {
  const column = packed.columns[name];
  if (column === undefined) throw new TypeError(`there is no packed column ${name}`);
  return column;
}

function isSmallerAsDeltas(values: ArrayLike<number>): boolean {
  let plain = 0;
  let deltas = 0;
  let before = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    if (!(Number.isInteger(value) && Math.abs(value) <= wholeMax))
      throw new TypeError(`a column holds ${value} at ${i}, which is no whole number within ±2^51`);
    plain += Math.log2(1 + Math.abs(value));
    deltas += Math.log2(1 + Math.abs(value - before));
    before = value;
  }
  return deltas < plain;
}

function widthOf(values: ArrayLike<number>, isDelta: boolean): number {
  let largest = 0;
  let before = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    largest = Math.max(largest, zigzag(isDelta ? value - before : value));
    before = value;
  }
  let width = 0;
  while (largest > 0) {
    largest = Math.floor(largest / 256);
    width++;
  }
  return width;
}

/** In floating point: numbers go beyond 2^31. */
function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function writePlanes(
  values: ArrayLike<number>,
  isDelta: boolean,
  width: number,
  bytes: Uint8Array,
  offset: number,
): void {
  const count = values.length;
  let before = 0;
  for (let i = 0; i < count; i++) {
    const value = values[i] ?? 0;
    let rest = zigzag(isDelta ? value - before : value);
    before = value;
    for (let plane = 0; plane < width; plane++) {
      const high = Math.floor(rest / 256);
      bytes[offset + plane * count + i] = rest - high * 256;
      rest = high;
    }
  }
}

function readPlanes(bytes: Uint8Array, offset: number, count: number, width: number, isDelta: boolean): Float64Array {
  const values = new Float64Array(count);
  let before = 0;
  for (let i = 0; i < count; i++) {
    let folded = 0;
    for (let plane = width - 1; plane >= 0; plane--) folded = folded * 256 + (bytes[offset + plane * count + i] ?? 0);
    const value = folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
    before = isDelta ? before + value : value;
    values[i] = before;
  }
  return values;
}
