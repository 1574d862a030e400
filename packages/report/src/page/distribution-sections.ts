/** Latencies and idle slices. */
import type { Percentiles } from "@slicescheduler/workloads";
import type { Comparison } from "../evidence/figures.ts";
import { percentilesOf } from "../evidence/figures.ts";
import type { Run } from "../evidence/run.ts";
import { formatCount, formatNs, formatShare } from "../shared/format.ts";
import { figure, options } from "./figure.ts";
import { html, type Markup } from "./html.ts";
import { type Column, table } from "./table.ts";

export function latencySection(runs: readonly Run[], { figures }: Comparison): Markup {
  const rows = runs.map(({ policy, ttftMs, tpotMs }) => ({ name: policy.name, ttftMs, tpotMs }));
  const slos = [...new Set(figures.flatMap(({ slo }) => (slo === null ? [] : [formatNs(slo.ttftMs * 1e6)])))];
  const line = slos.length === 1 ? "The upright line is the SLO" : "The upright lines are the SLOs";
  const threshold = slos.length === 0 ? "" : ` ${line}, ${slos.join(", ")}.`;
  return html`<section aria-labelledby="latency-title" id="latency">
<h2 id="latency-title">How long requests of the most urgent class waited</h2>
<div class="pair">
${figure({
  id: "ttft",
  title: "Time to first token",
  lead: `Share of the requests served within a time: the further left, the better.${threshold}`,
  label: "Cumulative distribution of the time to first token, one line per policy",
  table: percentileTable("Time to first token (TTFT)", rows, (row) => row.ttftMs, "Requests"),
})}
${figure({
  id: "tpot",
  title: "Time per output token",
  lead: "From the first token to the last, over the tokens between: the further left, the better.",
  label: "Cumulative distribution of the time per output token, one line per policy",
  table: percentileTable("Time per output token (TPOT)", rows, (row) => row.tpotMs, "Requests"),
})}
</div></section>`;
}

export function idleSection(runs: readonly Run[]): Markup {
  const rows = runs.map(({ policy, idleMs, record, windowNs }) => {
    const totalMs = idleMs.reduce((a, b) => a + b, 0);
    return { name: policy.name, idleMs, share: totalMs / ((windowNs / 1e6) * Math.max(1, record.accelerators.length)) };
  });
  return html`<section aria-labelledby="slices-title" id="idle">
<h2 id="slices-title">What was left idle</h2>
${figure({
  id: "idle",
  title: "Idle slices",
  lead: "A slice is a stretch in which an accelerator runs nothing. Work that fills slices leaves fewer and shorter ones.",
  controls: html`<label>Share of <select data-idle>${options([
    ["idleCount", "the slices, by number"],
    ["idleTime", "the idle time"],
  ])}</select></label>`,
  label: "Cumulative distribution of the lengths of idle slices, one line per policy",
  table: percentileTable("Idle slices within the window, all accelerators", rows, (row) => row.idleMs, "Slices", [
    { title: "Idle share of the time", cell: (row) => formatShare(row.share) },
  ]),
})}
</section>`;
}

function percentileTable<Row extends { readonly name: string }>(
  caption: string,
  rows: readonly Row[],
  sortedMs: (row: Row) => ArrayLike<number>,
  counted: string,
  more: readonly Column<Row>[] = [],
): Markup {
  const at = (row: Row, of: (percentiles: Percentiles) => number): string => {
    const percentiles = percentilesOf(sortedMs(row));
    return percentiles === null ? "–" : formatNs(of(percentiles) * 1e6);
  };
  return table(`${caption}, percentiles`, caption, "Policy", rows, (row) => row.name, [
    { title: counted, cell: (row) => formatCount(sortedMs(row).length) },
    { title: "p50", cell: (row) => at(row, (it) => it.p50) },
    { title: "p90", cell: (row) => at(row, (it) => it.p90) },
    { title: "p99", cell: (row) => at(row, (it) => it.p99) },
    ...more,
  ]);
}
