/**
 * Rows of a timeline as pixels. An operator that is wide enough is a block; narrower ones add up, per column and colour, to the
 * share of the column's time that they took, drawn as stacked heights: nothing is left out.
 * Straight loops over arrays: all operators of a run are painted in some ms.
 */
import { firstEndingAfter, type Timeline } from "./timeline.ts";

/** Colours as a canvas keeps them, one 32-bit number per pixel. */
export interface Palette {
  /** By slot. */
  readonly fill: Uint32Array;
  /** By slot: stripes over blocks, the same colour for none. */
  readonly stripe: Uint32Array;
  readonly row: number;
  /** Between neighbouring blocks. */
  readonly edge: number;
}

export interface Raster {
  readonly pixels: Uint32Array;
  readonly width: number;
}

export interface RowPlace {
  readonly row: number;
  readonly top: number;
  readonly height: number;
}

/** Pixels from which on an operator is a block of its own, and from which on it is set apart from the next. */
const blockPixels = 2;
const edgePixels = 5;

/** Scratch of one row: the time taken per column and slot, reused so that nothing is allocated while the view moves. */
export class RowPainter {
  readonly #slots: number;
  #taken = new Float32Array(0);

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** @param slots of all operators of the timeline. */
  paint(
    { pixels, width }: Raster,
    { row, top, height }: RowPlace,
    timeline: Timeline,
    slots: Uint8Array,
    palette: Palette,
    fromNs: number,
    toNs: number,
  ): void {
    const { startNs, endNs, offsets } = timeline;
    for (let y = top; y < top + height; y++) pixels.fill(palette.row, y * width, (y + 1) * width);
    const scale = width / (toNs - fromNs);
    const first = firstEndingAfter(timeline, row, fromNs);
    const until = offsets[row + 1] ?? 0;
    const taken = this.#clearedTo(width * this.#slots);
    let last = first;
    let hasBlocks = false;
    for (; last < until && (startNs[last] ?? 0) < toNs; last++) {
      const left = Math.max(0, ((startNs[last] ?? 0) - fromNs) * scale);
      const right = Math.min(width, ((endNs[last] ?? 0) - fromNs) * scale);
      if (right - left < blockPixels) addShares(taken, this.#slots, width, left, right, slots[last] ?? 0);
      else hasBlocks = true;
    }
    paintColumns(pixels, width, top, height, taken, this.#slots, palette);
    for (let i = first; hasBlocks && i < last; i++) {
      const left = Math.max(0, ((startNs[i] ?? 0) - fromNs) * scale);
      const right = Math.min(width, ((endNs[i] ?? 0) - fromNs) * scale);
      if (right - left < blockPixels) continue;
      paintBlock(pixels, width, top, height, Math.round(left), Math.round(right), slots[i] ?? 0, palette);
    }
  }

  #clearedTo(length: number): Float32Array {
    if (this.#taken.length === length) this.#taken.fill(0);
    else this.#taken = new Float32Array(length);
    return this.#taken;
  }
}

function addShares(taken: Float32Array, slots: number, width: number, left: number, right: number, slot: number): void {
  let x = left;
  while (x < right) {
    const column = Math.min(width - 1, Math.floor(x));
    const until = column === width - 1 ? right : Math.min(right, column + 1);
    const at = column * slots + slot;
    taken[at] = (taken[at] ?? 0) + until - x;
    x = until;
  }
}

function paintColumns(
  pixels: Uint32Array,
  width: number,
  top: number,
  height: number,
  taken: Float32Array,
  slots: number,
  { fill }: Palette,
): void {
  for (let x = 0; x < width; x++) {
    let share = 0;
    let bottom = top + height;
    for (let slot = 0; slot < slots; slot++) {
      const more = taken[x * slots + slot] ?? 0;
      if (more === 0) continue;
      share += more;
      // What took any time at all has one pixel at least.
      const upper = Math.max(
        top,
        Math.min(bottom - (bottom > top ? 1 : 0), top + height - Math.round(Math.min(1, share) * height)),
      );
      for (let y = upper; y < bottom; y++) pixels[y * width + x] = fill[slot] ?? 0;
      bottom = upper;
    }
  }
}

function paintBlock(
  pixels: Uint32Array,
  width: number,
  top: number,
  height: number,
  left: number,
  right: number,
  slot: number,
  palette: Palette,
): void {
  const fill = palette.fill[slot] ?? 0;
  const stripe = palette.stripe[slot] ?? 0;
  const end = right - left >= edgePixels ? right - 1 : right;
  for (let y = top; y < top + height; y++) {
    pixels.fill(fill, y * width + left, y * width + end);
    if (stripe !== fill) for (let x = left; x < end; x++) if (isStriped(x, y)) pixels[y * width + x] = stripe;
    if (end < right) pixels[y * width + end] = palette.edge;
  }
}

function isStriped(x: number, y: number): boolean {
  return ((x + y) & 7) < 2;
}

/** `#rrggbb` as a pixel of a canvas, little endian. */
export function pixelOf(colour: string): number {
  const value = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >>> 16)) >>> 0;
}
