/** Load and HBM over the stretch of time that the timelines show. */
import { type OverviewMeta, overviewColumn } from "../../shared/blocks.ts";
import { columnOf, type Packed } from "../../shared/columns.ts";
import { clockUnit, formatBytes, formatNumber, formatShare, formatTime } from "../../shared/format.ts";
import { find } from "../dom.ts";
import type { Theme } from "../theme.ts";
import { tickStepNs, ticks } from "../timeline/ticks.ts";
import type { TimeView } from "../timeline/time-view.ts";
import { between } from "../timeline/viewport.ts";
import { hbmLines } from "./hbm-lines.ts";
import { type ChartData, type ChartOptions, LineChart } from "./line-chart.ts";

const cutPixels = 20;

type LoadMode = "busy" | "open" | "done";

/** Shares have theirs on every mark. */
const unitOfLoad: Readonly<Record<LoadMode, string>> = { busy: "", open: "requests", done: "requests/s" };

export function loadChart(packed: Packed<OverviewMeta>, view: TimeView, theme: Theme): void {
  const { meta } = packed;
  const select = find("[data-load]", HTMLSelectElement);
  const mode = (): LoadMode => select.value as LoadMode;
  const bucketSeconds = meta.spanNs / meta.loadBuckets / 1e9;
  const chart = timeChart(view, theme, {
    container: find('[data-chart="load"]', HTMLElement),
    names: meta.policies.map((policy) => policy.name),
    first: meta.first,
    formatY: (y) => (mode() === "busy" ? formatShare(y) : formatNumber(y)),
    unitY: () => unitOfLoad[mode()],
    topY: () => (mode() === "busy" ? 1 : 1e-9),
  });
  let shown = "";
  const show = (): void => {
    const { fromNs, toNs, spanNs } = view.viewport;
    const each = joinedBuckets((meta.loadBuckets * (toNs - fromNs)) / spanNs);
    if (shown === `${mode()} ${each}`) return;
    shown = `${mode()} ${each}`;
    const scale = { busy: 1e-6, open: 1, done: 1 / bucketSeconds }[mode()];
    const lines = meta.policies.map((_, i) =>
      joined(columnOf(packed, overviewColumn[mode()](i)), each, mode() === "open").map((y) => y * scale),
    );
    chart.data = [bucketTimes(meta.loadBuckets / each, meta.spanNs), ...lines.map(withEnd)];
  };
  select.addEventListener("change", show);
  view.follow(show);
}

export function hbmChart(packed: Packed<OverviewMeta>, view: TimeView, theme: Theme): void {
  const { meta } = packed;
  const select = find("[data-hbm]", HTMLSelectElement);
  const lines = () => hbmLines(packed, select.value);
  let shown = lines();
  const format = (y: number): string => (shown.isShare ? formatShare(y) : formatBytes(y));
  const chart = timeChart(view, theme, {
    container: find('[data-chart="hbm"]', HTMLElement),
    names: meta.policies.map((policy) => policy.name),
    first: meta.first,
    formatY: format,
    topY: () => shown.capacity * 1.05,
    marks: () => [{ y: shown.capacity, text: `capacity ${format(shown.capacity)}` }],
  });
  const show = (): void => {
    shown = lines();
    chart.data = [bucketTimes(shown.buckets, meta.spanNs), ...shown.lines.map(withEnd)];
  };
  select.addEventListener("change", show);
  show();
}

/** So many buckets are one, a divisor of all of them, that a screen shows about a hundred. */
function joinedBuckets(visible: number): number {
  const wanted = visible / 120;
  return [1, 2, 3, 4, 6, 8, 9, 12, 16].find((each) => each >= wanted) ?? 16;
}

/** The mean of each so many, or the most. */
function joined(values: Float64Array, each: number, isMost: boolean): Float64Array {
  return Float64Array.from({ length: values.length / each }, (_, i) => {
    const part = values.subarray(i * each, (i + 1) * each);
    return isMost ? Math.max(...part) : part.reduce((a, b) => a + b, 0) / each;
  });
}

function timeChart(
  view: TimeView,
  theme: Theme,
  options: Pick<ChartOptions, "container" | "names" | "first" | "formatY" | "unitY" | "topY" | "marks">,
): LineChart {
  const { spanNs } = view.viewport;
  const chart = new LineChart({
    ...options,
    formatX: (ns) => formatTime(ns, Math.min(1e8, spanNs / 1000), spanNs),
    unitX: () => clockUnit(view.viewport.toNs, spanNs),
    ticksX: (fromNs, toNs, width) => timeTicks(fromNs, toNs, width, spanNs),
    rangeX: () => [view.viewport.fromNs, view.viewport.toNs],
    isStepped: true,
    onSelect: (fromNs, toNs) => (view.viewport = between(view.viewport, fromNs, toNs)),
  });
  theme.follow((colours) => (chart.colours = colours));
  view.follow(() => chart.follow());
  return chart;
}

function timeTicks(fromNs: number, toNs: number, width: number, spanNs: number): { at: number[]; texts: string[] } {
  const stepNs = tickStepNs(toNs - fromNs, Math.max(2, Math.floor(width / 90)));
  const at = ticks(fromNs, toNs, stepNs);
  // A text at the right edge would be cut.
  const isCut = (ns: number): boolean => ((toNs - ns) / (toNs - fromNs)) * width < cutPixels;
  return { at, texts: at.map((ns) => (isCut(ns) ? "" : formatTime(ns, stepNs, spanNs))) };
}

/** Beginnings of the buckets, and the end of the last one. */
function bucketTimes(buckets: number, spanNs: number): Float64Array {
  return Float64Array.from({ length: buckets + 1 }, (_, i) => (i * spanNs) / buckets);
}

function withEnd(values: Float64Array): ChartData[0] {
  const line = new Float64Array(values.length + 1);
  line.set(values);
  line[values.length] = values[values.length - 1] ?? 0;
  return line;
}
