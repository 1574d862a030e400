import { html, Markup } from "./html.ts";

const printedRowsMax = 80;

export interface Figure {
  readonly id: string;
  readonly title: string;
  readonly lead: string;
  /** Of the chart; shown where scripts run. */
  readonly controls?: Markup;
  /** What the chart is, for those who do not see it. */
  readonly label: string;
  /** What it shows, in figures. */
  readonly table?: Markup;
}

/** A chart that a script draws, and its table. */
export function figure({ id, title, lead, controls, label, table }: Figure): Markup {
  const bar = controls === undefined ? null : html`<div class="toolbar" data-needs-script hidden>${controls}</div>`;
  return html`<section class="figure" aria-labelledby="${id}-title"><h3 id="${id}-title">${title}</h3><p class="lead">${lead}</p>${bar}
<div class="chart" data-chart="${id}" data-label="${label}"></div>
${table ?? null}</section>
`;
}

/** Tables behind a fold, which print opens unless they are long. */
export function tables(title: string, content: readonly Markup[], rows: number): Markup {
  return html`<details${rows <= printedRowsMax ? new Markup(" data-print") : null}><summary>${title}</summary>${content}</details>`;
}

export function options(choices: readonly (readonly [string, string])[]): Markup[] {
  return choices.map(([value, text]) => html`<option value="${value}">${text}</option>`);
}
