/** What a panel draws over its pixels: names, marks of time, absences, names of operators, what is chosen. */
import { clockUnit, formatTime } from "../../shared/format.ts";
import type { Colours } from "../theme.ts";
import { inkOn } from "../theme.ts";
import { failedSlot, hatchedFrom, otherColour } from "./colouring.ts";
import type { Absence } from "./marks.ts";
import { fitted, font } from "./surface.ts";
import { tickStepNs, ticks } from "./ticks.ts";
import { firstEndingAfter, type Timeline } from "./timeline.ts";
import type { Viewport } from "./viewport.ts";

/** Where things are, in CSS pixels. */
export interface Geometry {
  /** Of the names at the left. */
  readonly gutter: number;
  readonly width: number;
  readonly rowHeight: number;
  /** First row in view, possibly in part, and how far it is scrolled. */
  readonly scrollTop: number;
  readonly height: number;
  readonly rows: number;
}

const labelledRowHeight = 12;
const labelledWidth = 46;

function xOf({ gutter, width }: Geometry, { fromNs, toNs }: Viewport, atNs: number): number {
  return gutter + ((atNs - fromNs) / (toNs - fromNs)) * (width - gutter);
}

export function nsAt({ gutter, width }: Geometry, { fromNs, toNs }: Viewport, x: number): number {
  return fromNs + ((x - gutter) / (width - gutter)) * (toNs - fromNs);
}

export function visibleRows({ scrollTop, height, rowHeight, rows }: Geometry): { first: number; last: number } {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight));
  return { first, last: Math.min(rows - 1, Math.ceil((scrollTop + height) / rowHeight) - 1) };
}

export function drawNames(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  names: readonly string[],
  chosenRow: number,
  colours: Colours,
): void {
  const { rowHeight, gutter, scrollTop } = geometry;
  const every = Math.ceil(11 / rowHeight);
  const { first, last } = visibleRows(geometry);
  for (let row = first; row <= last; row++) {
    const isChosen = row === chosenRow;
    // The name of the chosen row takes the place of those around it.
    if (!isChosen && (row % every !== 0 || Math.abs(row - chosenRow) < every)) continue;
    context.fillStyle = isChosen ? colours.text : colours.muted;
    context.font = isChosen ? `bold ${font}` : font;
    context.fillText(fitted(context, names[row] ?? "", gutter - 10), 4, row * rowHeight - scrollTop + rowHeight / 2);
  }
  context.font = font;
}

export function drawAbsences(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  view: Viewport,
  list: readonly Absence[],
  colours: Colours,
): void {
  const { gutter, rowHeight, scrollTop, width } = geometry;
  for (const { accelerator, fromNs, toNs } of list) {
    const left = Math.max(gutter, xOf(geometry, view, fromNs));
    const right = Math.min(width, Math.max(xOf(geometry, view, toNs), left + 2));
    if (accelerator < 0 || right <= gutter || left >= width) continue;
    const top = accelerator * rowHeight - scrollTop;
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, rowHeight - 1);
    context.clip();
    context.strokeStyle = colours.alert;
    context.lineWidth = 1;
    context.beginPath();
    for (let x = left - rowHeight; x < right; x += 6) {
      context.moveTo(x, top + rowHeight);
      context.lineTo(x + rowHeight, top);
    }
    context.stroke();
    context.restore();
  }
}

/** Names on the blocks that are wide enough. */
export function drawLabels(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  view: Viewport,
  timeline: Timeline,
  slots: Uint8Array,
  colours: Colours,
): void {
  const { rowHeight, scrollTop, gutter, width } = geometry;
  if (rowHeight < labelledRowHeight) return;
  const { first, last } = visibleRows(geometry);
  const shortestNs = (labelledWidth / (width - gutter)) * (view.toNs - view.fromNs);
  for (let row = first; row <= last; row++) {
    const until = timeline.offsets[row + 1] ?? 0;
    for (let i = firstEndingAfter(timeline, row, view.fromNs); i < until; i++) {
      const startNs = timeline.startNs[i] ?? 0;
      const endNs = timeline.endNs[i] ?? 0;
      if (startNs >= view.toNs) break;
      if (endNs - startNs < shortestNs) continue;
      const left = Math.max(gutter, xOf(geometry, view, startNs));
      const right = Math.min(width, xOf(geometry, view, endNs));
      const text = shortName(timeline.meta.operatorNames[timeline.name[i] ?? 0] ?? "");
      const slot = slots[i] ?? 0;
      context.fillStyle = slot >= hatchedFrom ? colours.text : inkOn(colours.series[slot] ?? colours.text);
      if (slot === failedSlot) context.fillStyle = inkOn(colours.alert);
      context.fillText(fitted(context, text, right - left - 8), left + 4, row * rowHeight - scrollTop + rowHeight / 2);
    }
  }
}

/** The part after the template's name, which says more on a small block. */
function shortName(text: string): string {
  return text.slice(text.lastIndexOf("/") + 1);
}

export function drawChosen(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  view: Viewport,
  chosen: { readonly row: number; readonly startNs: number; readonly endNs: number },
  colours: Colours,
): void {
  const left = Math.max(geometry.gutter, xOf(geometry, view, chosen.startNs));
  const right = Math.min(geometry.width, xOf(geometry, view, chosen.endNs));
  if (right < geometry.gutter || left > geometry.width) return;
  context.strokeStyle = colours.focus;
  context.lineWidth = 2;
  const top = chosen.row * geometry.rowHeight - geometry.scrollTop;
  context.strokeRect(left - 1, top, Math.max(3, right - left + 2), geometry.rowHeight - 1);
}

/** Marks of time below the rows, and their unit beside them. */
export function drawAxis(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  view: Viewport,
  colours: Colours,
): void {
  const { gutter, width } = geometry;
  const stepNs = tickStepNs(view.toNs - view.fromNs, Math.max(2, Math.floor((width - gutter) / 90)));
  context.strokeStyle = colours.muted;
  context.fillStyle = colours.muted;
  context.lineWidth = 1;
  context.textAlign = "center";
  for (const atNs of ticks(view.fromNs, view.toNs, stepNs)) {
    const x = Math.round(xOf(geometry, view, atNs)) + 0.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, 4);
    context.stroke();
    const text = formatTime(atNs, stepNs, view.spanNs);
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.max(gutter + half, Math.min(width - half, x)), 11);
  }
  context.textAlign = "end";
  context.fillText(clockUnit(view.toNs, view.spanNs), gutter - 6, 11);
  context.textAlign = "start";
}

/** Slots that are drawn at all, for the legend. */
export function slotsUsed(slots: readonly Uint8Array[]): Set<number> {
  const counts = new Uint32Array(failedSlot + 1);
  for (const list of slots) for (let i = 0; i < list.length; i++) counts[list[i] ?? otherColour] = 1;
  return new Set([...counts.keys()].filter((slot) => counts[slot] === 1));
}
