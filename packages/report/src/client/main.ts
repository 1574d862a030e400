/** Entry of the page's script: charts from the overview first, then one timeline after the other. */
import { type OverviewMeta, overviewColumn, type TimelineMeta } from "../shared/blocks.ts";
import { columnOf } from "../shared/columns.ts";
import { readBlock } from "./blocks.ts";
import { idleChart, latencyCharts } from "./charts/distribution-charts.ts";
import { hbmChart, loadChart } from "./charts/time-charts.ts";
import { DecisionPager } from "./decisions.ts";
import { create } from "./dom.ts";
import { Theme } from "./theme.ts";
import { TimeView } from "./timeline/time-view.ts";
import { timelineOf } from "./timeline/timeline.ts";
import { Timelines } from "./timeline/timelines.ts";

async function start(): Promise<void> {
  const theme = new Theme();
  const overview = await readBlock<OverviewMeta>("block-overview");
  const { meta } = overview;
  for (const element of document.querySelectorAll("[data-needs-script]")) element.removeAttribute("hidden");
  const view = new TimeView(meta.spanNs);
  const busy = meta.policies.map((_, i) => columnOf(overview, overviewColumn.busy(i)));
  const timelines = new Timelines(meta, busy, view, theme);
  const decisions = new DecisionPager(meta.first, meta.spanNs);
  latencyCharts(overview, theme);
  loadChart(overview, view, theme);
  hbmChart(overview, view, theme);
  idleChart(overview, theme);
  for (let policy = 0; policy < meta.policies.length; policy++) {
    const packed = await readBlock<TimelineMeta>(`block-timeline-${policy}`);
    timelines.add(meta, policy, timelineOf(packed));
    decisions.add(policy, packed.meta.decisions);
  }
  // For whoever measures or tests the page.
  document.documentElement.dataset["state"] = "ready";
}

start().catch((error: unknown) => {
  document.documentElement.dataset["state"] = "failed";
  const text = `The charts could not be drawn (${error instanceof Error ? error.message : String(error)}). The tables hold the figures.`;
  document.querySelector("main")?.prepend(create("p", { className: "failure", textContent: text }));
  throw error;
});
