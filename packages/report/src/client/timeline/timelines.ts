/** All timelines of the page, their toolbar, legend and strip. */
import type { ColourNames, OverviewMeta } from "../../shared/blocks.ts";
import { formatNs } from "../../shared/format.ts";
import { create, find, nameElement, onceAtRest } from "../dom.ts";
import type { Colours, Theme } from "../theme.ts";
import { mixed } from "../theme.ts";
import {
  type ColourMode,
  failedSlot,
  hatchedFrom,
  type LegendEntry,
  legendOf,
  otherColour,
  slotsOf,
} from "./colouring.ts";
import { Inspector } from "./inspector.ts";
import { listenToKeys, zoomStep } from "./keys.ts";
import { OverviewStrip } from "./overview-strip.ts";
import { Panel } from "./panel.ts";
import { slotsUsed } from "./panel-drawing.ts";
import type { TimeView } from "./time-view.ts";
import type { Timeline } from "./timeline.ts";
import { panned, wholeRun, zoomed } from "./viewport.ts";

const settledMs = 400;

export class Timelines {
  readonly #panels: Panel[] = [];
  readonly #view: TimeView;
  readonly #theme: Theme;
  readonly #names: ColourNames;
  readonly #strip: OverviewStrip;
  readonly #inspector = new Inspector();
  readonly #mode = find("[data-colours]", HTMLSelectElement);
  readonly #legend = find("[data-legend]", HTMLElement);
  /** To who does not see it: keys that repeat are one movement. */
  readonly #tellRange = onceAtRest(settledMs, () => {
    find("[data-range-words]", HTMLElement).textContent = `Shown: ${this.#rangeWords("the whole run, ")}.`;
  });

  /** @param busy per policy: share per bucket, in millionths. */
  constructor(meta: OverviewMeta, busy: readonly Float64Array[], view: TimeView, theme: Theme) {
    this.#view = view;
    this.#theme = theme;
    this.#names = meta.colours;
    this.#strip = new OverviewStrip(find("[data-overview]", HTMLElement), busy, view);
    // One tenant says nothing; its classes do.
    if (meta.colours.tenants.length < 2) this.#mode.value = "class";
    this.#mode.addEventListener("change", () => this.#colour());
    this.#listenToToolbar();
    theme.follow((colours) => this.#paint(colours));
    view.follow(() => this.#showRange());
    view.follow(() => {
      for (const panel of this.#panels) panel.draw();
    });
    new ResizeObserver(() => this.#resize()).observe(find("[data-overview]", HTMLElement));
  }

  add(meta: OverviewMeta, policy: number, timeline: Timeline): void {
    const { name = "", accelerators = [], endNs = 0 } = meta.policies[policy] ?? {};
    const panel: Panel = new Panel({
      container: find(`[data-panel="${policy}"]`, HTMLElement),
      timeline,
      accelerators: accelerators.map((accelerator) => accelerator.name),
      view: this.#view,
      endNs,
      label: `Timeline of ${name}: ${accelerators.length} accelerators, ${timeline.name.length} operators. Arrow keys move, plus and minus zoom, comma and full stop go through the operators.`,
      onOperator: (operator, place) => this.#inspector.show(panel, operator, place),
    });
    listenToKeys(panel, (operator) => this.#inspector.show(panel, operator, null));
    this.#panels.push(panel);
    panel.colours = this.#theme.colours();
    panel.slots = slotsOf(timeline, this.#mode.value as ColourMode, this.#names);
    panel.resize();
    this.#showLegend();
  }

  #resize(): void {
    this.#strip.resize();
    for (const panel of this.#panels) panel.resize();
  }

  #colour(): void {
    const mode = this.#mode.value as ColourMode;
    for (const panel of this.#panels) panel.slots = slotsOf(panel.options.timeline, mode, this.#names);
    this.#showLegend();
  }

  #paint(colours: Colours): void {
    this.#strip.colours = colours;
    for (const panel of this.#panels) panel.colours = colours;
    this.#showLegend();
  }

  #listenToToolbar(): void {
    const view = this.#view;
    const act: Readonly<Record<string, () => void>> = {
      "zoom-in": () => this.#zoom(zoomStep),
      "zoom-out": () => this.#zoom(1 / zoomStep),
      "pan-left": () => (view.viewport = panned(view.viewport, -0.5)),
      "pan-right": () => (view.viewport = panned(view.viewport, 0.5)),
      whole: () => (view.viewport = wholeRun(view.viewport.spanNs)),
    };
    for (const button of document.querySelectorAll("button[data-action]"))
      button.addEventListener("click", () => act[button.getAttribute("data-action") ?? ""]?.());
  }

  #zoom(factor: number): void {
    const { fromNs, toNs } = this.#view.viewport;
    this.#view.viewport = zoomed(this.#view.viewport, (fromNs + toNs) / 2, factor);
  }

  #showRange(): void {
    const range = find("[data-range]", HTMLElement);
    const text = this.#rangeWords("all ");
    if (range.textContent === text) return;
    const isFirst = range.textContent === "";
    range.textContent = text;
    if (!isFirst) this.#tellRange();
  }

  #rangeWords(whole: string): string {
    const { fromNs, toNs, spanNs } = this.#view.viewport;
    if (toNs - fromNs >= spanNs) return `${whole}${formatNs(spanNs)}`;
    return `${formatNs(toNs - fromNs)} from ${formatNs(fromNs)}`;
  }

  #showLegend(): void {
    const priorities = this.#panels[0]?.options.timeline.meta.priorities ?? [];
    const used = slotsUsed(this.#panels.map((panel) => panel.slots));
    const entries = legendOf(this.#mode.value as ColourMode, this.#names, priorities, used);
    this.#legend.replaceChildren(...entries.map((entry) => legendItem(entry, this.#theme.colours())));
  }
}

function legendItem({ slot, text }: LegendEntry, { series, row, alert }: Colours): HTMLElement {
  const swatch = create("span", { className: "swatch" });
  const colour = slot === failedSlot ? alert : (series[slot % hatchedFrom] ?? series[otherColour] ?? row);
  const isHatched = slot >= hatchedFrom && slot < failedSlot;
  swatch.style.background = isHatched
    ? `repeating-linear-gradient(135deg, ${mixed(colour, row, 0.4)} 0 3px, ${mixed(colour, row, 0.8)} 3px 5px)`
    : colour;
  return create("li", {}, swatch, nameElement(text));
}
