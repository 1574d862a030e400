/** The whole run in one strip per policy, darker where more accelerators were busy, and the stretch that is shown. */
import { create } from "../dom.ts";
import { type Colours, mixed } from "../theme.ts";
import { Surface } from "./surface.ts";
import type { TimeView } from "./time-view.ts";
import { between, movedTo } from "./viewport.ts";

const stripHeight = 7;
/** A shorter drag is a click, which moves the stretch there. */
const dragPixels = 4;

export class OverviewStrip {
  readonly #surface: Surface;
  readonly #container: HTMLElement;
  readonly #busy: readonly Float64Array[];
  readonly #view: TimeView;
  #colours: Colours | null = null;

  /** @param busy per policy: share per bucket, in millionths. */
  constructor(container: HTMLElement, busy: readonly Float64Array[], view: TimeView) {
    const canvas = create("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "The whole run, one strip per policy; a frame marks the stretch that is shown");
    this.#surface = new Surface(canvas);
    this.#container = container;
    this.#busy = busy;
    this.#view = view;
    container.replaceChildren(canvas);
    this.#listen(canvas);
    view.follow(() => this.draw());
  }

  set colours(colours: Colours) {
    this.#colours = colours;
    this.draw();
  }

  resize(): void {
    this.#surface.resize(this.#container.clientWidth, this.#busy.length * stripHeight + 6);
    this.draw();
  }

  draw(): void {
    if (this.#colours === null || this.#surface.width <= 1) return;
    const { row, series, focus, surface } = this.#colours;
    const context = this.#surface.begin();
    const { width, height } = this.#surface;
    this.#busy.forEach((busy, policy) => {
      const bucketWidth = width / busy.length;
      for (let bucket = 0; bucket < busy.length; bucket++) {
        context.fillStyle = mixed(row, series[0] ?? row, Math.min(1, (busy[bucket] ?? 0) / 1e6));
        context.fillRect(bucket * bucketWidth, 3 + policy * stripHeight, bucketWidth + 0.6, stripHeight - 1);
      }
    });
    const { fromNs, toNs, spanNs } = this.#view.viewport;
    const left = (fromNs / spanNs) * width;
    const right = Math.max(left + 3, (toNs / spanNs) * width);
    context.globalAlpha = 0.5;
    context.fillStyle = surface;
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.globalAlpha = 1;
    context.strokeStyle = focus;
    context.lineWidth = 2;
    context.strokeRect(Math.max(1, left), 1, Math.min(width - 2, right - left), height - 2);
  }

  /** A click moves the stretch there; a drag outside of it chooses a new one, inside moves it. */
  #listen(canvas: HTMLCanvasElement): void {
    let startX: number | null = null;
    let startFromNs = 0;
    const nsOf = (x: number): number => (x / this.#surface.width) * this.#view.viewport.spanNs;
    canvas.addEventListener("pointerdown", (event) => {
      startX = event.offsetX;
      startFromNs = this.#view.viewport.fromNs;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (startX === null) return;
      const { viewport } = this.#view;
      const isInside = nsOf(startX) >= startFromNs && nsOf(startX) <= startFromNs + viewport.toNs - viewport.fromNs;
      const isWhole = viewport.toNs - viewport.fromNs >= viewport.spanNs;
      if (isInside && !isWhole)
        this.#view.viewport = movedTo(viewport, startFromNs + nsOf(event.offsetX) - nsOf(startX));
    });
    canvas.addEventListener("pointerup", (event) => {
      if (startX === null) return;
      const { viewport } = this.#view;
      const lengthNs = viewport.toNs - viewport.fromNs;
      const wasMoved = viewport.fromNs !== startFromNs;
      if (Math.abs(event.offsetX - startX) < dragPixels)
        this.#view.viewport = movedTo(viewport, nsOf(event.offsetX) - lengthNs / 2);
      else if (!wasMoved) this.#view.viewport = between(viewport, nsOf(startX), nsOf(event.offsetX));
      startX = null;
    });
    canvas.addEventListener("pointercancel", () => {
      startX = null;
    });
  }
}
