import { html, type Markup, name, type Part } from "./html.ts";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Part;
  /** Says how its cell compares with the others of the column, for the eye and for a reader. */
  readonly isBest?: (row: Row) => boolean;
  /** Words stand at the left, numbers at the right. */
  readonly isWords?: boolean;
}

/** A table whose first column names the row. It scrolls by itself where the window is too narrow. @param label Unlike any other on the page. */
export function table<Row>(
  label: string,
  caption: Part,
  rowTitle: string,
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  columns: readonly Column<Row>[],
): Markup {
  return html`<figure class="table"><figcaption>${caption}</figcaption><div class="scroll" role="region" tabindex="0" aria-label="${label}"><table>
<thead><tr><th scope="col">${rowTitle}</th>${columns.map(({ title, isWords }) =>
    isWords === true ? html`<th scope="col" class="words">${title}</th>` : html`<th scope="col">${title}</th>`,
  )}</tr></thead>
<tbody>
${rows.map(
  (row) =>
    html`<tr><th scope="row">${name(nameOf(row))}</th>${columns.map((column) => cell(column, row))}</tr>
`,
)}</tbody></table></div></figure>`;
}

function cell<Row>(column: Column<Row>, row: Row): Markup {
  if (column.isWords === true) return html`<td class="words">${column.cell(row)}</td>`;
  if (column.isBest?.(row) !== true) return html`<td>${column.cell(row)}</td>`;
  return html`<td class="best">${column.cell(row)}<span class="unseen"> (best)</span></td>`;
}
