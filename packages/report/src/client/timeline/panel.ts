/** The timeline of one policy: its canvas, and what a pointer and keys do on it. */
import { create, whileSeen } from "../dom.ts";
import { type Colours, paletteOf } from "../theme.ts";
import { slotCount } from "./colouring.ts";
import { absences } from "./marks.ts";
import {
  drawAbsences,
  drawAxis,
  drawChosen,
  drawLabels,
  drawNames,
  type Geometry,
  nsAt,
  visibleRows,
} from "./panel-drawing.ts";
import { RowPainter } from "./raster.ts";
import { Surface } from "./surface.ts";
import type { TimeView } from "./time-view.ts";
import { operatorAt, rowOf, type Timeline } from "./timeline.ts";
import { movedTo, zoomed } from "./viewport.ts";

export interface PanelOptions {
  readonly container: HTMLElement;
  readonly timeline: Timeline;
  readonly accelerators: readonly string[];
  readonly view: TimeView;
  readonly endNs: number;
  readonly label: string;
  /** Tells of the operator under the pointer, or chosen by keys; −1 for none. */
  readonly onOperator: (operator: number, place: { readonly x: number; readonly y: number } | null) => void;
}

const rowsHeightMax = 480;
const axisHeight = 18;
/** Pixels that a pointer may miss a short operator by. */
const slackPixels = 3;

export class Panel {
  readonly options: PanelOptions;
  readonly canvas: HTMLCanvasElement;
  /** By the keys. */
  chosenRow = -1;
  chosenOperator = -1;
  readonly #scroller: HTMLElement;
  readonly #sizer: HTMLElement;
  readonly #rows: Surface;
  readonly #axis: Surface;
  readonly #painter = new RowPainter(slotCount);
  readonly #absences;
  readonly draw: () => void;
  #slots: Uint8Array = new Uint8Array(0);
  #colours: Colours | null = null;

  constructor(options: PanelOptions) {
    this.options = options;
    this.#absences = absences(options.timeline.meta.notices, options.endNs);
    this.canvas = create("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", options.label);
    const axis = create("canvas", { className: "axis" });
    axis.setAttribute("aria-hidden", "true");
    this.#sizer = create("div", { className: "sizer" }, this.canvas);
    this.#scroller = create("div", { className: "scroller" }, this.#sizer);
    this.#rows = new Surface(this.canvas);
    this.#axis = new Surface(axis);
    options.container.replaceChildren(this.#scroller, axis);
    this.draw = whileSeen(options.container, () => this.#draw());
    this.#scroller.addEventListener("scroll", () => this.draw());
    this.#listen();
  }

  get slots(): Uint8Array {
    return this.#slots;
  }

  /** Of all operators. */
  set slots(slots: Uint8Array) {
    this.#slots = slots;
    this.draw();
  }

  set colours(colours: Colours) {
    this.#colours = colours;
    this.draw();
  }

  /** After the width of the page changed. */
  resize(): void {
    const width = this.options.container.clientWidth;
    const wholeHeight = this.options.accelerators.length * rowHeightOf(this.options.accelerators.length);
    this.#sizer.style.height = `${wholeHeight}px`;
    this.#scroller.style.height = `${Math.min(rowsHeightMax, wholeHeight)}px`;
    this.#scroller.classList.toggle("scrolls", wholeHeight > rowsHeightMax);
    const inner = this.#scroller.clientWidth || width;
    this.#rows.resize(inner, Math.min(rowsHeightMax, wholeHeight));
    this.#axis.resize(inner, axisHeight);
    this.draw();
  }

  #draw(): void {
    if (this.#colours === null || this.canvas.width <= 1) return;
    const colours = this.#colours;
    const geometry = this.#geometry();
    const view = this.options.view.viewport;
    const { timeline, accelerators } = this.options;
    const context = this.#rows.begin();
    this.#paint(geometry, colours);
    drawAbsences(context, geometry, view, this.#absences, colours);
    drawLabels(context, geometry, view, timeline, this.#slots, colours);
    drawNames(context, geometry, accelerators, this.chosenRow, colours);
    if (this.chosenOperator >= 0) {
      const startNs = timeline.startNs[this.chosenOperator] ?? 0;
      const endNs = timeline.endNs[this.chosenOperator] ?? 0;
      drawChosen(context, geometry, view, { row: rowOf(timeline, this.chosenOperator), startNs, endNs }, colours);
    }
    drawAxis(this.#axis.begin(), geometry, view, colours);
  }

  /** Scrolls as little as it must for a row to be in view. */
  revealRow(row: number): void {
    const height = rowHeightOf(this.options.accelerators.length);
    const { scrollTop, clientHeight } = this.#scroller;
    if (row * height < scrollTop) this.#scroller.scrollTop = row * height;
    else if ((row + 1) * height > scrollTop + clientHeight)
      this.#scroller.scrollTop = (row + 1) * height - clientHeight;
  }

  #geometry(): Geometry {
    const rows = this.options.accelerators.length;
    return {
      gutter: this.#rows.width < 500 ? 40 : 64,
      width: this.#rows.width,
      rowHeight: rowHeightOf(rows),
      scrollTop: this.#scroller.scrollTop,
      height: this.#rows.height,
      rows,
    };
  }

  #paint(geometry: Geometry, colours: Colours): void {
    const { ratio, context, canvas } = this.#rows;
    const { timeline, view } = this.options;
    const left = Math.round(geometry.gutter * ratio);
    const width = canvas.width - left;
    if (width < 1) return;
    const image = context.createImageData(width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const { first, last } = visibleRows(geometry);
    const { fromNs, toNs } = view.viewport;
    const palette = paletteOf(colours);
    for (let row = first; row <= last; row++) {
      const from = Math.max(0, Math.round((row * geometry.rowHeight - geometry.scrollTop) * ratio));
      const to = Math.min(canvas.height, Math.round(((row + 1) * geometry.rowHeight - geometry.scrollTop - 1) * ratio));
      const place = { row, top: from, height: to - from };
      this.#painter.paint({ pixels, width }, place, timeline, this.#slots, palette, fromNs, toNs);
    }
    context.putImageData(image, left, 0);
  }

  #listen(): void {
    const { canvas } = this;
    let drag: { readonly x: number; readonly fromNs: number } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { x: event.offsetX, fromNs: this.options.view.viewport.fromNs };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag === null) this.#point(event);
      else this.#drag(drag, event.offsetX);
    });
    for (const name of ["pointerup", "pointercancel"] as const)
      canvas.addEventListener(name, () => {
        drag = null;
      });
    canvas.addEventListener("pointerleave", () => this.options.onOperator(-1, null));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  #point(event: PointerEvent): void {
    const geometry = this.#geometry();
    const view = this.options.view.viewport;
    const row = Math.floor((event.offsetY + geometry.scrollTop) / geometry.rowHeight);
    const isInside = event.offsetX >= geometry.gutter && row < geometry.rows;
    const slackNs = (slackPixels / (geometry.width - geometry.gutter)) * (view.toNs - view.fromNs);
    const atNs = nsAt(geometry, view, event.offsetX);
    const operator = isInside ? operatorAt(this.options.timeline, row, atNs, slackNs) : -1;
    this.options.onOperator(operator, { x: event.clientX, y: event.clientY });
  }

  #drag(drag: { readonly x: number; readonly fromNs: number }, x: number): void {
    const { view } = this.options;
    const { gutter, width } = this.#geometry();
    const { fromNs, toNs } = view.viewport;
    view.viewport = movedTo(view.viewport, drag.fromNs - ((x - drag.x) / (width - gutter)) * (toNs - fromNs));
  }

  /** Zooms where the panel has the focus or Ctrl is held; else the page scrolls, as a reader expects. Sideways always moves. */
  #wheel(event: WheelEvent): void {
    const { view } = this.options;
    const geometry = this.#geometry();
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const isZoom = event.ctrlKey || event.metaKey || document.activeElement === this.canvas;
    if (!isSideways && !isZoom) return;
    event.preventDefault();
    const { fromNs, toNs } = view.viewport;
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (isSideways) {
      const share = (event.deltaX * pixels) / (geometry.width - geometry.gutter);
      view.viewport = movedTo(view.viewport, fromNs + share * (toNs - fromNs));
    } else {
      const atNs = Math.max(fromNs, nsAt(geometry, view.viewport, event.offsetX));
      view.viewport = zoomed(view.viewport, atNs, Math.exp(Math.max(-1, Math.min(1, event.deltaY * pixels * 0.002))));
    }
  }
}

/** In CSS pixels: few rows are tall. */
function rowHeightOf(rows: number): number {
  return rows <= 10 ? 20 : rows <= 24 ? 14 : 7;
}
