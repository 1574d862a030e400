import type { Comparison, Figures } from "../evidence/figures.ts";
import { formatCount, formatNs, formatNumber, formatShare } from "../shared/format.ts";
import { html, type Markup, type Part } from "./html.ts";
import { type Column, table } from "./table.ts";

/** The few figures that decide; the best of each column is marked, unless there is one policy or they are all equal. */
export function answerTable({ slo, figures }: Comparison, windowNs: number): Markup {
  const threshold =
    slo === null ? "" : ` SLO: a time to first token (TTFT) below ${formatNs(slo.ttftMs * 1e6)} (${slo.source}).`;
  const caption = `Rates and shares over the window of ${formatNs(windowNs)}. Latencies of the most urgent class, queueing included.${threshold}`;
  return table("Policies compared", caption, "Policy", figures, (it) => it.name, columns(figures));
}

function columns(figures: readonly Figures[]): Column<Figures>[] {
  const ms = (value: number | undefined): string => (value === undefined ? "–" : formatNs(value * 1e6));
  const most = Math.max(...figures.map((it) => it.requestsPerSecond));
  return [
    {
      title: "Requests/s",
      cell: (it) => rateCell(it.requestsPerSecond, most, figures.length),
      ...best(figures, (it) => it.requestsPerSecond),
    },
    { title: "Tokens/s", cell: (it) => number(it.tokensPerSecond), ...best(figures, (it) => it.tokensPerSecond) },
    { title: "SLO met", cell: (it) => share(it.sloAttainment), ...best(figures, (it) => it.sloAttainment) },
    { title: "TTFT p50", cell: (it) => ms(it.ttftMs?.p50), ...least(figures, (it) => it.ttftMs?.p50) },
    { title: "TTFT p90", cell: (it) => ms(it.ttftMs?.p90), ...least(figures, (it) => it.ttftMs?.p90) },
    { title: "TPOT p90", cell: (it) => ms(it.tpotMs?.p90), ...least(figures, (it) => it.tpotMs?.p90) },
    { title: "Busy", cell: (it) => share(it.utilization), ...best(figures, (it) => it.utilization) },
    { title: "HBM peak", cell: (it) => share(it.peakHbmShare) },
    { title: "Completed", cell: (it) => `${formatCount(it.completed)} of ${formatCount(it.requests)}` },
  ];
}

/** The rate, and a bar of its length: a picture of the number beside it. */
function rateCell(rate: number, most: number, policies: number): Part {
  const text = formatNumber(rate);
  if (policies < 2 || !(most > 0)) return text;
  const width = Math.round((100 * rate) / most);
  return html`${text}<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="4"/></svg>`;
}

function best(figures: readonly Figures[], figureOf: (it: Figures) => number | null): Pick<Column<Figures>, "isBest"> {
  const values = figures.flatMap((it) => figureOf(it) ?? []);
  const most = Math.max(...values);
  if (values.length < 2 || values.every((value) => value === most)) return {};
  return { isBest: (it) => figureOf(it) === most };
}

function least(
  figures: readonly Figures[],
  figureOf: (it: Figures) => number | undefined,
): Pick<Column<Figures>, "isBest"> {
  return best(figures, (it) => {
    const value = figureOf(it);
    return value === undefined ? null : -value;
  });
}

function number(value: number | null): string {
  return value === null ? "–" : formatNumber(value);
}

function share(value: number | null): string {
  return value === null ? "–" : formatShare(value);
}
