import type { Comparison, Figures } from "../evidence/figures.ts";
import { formatCount, formatNs, formatNumber, formatShare } from "../shared/format.ts";
import { html, type Markup, type Part } from "./html.ts";
import { type Column, table } from "./table.ts";

/** The few figures that decide. The best of each column is marked, unless none differs as shown or the workloads do. */
export function answerTable({ figures, differences }: Comparison): Markup {
  const windows = new Set(figures.map((it) => formatNs(it.windowNs)));
  const slos = new Set(figures.map((it) => it.slo?.ttftMs ?? null));
  const over = windows.size === 1 ? `the window of ${[...windows][0]}` : "the window of each";
  const caption = `Rates and shares over ${over}. Latencies of the most urgent class, queueing included.${sloWords(figures)}${tpotWords(figures)}`;
  const own: Column<Figures>[] = [
    ...(windows.size > 1 ? [{ title: "Window", cell: (it: Figures) => formatNs(it.windowNs) }] : []),
    ...(slos.size > 1
      ? [{ title: "SLO", cell: (it: Figures) => (it.slo === null ? "–" : formatNs(it.slo.ttftMs * 1e6)) }]
      : []),
  ];
  const shown = differences.length === 0 ? judged(figures) : columns(0);
  return table("Policies compared", caption, "Policy", figures, (it) => it.name, [...own, ...shown]);
}

/** Each threshold once, with where it comes from. */
function sloWords(figures: readonly Figures[]): string {
  const slos = new Map(figures.flatMap(({ slo }) => (slo === null ? [] : [[`${slo.ttftMs} ${slo.source}`, slo]])));
  if (slos.size === 0) return "";
  const words = [...slos.values()].map(({ ttftMs, source }) => `${formatNs(ttftMs * 1e6)} (${source})`);
  return ` SLO: a time to first token (TTFT) of at most ${words.join(", or ")}.`;
}

function tpotWords(figures: readonly Figures[]): string {
  return figures.some(({ tpotMs }) => tpotMs !== null) ? " TPOT: the time per output token after the first." : "";
}

interface FigureColumn extends Column<Figures> {
  readonly text: (it: Figures) => string;
  /** The larger the better; null where it is not known. Left out where neither more nor less is better. */
  readonly worth?: (it: Figures) => number | null;
}

/** @param most Rate that fills the bar beside it; 0 for no bars. */
function columns(most: number): FigureColumn[] {
  const column = (
    title: string,
    text: (it: Figures) => string,
    worth?: (it: Figures) => number | null,
  ): FigureColumn => ({ title, text, cell: text, ...(worth === undefined ? {} : { worth }) });
  const ms = (value: number | undefined): string => (value === undefined ? "–" : formatNs(value * 1e6));
  const less = (value: number | undefined): number | null => (value === undefined ? null : -value);
  const rate = column(
    "Requests/s",
    (it) => formatNumber(it.requestsPerSecond),
    (it) => it.requestsPerSecond,
  );
  return [
    most > 0 ? { ...rate, cell: (it) => rateCell(it.requestsPerSecond, most) } : rate,
    column(
      "Tokens/s",
      (it) => number(it.tokensPerSecond),
      (it) => it.tokensPerSecond,
    ),
    column(
      "SLO met",
      (it) => share(it.sloAttainment),
      (it) => it.sloAttainment,
    ),
    column(
      "TTFT p50",
      (it) => ms(it.ttftMs?.p50),
      (it) => less(it.ttftMs?.p50),
    ),
    column(
      "TTFT p90",
      (it) => ms(it.ttftMs?.p90),
      (it) => less(it.ttftMs?.p90),
    ),
    column(
      "TPOT p90",
      (it) => ms(it.tpotMs?.p90),
      (it) => less(it.tpotMs?.p90),
    ),
    column(
      "TPOT p99",
      (it) => ms(it.tpotMs?.p99),
      (it) => less(it.tpotMs?.p99),
    ),
    column(
      "Busy",
      (it) => share(it.utilization),
      (it) => it.utilization,
    ),
    column("HBM peak", (it) => share(it.peakHbmShare)),
    column("Completed", (it) => `${formatCount(it.completed)} of ${formatCount(it.requests)}`),
  ];
}

/** With the best of each column marked. */
function judged(figures: readonly Figures[]): Column<Figures>[] {
  const most = figures.length < 2 ? 0 : Math.max(...figures.map((it) => it.requestsPerSecond));
  return columns(most).map((column) => ({ ...column, ...best(figures, column) }));
}

/** The rate, and a bar of its length: a picture of the number beside it. */
function rateCell(rate: number, most: number): Part {
  const width = Math.round((100 * rate) / most);
  return html`${formatNumber(rate)}<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="4"/></svg>`;
}

/** What looks the same is the same: a reader sees no reason why one of two equal texts should be the better. */
function best(figures: readonly Figures[], { text, worth }: FigureColumn): Pick<Column<Figures>, "isBest"> {
  const known = figures.filter((it) => worth?.(it) != null);
  const [first] = known.sort((a, b) => (worth?.(b) ?? 0) - (worth?.(a) ?? 0));
  if (first === undefined || known.every((it) => text(it) === text(first))) return {};
  return { isBest: (it) => text(it) === text(first) };
}

function number(value: number | null): string {
  return value === null ? "–" : formatNumber(value);
}

function share(value: number | null): string {
  return value === null ? "–" : formatShare(value);
}
