import { checkWhole, TimelineError } from "../errors.ts";
import type { RunRecord } from "../run-record.ts";
import { axisLine, timeText } from "./axis.ts";
import { busyCells, type Grid, hbmCells } from "./cells.ts";
import {
  ASCII_GLYPHS,
  cellGlyph,
  colored,
  dimmed,
  type GlyphSet,
  glyphsOf,
  levelGlyph,
  UNICODE_GLYPHS,
} from "./glyphs.ts";
import { fitted, textColumns } from "./text-width.ts";

export interface TextGanttOptions {
  /** Columns of the terminal; no line is wider. A whole number from 40. Default 100. */
  readonly width?: number;
  /** Default: the whole run. */
  readonly fromNs?: number;
  readonly toNs?: number;
  /** Colour classes by ANSI escape sequences. Default false. */
  readonly color?: boolean;
  /** ASCII alone, for terminals without more. Default false. */
  readonly ascii?: boolean;
  /** A line of HBM below each accelerator. Default true. */
  readonly hbm?: boolean;
}

interface Drawing {
  readonly record: RunRecord;
  readonly grid: Grid;
  readonly set: GlyphSet;
  readonly nameColumns: number;
  readonly color: boolean;
  readonly ascii: boolean;
}

const WIDTH_MIN = 40;
const NAME_COLUMNS_MAX = 16;
/** The share of time that an accelerator is busy: `100%` and a blank before. */
const SHARE_COLUMNS = 5;

/**
 * The record as a chart for a terminal: a lane per accelerator, each cell the classes that ran in it. A cell never shows more than it knows: a class's full glyph
 * stands for a cell that is busy for seven eighths with three quarters of that by the class, other glyphs for less; the legend below says so. The HBM line
 * shows the most in use within each cell. At the end of a lane stands the share of the window that it was busy. Throws INVALID_OPTION.
 */
export function textGantt(record: RunRecord, options: TextGanttOptions = {}): string {
  const {
    width = 100,
    fromNs = record.startNs,
    toNs = record.endNs,
    color = false,
    ascii = false,
    hbm = true,
  } = options;
  checkWhole("width", width, WIDTH_MIN);
  if (!(fromNs >= 0 && fromNs <= toNs && toNs < Number.POSITIVE_INFINITY)) {
    throw new TimelineError(
      "INVALID_OPTION",
      `fromNs: ${fromNs} and toNs: ${toNs} are not two finite times, one after the other`,
    );
  }
  const longest = Math.max(3, ...record.accelerators.map(({ name }) => textColumns(name)));
  const nameColumns = Math.min(NAME_COLUMNS_MAX, longest);
  const cells = width - nameColumns - 2 - SHARE_COLUMNS;
  // A window of no length is drawn as one nanosecond.
  const grid = { fromNs, toNs: Math.max(toNs, fromNs + 1), cells };
  const set = ascii ? ASCII_GLYPHS : UNICODE_GLYPHS;
  const drawing: Drawing = { record, grid, set, nameColumns, color, ascii };
  const busy = busyCells(record, grid);
  const lines = [`${" ".repeat(nameColumns + 1)}${axisLine(grid.fromNs, grid.toNs, cells, ascii)}`];
  for (const [index, own] of busy.entries()) {
    lines.push(laneLine(drawing, index, own));
    if (hbm) lines.push(hbmLine(drawing, index));
  }
  return `${[...lines.map((line) => line.trimEnd()), "", ...legend(drawing, width, hbm)].join("\n")}\n`;
}

function laneLine(
  { record, grid, set, nameColumns, color, ascii }: Drawing,
  index: number,
  busy: Float64Array,
): string {
  const classes = record.priorities.length + 1;
  const cellNs = (grid.toNs - grid.fromNs) / grid.cells;
  let lane = "";
  for (let cell = 0; cell < grid.cells; cell++) {
    const shown = cellGlyph(busy, cell, classes, cellNs, set);
    lane += color && shown.class >= 0 ? colored(shown.glyph, shown.class) : shown.glyph;
  }
  const busyNs = busy.reduce((sum, ns) => sum + ns, 0);
  const share = Math.min(100, Math.round((100 * busyNs) / (grid.toNs - grid.fromNs)));
  const edge = ascii ? "|" : "│";
  const name = fitted(record.accelerators[index]?.name ?? "", nameColumns, ascii);
  return `${name}${edge}${lane}${edge}${`${share}%`.padStart(SHARE_COLUMNS - 1)}`;
}

function hbmLine({ record, grid, set, nameColumns, color, ascii }: Drawing, index: number): string {
  const { capacityBytes = 0 } = record.accelerators[index] ?? {};
  const levels = Array.from(hbmCells(record, index, grid), (bytes) => levelGlyph(bytes, capacityBytes, set)).join("");
  const edge = ascii ? "|" : "│";
  const line = `${edge}${levels}${edge}`;
  return `${fitted("HBM", nameColumns, ascii)}${color ? dimmed(line) : line}`;
}

function legend({ record, grid, set, color, ascii }: Drawing, width: number, hbm: boolean): string[] {
  const cellNs = (grid.toNs - grid.fromNs) / grid.cells;
  const classes = record.priorities.length;
  const hasUnknown = record.operators.rank
    .subarray(0, record.operators.count)
    .some((rank) => rank < 0 || rank >= classes);
  const entries = [...record.priorities, ...(hasUnknown ? ["class not known"] : [])].map((name, class_) => {
    const { full, part } = glyphsOf(set, class_, classes);
    const glyphs = `${full} ${part}`;
    return { plain: `${glyphs} ${fitted(name, Math.min(20, textColumns(name)), ascii)}`, glyphs, class_ };
  });
  const rest = [
    `${set.mixed.full} ${set.mixed.part} several classes`,
    `${set.little} busy for less than 1/8 of the cell`,
    ...(hbm ? [`HBM: the most in use in the cell, of the capacity; ${set.over} above it`] : []),
    `a cell is ${timeText(cellNs, cellNs, cellNs / 10, ascii)}; the first glyph of two: busy for 7/8 of it or more`,
  ];
  const shown = [...entries.map(({ plain }) => plain), ...rest];
  return wrapped(shown, width, ascii).map((line) => {
    if (!color) return line;
    return entries.reduce((text, { glyphs, class_ }) => text.replace(glyphs, colored(glyphs, class_)), line);
  });
}

/** Entries on as few lines as they fit on; one that is longer than a line is cut. */
function wrapped(entries: readonly string[], width: number, ascii: boolean): string[] {
  const lines: string[] = [];
  for (const entry of entries) {
    const last = lines.at(-1);
    if (last !== undefined && textColumns(last) + 3 + textColumns(entry) <= width)
      lines[lines.length - 1] = `${last}   ${entry}`;
    else lines.push(entry);
  }
  return lines.flatMap((line) => wordsWithin(line, width, ascii));
}

function wordsWithin(line: string, width: number, ascii: boolean): string[] {
  if (textColumns(line) <= width) return [line];
  const lines = [""];
  for (const word of line.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (textColumns(last) + 1 + textColumns(word) <= width)
      lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
    else lines.push(textColumns(word) > width ? fitted(word, width, ascii) : word);
  }
  return lines;
}
