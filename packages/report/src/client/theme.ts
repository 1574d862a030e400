/** Colours of what is drawn, read from the style sheet, so that the page and its charts have one palette. */

import { find } from "./dom.ts";
import { failedSlot, hatchedFrom, otherColour, slotCount } from "./timeline/colouring.ts";
import { type Palette, pixelOf } from "./timeline/raster.ts";

export interface Colours {
  /** Of lines and operators; the last one is that of all others. */
  readonly series: readonly string[];
  readonly text: string;
  readonly muted: string;
  readonly grid: string;
  readonly surface: string;
  readonly row: string;
  readonly alert: string;
  readonly focus: string;
}

type Listener = (colours: Colours) => void;

/** Light or dark, as the system has it unless the reader chose; paper is light. */
export class Theme {
  readonly #listeners: Listener[] = [];
  #printing: boolean = false;

  constructor() {
    const select = find("[data-theme-choice]", HTMLSelectElement);
    select.addEventListener("change", () => this.#apply(select.value));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#tell());
    addEventListener("beforeprint", () => this.#print(true));
    addEventListener("afterprint", () => this.#print(false));
  }

  /** Calls back now and whenever the colours change. */
  follow(listener: Listener): void {
    this.#listeners.push(listener);
    listener(this.colours());
  }

  colours(): Colours {
    const style = getComputedStyle(document.documentElement);
    const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
    return {
      series: Array.from({ length: otherColour + 1 }, (_, i) => of(`c${i}`)),
      text: of("text"),
      muted: of("muted"),
      grid: of("grid"),
      surface: of("surface"),
      row: of("row"),
      alert: of("alert"),
      focus: of("focus"),
    };
  }

  #apply(choice: string): void {
    const root = document.documentElement;
    if (choice === "auto") delete root.dataset["theme"];
    else root.dataset["theme"] = choice;
    this.#tell();
  }

  #print(isPrinting: boolean): void {
    if (this.#printing === isPrinting) return;
    this.#printing = isPrinting;
    document.documentElement.classList.toggle("printing", isPrinting);
    for (const fold of document.querySelectorAll("details[data-print]"))
      if (fold instanceof HTMLDetailsElement) fold.open = isPrinting;
    this.#tell();
  }

  #tell(): void {
    const colours = this.colours();
    for (const listener of this.#listeners) listener(colours);
  }
}

/** Less urgent operators are striped with the row's colour. */
export function paletteOf({ series, row, alert, surface }: Colours): Palette {
  const fill = new Uint32Array(slotCount);
  const stripe = new Uint32Array(slotCount);
  series.forEach((colour, i) => {
    fill[i] = pixelOf(colour);
    stripe[i] = pixelOf(colour);
    fill[i + hatchedFrom] = pixelOf(mixed(colour, row, 0.4));
    stripe[i + hatchedFrom] = pixelOf(mixed(colour, row, 0.8));
  });
  fill[failedSlot] = pixelOf(alert);
  stripe[failedSlot] = pixelOf(surface);
  return { fill, stripe, row: pixelOf(row), edge: pixelOf(surface) };
}

/** @param share of the second colour. Both as `#rrggbb`. */
export function mixed(a: string, b: string, share: number): string {
  const part = (from: number): string => {
    const of = (colour: string): number => Number.parseInt(colour.slice(from, from + 2), 16);
    return Math.round(of(a) * (1 - share) + of(b) * share)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${part(1)}${part(3)}${part(5)}`;
}

/** Black or white, whichever is read more easily on the colour. */
export function inkOn(colour: string): string {
  const channel = (from: number): number => (Number.parseInt(colour.slice(from, from + 2), 16) / 255) ** 2.2;
  const luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return luminance > 0.2 ? "#000000" : "#ffffff";
}
