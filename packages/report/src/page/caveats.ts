/** What a reader must know before believing the figures; nothing where all is well. */
import type { Figures } from "../evidence/figures.ts";
import type { Run } from "../evidence/run.ts";
import { formatCount, formatShare } from "../shared/format.ts";
import { html, type Markup, name } from "./html.ts";

export function caveats(runs: readonly Run[], figures: readonly Figures[]): Markup | null {
  const found = runs.flatMap((run, i) => [...runCaveats(run), ...figureCaveats(figures[i])]);
  if (found.length === 0) return null;
  return html`<ul class="caveats">${found.map((it) => html`<li>${it}</li>`)}</ul>`;
}

function figureCaveats(it: Figures | undefined): Markup[] {
  if (it === undefined) return [];
  const unserved = it.requests - it.completed - it.dropped;
  return [
    ...(it.peakHbmShare > 1
      ? [html`${name(it.name)} passed a capacity: the HBM peak is ${formatShare(it.peakHbmShare)} of it.`]
      : []),
    ...(unserved > 0
      ? [html`${name(it.name)} did not complete ${formatCount(unserved)} of the requests that it began.`]
      : []),
  ];
}

function runCaveats({ policy, record, requests }: Run): Markup[] {
  const lost = record.notices.filter(({ kind }) => kind === "acceleratorLost").length;
  const standstills = record.notices.filter(({ kind }) => kind === "standstill").length;
  const dropped = Object.entries(record.dropped).filter(([, count]) => count > 0);
  const words = dropped.map(([what, count]) => `${formatCount(count)} ${droppedWords[what] ?? what}`);
  const neverBegun = requests.filter((it) => it.isDropped);
  const why = neverBegun.some((it) => it.endedNs > it.arrivedNs)
    ? "they still waited when the window ended"
    : "it served none of their class";
  const counts = `${formatCount(neverBegun.length)} of ${formatCount(requests.length)} requests`;
  return [
    ...(neverBegun.length > 0 ? [html`${name(policy.name)} never began ${counts}: ${why}.`] : []),
    ...(lost > 0 ? [html`${name(policy.name)} lost accelerators ${times(lost)}.`] : []),
    ...(standstills > 0 ? [html`${name(policy.name)} came to a standstill ${times(standstills)}.`] : []),
    ...(words.length > 0
      ? [html`The record of ${name(policy.name)} is not whole: its oldest rows were dropped (${words.join(", ")}).`]
      : []),
  ];
}

const droppedWords: Readonly<Record<string, string>> = { hbmSteps: "HBM steps" };

function times(count: number): string {
  return count === 1 ? "once" : `${formatCount(count)} times`;
}
