import type { Fact, ReportPolicy } from "../input.ts";
import { html, type Markup, name } from "./html.ts";

export function facts(list: readonly Fact[]): Markup {
  return html`<dl class="facts">${list.map(
    (fact) => html`<div><dt>${name(fact.name)}</dt><dd>${name(fact.value)}</dd></div>`,
  )}</dl>`;
}

export function provenanceSection(
  provenance: readonly Fact[],
  policies: readonly ReportPolicy[],
  licence: string,
): Markup {
  const labels = policies
    .filter(({ record }) => record.label !== "")
    .map(({ name: policy, record }) => ({ name: `Record of ${policy}`, value: record.label }));
  return html`<section aria-labelledby="provenance-title" id="provenance">
<h2 id="provenance-title">Where this comes from</h2>
${facts([...provenance, ...labels])}
<p>Percentiles interpolate between the two nearest order statistics. Times are those of the executor's clock, from the start of each run. This file holds all its data; it loads nothing.</p>
<details><summary>Licence of uPlot, which draws the line charts</summary><pre>${licence}</pre></details>
</section>`;
}
