import type { Fact, ReportPolicy } from "../input.ts";
import { html, type Markup, name } from "./html.ts";

export function facts(list: readonly Fact[]): Markup {
  return html`<dl class="facts">${list.map(
    (fact) => html`<div><dt>${name(fact.name)}</dt><dd>${name(fact.value)}</dd></div>`,
  )}</dl>`;
}

/** What policies served where that is not common to all: those with the same facts together. */
export function ownWorkloads(policies: readonly ReportPolicy[]): Markup[] {
  const groups = new Map<string, { readonly list: readonly Fact[]; readonly names: string[] }>();
  for (const { name: policy, workload: list = [] } of policies) {
    if (list.length === 0) continue;
    const key = JSON.stringify(list.map((fact) => [fact.name, fact.value]));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { list, names: [policy] });
    else group.names.push(policy);
  }
  return [...groups.values()].map(({ list, names }) => {
    if (names.length === policies.length) return facts(list);
    const who = names.map((policy, i) => html`${i === 0 ? "" : ", "}${name(policy)}`);
    return html`<h3 class="of">${who}</h3>${facts(list)}`;
  });
}

export function provenanceSection(
  provenance: readonly Fact[],
  policies: readonly ReportPolicy[],
  licence: string,
): Markup {
  const labels = policies
    .filter(({ name: policy, record, outcome }) => !["", policy, outcome?.policy].includes(record.label))
    .map(({ name: policy, record }) => ({ name: `Record of ${policy}`, value: record.label }));
  return html`<section aria-labelledby="provenance-title" id="provenance">
<h2 id="provenance-title">Where this comes from</h2>
${facts([...provenance, ...labels])}
<p>Percentiles interpolate between the two nearest order statistics. Times are those of the executor's clock, from the start of each run. This file holds all its data; it loads nothing.</p>
<details><summary>Licence of uPlot, which draws the line charts</summary><pre>${licence}</pre></details>
</section>`;
}
