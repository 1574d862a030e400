/** Glyphs of a class, or of several: for a cell that it fills, and for one that it runs in for a while. */
interface ClassGlyphs {
  readonly full: string;
  readonly part: string;
}

export interface GlyphSet {
  readonly classes: readonly ClassGlyphs[];
  readonly unknown: ClassGlyphs;
  /** Several classes, none of them three quarters of the busy time. */
  readonly mixed: ClassGlyphs;
  /** Busy for less than an eighth of the cell. */
  readonly little: string;
  readonly idle: string;
  /** From nothing to all of the capacity. */
  readonly levels: readonly string[];
  readonly over: string;
}

export const UNICODE_GLYPHS: GlyphSet = {
  classes: [
    { full: "█", part: "▄" },
    { full: "▒", part: "░" },
    { full: "╬", part: "┼" },
    { full: "◆", part: "◇" },
  ],
  unknown: { full: "■", part: "□" },
  mixed: { full: "▚", part: "▘" },
  little: "·",
  idle: " ",
  levels: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
  over: "!",
};

export const ASCII_GLYPHS: GlyphSet = {
  classes: [
    { full: "#", part: "+" },
    { full: "O", part: "o" },
    { full: "X", part: "x" },
    { full: "V", part: "v" },
  ],
  unknown: { full: "@", part: "a" },
  mixed: { full: "%", part: "/" },
  little: ".",
  idle: " ",
  levels: [" ", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
  over: "!",
};

/** Red first, then those that are told apart best from it. */
const COLORS = [31, 36, 33, 35, 32, 34] as const;

/** Beyond the glyphs there are, classes share the last ones. */
export function glyphsOf(set: GlyphSet, class_: number, classes: number): ClassGlyphs {
  return class_ >= classes ? set.unknown : (set.classes[Math.min(class_, set.classes.length - 1)] ?? set.unknown);
}

export function colored(text: string, class_: number): string {
  return `\u001b[${COLORS[class_ % COLORS.length]}m${text}\u001b[39m`;
}

export function dimmed(text: string): string {
  return `\u001b[2m${text}\u001b[22m`;
}

/** What a cell shows, and the class it is coloured by; −1 for none. */
export function cellGlyph(
  busy: ArrayLike<number>,
  cell: number,
  classes: number,
  cellNs: number,
  set: GlyphSet,
): { readonly glyph: string; readonly class: number } {
  let total = 0;
  let most = 0;
  let class_ = -1;
  for (let it = 0; it < classes; it++) {
    const ns = busy[cell * classes + it] as number;
    total += ns;
    if (ns <= most) continue;
    most = ns;
    class_ = it;
  }
  if (total === 0) return { glyph: set.idle, class: -1 };
  if (total < cellNs / 8) return { glyph: set.little, class: class_ };
  const isMixed = most < total * 0.75;
  const { full, part } = isMixed ? set.mixed : glyphsOf(set, class_, classes - 1);
  return { glyph: total >= cellNs * 0.875 ? full : part, class: isMixed ? -1 : class_ };
}

/** The level of the most bytes in use; anything above nothing shows. */
export function levelGlyph(bytes: number, capacityBytes: number, set: GlyphSet): string {
  if (Number.isNaN(bytes)) return set.idle;
  if (bytes > capacityBytes) return set.over;
  const top = set.levels.length - 1;
  return set.levels[capacityBytes === 0 ? 0 : Math.ceil((bytes / capacityBytes) * top)] ?? set.over;
}
