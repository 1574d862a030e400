import { visible } from "../shared/visible.ts";

/** HTML in which every value is escaped unless it is `Markup` already: there is no other way to put text on the page. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = string | number | Markup | null | readonly Part[];

/** Tagged template: `html`<p>${name}</p>``. Values belong into text and into quoted attributes only. */
export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(literals.reduce((text, literal, i) => text + textOf(parts[i - 1] ?? null) + literal));
}

function textOf(part: Part): string {
  if (part === null) return "";
  if (part instanceof Markup) return part.text;
  if (typeof part === "string") return escaped(part);
  if (typeof part === "number") return String(part);
  return part.map(textOf).join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** A name from a run: set apart, so that letters of another direction do not turn what follows. */
export function name(text: string): Markup {
  return html`<bdi>${text}</bdi>`;
}
