/** Tells what an operator is: in a line above the timelines, and beside the pointer. */
import { create, find, nameElement } from "../dom.ts";
import type { Panel } from "./panel.ts";
import { rowOf } from "./timeline.ts";
import { operatorWords } from "./words.ts";

export class Inspector {
  readonly #line = find("[data-inspector]", HTMLElement);
  readonly #hint = this.#line.textContent;
  readonly #tip = create("div", { className: "tip", hidden: true });

  constructor() {
    this.#tip.setAttribute("aria-hidden", "true");
    document.body.append(this.#tip);
  }

  /** @param place of the pointer, or null for the keys. */
  show(panel: Panel, operator: number, place: { readonly x: number; readonly y: number } | null): void {
    const { timeline, accelerators, view } = panel.options;
    this.#tip.hidden = operator < 0 || place === null;
    if (operator < 0) {
      const row = accelerators[panel.chosenRow];
      if (place === null && row !== undefined) this.#line.replaceChildren("Accelerator ", nameElement(row));
      else if (place === null) this.#line.textContent = this.#hint;
      return;
    }
    const accelerator = accelerators[rowOf(timeline, operator)] ?? "";
    const { name, facts } = operatorWords(timeline, operator, accelerator, view.viewport.spanNs);
    this.#line.replaceChildren(create("b", {}, nameElement(name)));
    for (const [what, value] of facts) this.#line.append(` · ${what} `, nameElement(value));
    if (place === null) return;
    this.#tip.replaceChildren(
      create("b", {}, nameElement(name)),
      create(
        "dl",
        {},
        ...facts.map(([what, value]) =>
          create("div", {}, create("dt", { textContent: what }), create("dd", {}, nameElement(value))),
        ),
      ),
    );
    this.#move(place.x, place.y);
  }

  /** Beside the pointer, within the window. */
  #move(x: number, y: number): void {
    const { offsetWidth, offsetHeight } = this.#tip;
    const left = x + 14 + offsetWidth > innerWidth ? Math.max(4, x - 14 - offsetWidth) : x + 14;
    const top = y + 14 + offsetHeight > innerHeight ? Math.max(4, y - 14 - offsetHeight) : y + 14;
    this.#tip.style.transform = `translate(${left}px, ${top}px)`;
  }
}
