/** Cumulative distributions, over times on a logarithmic axis. */
import { type DistributionName, type GridMeta, type OverviewMeta, overviewColumn } from "../../shared/blocks.ts";
import { columnOf, type Packed } from "../../shared/columns.ts";
import { formatNs, formatShare } from "../../shared/format.ts";
import { create, find } from "../dom.ts";
import type { Theme } from "../theme.ts";
import { LineChart } from "./line-chart.ts";
import { logTicks } from "./log-ticks.ts";

export function latencyCharts(packed: Packed<OverviewMeta>, theme: Theme): void {
  const { sloTtftMs } = packed.meta;
  distributionChart(packed, theme, "ttft", () => "ttft", sloTtftMs);
  distributionChart(packed, theme, "tpot", () => "tpot", []);
}

export function idleChart(packed: Packed<OverviewMeta>, theme: Theme): void {
  const select = find("[data-idle]", HTMLSelectElement);
  const show = distributionChart(packed, theme, "idle", () => select.value as DistributionName, []);
  select.addEventListener("change", show);
}

/** Returns what shows it anew. */
function distributionChart(
  packed: Packed<OverviewMeta>,
  theme: Theme,
  chart: string,
  choice: () => DistributionName,
  slosMs: readonly number[],
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
    marks: () => slosMs.map((ms) => ({ x: Math.log10(ms), text: `SLO ${formatNs(ms * 1e6)}` })),
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
