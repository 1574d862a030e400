/** The keys of a panel that has the focus. */
import type { Panel } from "./panel.ts";
import { firstEndingAfter, rowOf } from "./timeline.ts";
import { between, movedTo, panned, revealing, wholeRun, zoomed } from "./viewport.ts";

/** Calls back with the operator that the keys chose, or −1. */
export function listenToKeys(panel: Panel, onChosen: (operator: number) => void): void {
  panel.canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = actions[event.key];
    if (act === undefined) return;
    event.preventDefault();
    const before = panel.chosenOperator;
    act(panel);
    if (panel.chosenOperator !== before || event.key.startsWith("Arrow")) onChosen(panel.chosenOperator);
    panel.draw();
  });
}

const step = 0.2;
export const zoomStep = 0.6;

const actions: Readonly<Record<string, (panel: Panel) => void>> = {
  ArrowLeft: ({ options: { view } }) => (view.viewport = panned(view.viewport, -step)),
  ArrowRight: ({ options: { view } }) => (view.viewport = panned(view.viewport, step)),
  "+": (panel) => zoom(panel, zoomStep),
  "=": (panel) => zoom(panel, zoomStep),
  "-": (panel) => zoom(panel, 1 / zoomStep),
  _: (panel) => zoom(panel, 1 / zoomStep),
  Home: ({ options: { view } }) => (view.viewport = movedTo(view.viewport, 0)),
  End: ({ options: { view } }) => (view.viewport = movedTo(view.viewport, view.viewport.spanNs)),
  "0": ({ options: { view } }) => (view.viewport = wholeRun(view.viewport.spanNs)),
  ArrowUp: (panel) => chooseRow(panel, panel.chosenRow - 1),
  ArrowDown: (panel) => chooseRow(panel, panel.chosenRow + 1),
  ",": (panel) => chooseNext(panel, -1),
  ".": (panel) => chooseNext(panel, 1),
  Enter: (panel) => zoomToChosen(panel),
  Escape: (panel) => {
    panel.chosenOperator = -1;
    panel.chosenRow = -1;
  },
};

/** Around what is chosen, if that is in view, else around the middle. */
function zoom({ options: { view, timeline }, chosenOperator }: Panel, factor: number): void {
  const { fromNs, toNs } = view.viewport;
  const middleNs = ((timeline.startNs[chosenOperator] ?? 0) + (timeline.endNs[chosenOperator] ?? 0)) / 2;
  const isInView = chosenOperator >= 0 && middleNs > fromNs && middleNs < toNs;
  view.viewport = zoomed(view.viewport, isInView ? middleNs : (fromNs + toNs) / 2, factor);
}

function chooseRow(panel: Panel, row: number): void {
  const { accelerators } = panel.options;
  panel.chosenRow = Math.max(0, Math.min(accelerators.length - 1, row));
  panel.chosenOperator = -1;
  panel.revealRow(panel.chosenRow);
}

function chooseNext(panel: Panel, direction: 1 | -1): void {
  const { timeline, view } = panel.options;
  if (panel.chosenRow < 0) panel.chosenRow = 0;
  const first = timeline.offsets[panel.chosenRow] ?? 0;
  const until = timeline.offsets[panel.chosenRow + 1] ?? 0;
  if (until <= first) return;
  const entered = firstEndingAfter(timeline, panel.chosenRow, view.viewport.fromNs);
  const isOfRow = panel.chosenOperator >= 0 && rowOf(timeline, panel.chosenOperator) === panel.chosenRow;
  const next = isOfRow ? panel.chosenOperator + direction : entered;
  panel.chosenOperator = Math.max(first, Math.min(until - 1, next));
  const startNs = timeline.startNs[panel.chosenOperator] ?? 0;
  view.viewport = revealing(view.viewport, startNs, timeline.endNs[panel.chosenOperator] ?? 0);
}

function zoomToChosen({ options: { timeline, view }, chosenOperator }: Panel): void {
  if (chosenOperator < 0) return;
  const startNs = timeline.startNs[chosenOperator] ?? 0;
  const endNs = timeline.endNs[chosenOperator] ?? 0;
  const around = Math.max(1, endNs - startNs) * 4;
  view.viewport = between(view.viewport, startNs - around, endNs + around);
}
