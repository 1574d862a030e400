/** What happened when: timelines, load and HBM, all over one stretch of time. */
import { openRequests } from "../evidence/load.ts";
import type { Run } from "../evidence/run.ts";
import { formatBytes, formatCount, formatShare } from "../shared/format.ts";
import { figure, options, tables } from "./figure.ts";
import { html, type Markup, name } from "./html.ts";
import { table } from "./table.ts";

export function timeSection(runs: readonly Run[], unitWords: string): Markup {
  const rows = runs.reduce((sum, { record }) => sum + record.accelerators.length, 0);
  return html`<section aria-labelledby="time-title" id="time">
<h2 id="time-title">What ran where, and when</h2>
<p class="lead">One row per accelerator, one block per operator. Zoomed out, a column shows how much of its time was taken, by colour; zoomed in, each operator is drawn where it ran${unitWords}. Load and HBM below follow the same stretch of time.</p>
${toolbar()}
<div class="overview" data-overview></div>
<p class="inspector" data-inspector role="status" aria-live="polite">Point at an operator, or choose one by the keys, to see what it is.</p>
<ul class="legend" data-legend aria-label="Colours of the timelines"></ul>
${runs.map(panel)}
${keys()}
${tables("Accelerators as tables", runs.map(acceleratorTable), rows)}
${load(runs)}
${hbm(runs)}
</section>`;
}

function toolbar(): Markup {
  const button = (action: string, label: string, text: string): Markup =>
    html`<button type="button" data-action="${action}" aria-label="${label}" title="${label}">${text}</button>`;
  return html`<div class="toolbar" data-needs-script hidden>
<div class="group" role="group" aria-label="Stretch of time shown">${button("zoom-in", "Zoom in", "+")}${button("zoom-out", "Zoom out", "−")}${button("pan-left", "Earlier", "←")}${button("pan-right", "Later", "→")}${button("whole", "Whole run", "Whole run")}</div>
<label>Colours <select data-colours>${options([
    ["tenant", "tenant and class"],
    ["class", "priority class"],
    ["operator", "operator"],
  ])}</select></label>
<span class="range" data-range></span>
</div><p class="unseen" data-range-words role="status"></p>`;
}

function panel({ policy, record }: Run, index: number): Markup {
  const rows = `${formatCount(record.accelerators.length)} ${record.accelerators.length === 1 ? "accelerator" : "accelerators"}`;
  const operators = `${formatCount(record.operators.count)} ${record.operators.count === 1 ? "operator" : "operators"}`;
  const summary = policy.summary === undefined ? "" : html` – ${policy.summary}`;
  return html`<div class="panel"><h3 id="panel-${index}">${name(policy.name)}</h3><p class="note">${rows}, ${operators}${summary}</p>
<div class="rows" data-panel="${index}"><p class="note" data-placeholder>The timeline is drawn by a script.</p></div></div>
`;
}

function keys(): Markup {
  const rows: readonly (readonly [string, string])[] = [
    ["← →", "earlier, later"],
    ["+ −", "zoom in, zoom out (also the wheel; drag to move)"],
    ["Home End", "beginning, end"],
    ["0", "whole run"],
    ["↑ ↓", "choose an accelerator"],
    [", .", "operator before, operator after on it"],
    ["Enter", "zoom to the chosen operator"],
    ["Esc", "choose none"],
  ];
  return html`<details data-needs-script hidden><summary>Keys of a timeline that has the focus</summary><dl class="keys">${rows.map(
    ([key, meaning]) => html`<div><dt>${key}</dt><dd>${meaning}</dd></div>`,
  )}</dl></details>`;
}

function acceleratorTable({ policy, record, order, utilization }: Run): Markup {
  const rows = record.accelerators.map((accelerator, i) => ({
    accelerator,
    operators: (order.offsets[i + 1] ?? 0) - (order.offsets[i] ?? 0),
    busy: utilization[i] ?? 0,
    peakBytes: record.hbm[i]?.peakBytes ?? 0,
  }));
  const label = `Accelerators under ${policy.name}`;
  return table(
    label,
    html`Accelerators under ${name(policy.name)}`,
    "Accelerator",
    rows,
    (row) => row.accelerator.name,
    [
      { title: "Kind", cell: (row) => name(row.accelerator.kind) },
      { title: "Operators", cell: (row) => formatCount(row.operators) },
      { title: "Busy in the window", cell: (row) => formatShare(row.busy) },
      { title: "HBM peak", cell: (row) => formatBytes(row.peakBytes) },
      { title: "HBM capacity", cell: (row) => formatBytes(row.accelerator.capacityBytes) },
    ],
  );
}

function load(runs: readonly Run[]): Markup {
  const rows = runs.map(({ policy, requests, utilization, spanNs }) => ({
    name: policy.name,
    busy: utilization.reduce((a, b) => a + b, 0) / Math.max(1, utilization.length),
    busiest: Math.max(0, ...utilization),
    most: openRequests(requests, 1, spanNs)[0] ?? 0,
  }));
  return figure({
    id: "load",
    title: "Load over time",
    lead: "How busy the accelerators are, and how many requests are in the system.",
    controls: html`<label>Show <select data-load>${options([
      ["busy", "busy share of the accelerators"],
      ["open", "requests that arrived and have not ended"],
      ["done", "requests completed per second"],
    ])}</select></label>`,
    label: "Line chart of the load over time, one line per policy; its figures are in the table below",
    table: table("Load", "Load, in figures", "Policy", rows, (row) => row.name, [
      { title: "Busy in the window", cell: (row) => formatShare(row.busy) },
      { title: "Busiest accelerator", cell: (row) => formatShare(row.busiest) },
      { title: "Most requests at once", cell: (row) => formatCount(row.most) },
    ]),
  });
}

function hbm(runs: readonly Run[]): Markup {
  const most = runs.reduce((a, b) => (b.record.accelerators.length > a.record.accelerators.length ? b : a));
  const choices = most.record.accelerators.map(({ name: text }, i): [string, string] => [String(i), text]);
  return figure({
    id: "hbm",
    title: "HBM over time against capacity",
    lead: "The most that was in use within each stretch; the dashed line is what may be in use.",
    controls: html`<label>Accelerator <select data-hbm>${options([["fullest", "the fullest at each time"], ["mean", "mean of all"], ...choices])}</select></label>`,
    label:
      "Line chart of the HBM in use over time, one line per policy, against capacity; its peaks are in the table below",
    table: table("HBM peaks", "Where HBM was fullest", "Policy", runs.map(fullest), (row) => row.name, [
      { title: "Accelerator", cell: (row) => name(row.accelerator) },
      { title: "Peak", cell: (row) => formatBytes(row.peakBytes) },
      { title: "Capacity", cell: (row) => formatBytes(row.capacityBytes) },
      { title: "Share", cell: (row) => formatShare(row.peakBytes / Math.max(1, row.capacityBytes)) },
    ]),
  });
}

/** The accelerator whose peak is the largest share of its capacity. */
function fullest({ policy, record }: Run) {
  const share = (i: number): number =>
    (record.hbm[i]?.peakBytes ?? 0) / Math.max(1, record.accelerators[i]?.capacityBytes ?? 1);
  let found = 0;
  for (let i = 1; i < record.accelerators.length; i++) if (share(i) > share(found)) found = i;
  const { name: accelerator = "–", capacityBytes = 0 } = record.accelerators[found] ?? {};
  return { name: policy.name, accelerator, capacityBytes, peakBytes: record.hbm[found]?.peakBytes ?? 0 };
}
