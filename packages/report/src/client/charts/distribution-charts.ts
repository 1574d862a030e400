/** Cumulative distributions, over times on a logarithmic axis. */
import { type DistributionName, type GridMeta, type OverviewMeta, overviewColumn } from "../../shared/blocks.ts";
import { columnOf, type Packed } from "../../shared/columns.ts";
import { formatNs, formatShare } from "../../shared/format.ts";
import { create, find } from "../dom.ts";
import type { Theme } from "../theme.ts";
import { LineChart } from "./line-chart.ts";

export function latencyCharts(packed: Packed<OverviewMeta>, theme: Theme): void {
  const { sloTtftMs } = packed.meta;
  distributionChart(packed, theme, "ttft", () => "ttft", sloTtftMs);
  distributionChart(packed, theme, "tpot", () => "tpot", null);
}

export function idleChart(packed: Packed<OverviewMeta>, theme: Theme): void {
  const select = find("[data-idle]", HTMLSelectElement);
  const show = distributionChart(packed, theme, "idle", () => select.value as DistributionName, null);
  select.addEventListener("change", show);
}

/** Returns what shows it anew. */
function distributionChart(
  packed: Packed<OverviewMeta>,
  theme: Theme,
  chart: string,
  choice: () => DistributionName,
  sloMs: number | null,
): () => void {
  const { meta } = packed;
  const container = find(`[data-chart="${chart}"]`, HTMLElement);
  const grid = meta.distributions[choice()];
  if (grid === null) {
    container.replaceChildren(create("p", { className: "note", textContent: "There is nothing to show." }));
    return () => {};
  }
  const lines = new LineChart({
    container,
    names: meta.policies.map((policy) => policy.name),
    first: meta.first,
    formatX: (x) => formatNs(10 ** x * 1e6),
    formatY: formatShare,
    ticksX: logTicks,
    rangeX: () => [Math.log10(grid.fromMs), Math.log10(grid.toMs)],
    topY: () => 1,
    isStepped: false,
    mark: () => (sloMs === null ? null : { x: Math.log10(sloMs), text: `SLO ${formatNs(sloMs * 1e6)}` }),
  });
  const show = (): void => {
    const shares = meta.policies.map((_, i) =>
      columnOf(packed, overviewColumn.distribution(choice(), i)).map((millionths) => millionths / 1e6),
    );
    lines.data = [gridLogs(grid), ...shares];
  };
  theme.follow((colours) => (lines.colours = colours));
  show();
  return show;
}

function gridLogs({ fromMs, toMs, points }: GridMeta): Float64Array {
  const from = Math.log10(fromMs);
  const step = (Math.log10(toMs) - from) / (points - 1);
  return Float64Array.from({ length: points }, (_, i) => from + i * step);
}

/** 1, 2 and 5 of each power of ten, or fewer of them where there is no room. @param from Logarithm of ms. */
function logTicks(from: number, to: number, width: number): { at: number[]; texts: string[] } {
  const marks = (factors: readonly number[]): number[] => {
    const found: number[] = [];
    for (let power = Math.floor(from); power <= Math.ceil(to); power++)
      for (const factor of factors) found.push(power + Math.log10(factor));
    return found.filter((at) => at >= from && at <= to);
  };
  const room = Math.max(2, width / 55);
  const choices = [[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]].map(marks);
  const at = choices.find((it) => it.length <= room) ?? choices.at(-1) ?? [];
  const every = Math.ceil(at.length / room);
  const kept = at.filter((_, i) => i % every === 0);
  return { at: kept, texts: kept.map((log) => formatNs(10 ** log * 1e6)) };
}
