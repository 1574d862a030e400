/** Decisions, which a script pages through, and what else happened. */
import { shownDecisionsMax } from "../evidence/decisions.ts";
import type { Run } from "../evidence/run.ts";
import { formatCount, formatTime } from "../shared/format.ts";
import { options } from "./figure.ts";
import { html, type Markup, name } from "./html.ts";
import { table } from "./table.ts";

const noticesMax = 50;

export function decisionSection(runs: readonly Run[]): Markup {
  const policies = options(runs.map(({ policy }, i) => [String(i), policy.name]));
  const rows = runs.map(({ policy, record }) => ({ name: policy.name, ...record.decisions }));
  return html`<section aria-labelledby="decisions-title" id="decisions">
<h2 id="decisions-title">Why it was placed there</h2>
<p class="lead">A decision lays a batch of operators on one of several partitions: the one on which it is predicted to be completed first, of those with the memory for it. Shown are up to ${shownDecisionsMax} decisions of each policy, spread over the run: up to half of them rejected a partition for want of memory, up to half of the rest had a choice.</p>
${table("Number of decisions", "Decisions made", "Policy", rows, (row) => row.name, [
  { title: "Decisions", cell: (row) => formatCount(row.seen) },
  { title: "That rejected a partition", cell: (row) => formatCount(row.rejectingSeen) },
])}
<div data-needs-script hidden><div class="toolbar">
<label>Policy <select data-decision-policy>${policies}</select></label>
<label>Which <select data-decision-filter>${options([
    ["all", "all that are shown"],
    ["choice", "with a choice"],
    ["rejecting", "with a rejected partition"],
  ])}</select></label>
<div class="group" role="group" aria-label="Decision shown"><button type="button" data-decision-step="-1" aria-label="Decision before">←</button><span class="range" data-decision-position></span><button type="button" data-decision-step="1" aria-label="Decision after">→</button></div>
</div><p data-decision-words role="status"></p><div data-decision></div></div>
</section>`;
}

/** Losses, failures, standstills: nothing where there were none. */
export function noticeSection(runs: readonly Run[]): Markup | null {
  const told = runs.map(({ policy, record }) => ({
    policy,
    startNs: record.startNs,
    accelerators: record.accelerators,
    notices: record.notices.filter(({ kind }) => kind !== "operatorWithdrawn"),
    withdrawn: record.notices.filter(({ kind }) => kind === "operatorWithdrawn").length,
  }));
  const spanNs = Math.max(...runs.map((run) => run.spanNs));
  if (told.every(({ notices }) => notices.length === 0)) return null;
  return html`<section aria-labelledby="events-title" id="events">
<h2 id="events-title">What went wrong</h2>
${told
  .filter(({ notices }) => notices.length > 0)
  .map(({ policy, notices, accelerators, startNs }) => {
    const left = notices.length - noticesMax;
    const more = left > 0 ? `, the first ${noticesMax} of ${formatCount(notices.length)}` : "";
    return table(
      `Events under ${policy.name}`,
      html`Under ${name(policy.name)}${more}`,
      "At",
      notices.slice(0, noticesMax),
      (it) => formatTime(it.atNs - startNs, 1e6, spanNs),
      [
        { title: "What", isWords: true, cell: (it) => noticeWords[it.kind] ?? it.kind },
        { title: "Accelerator", cell: (it) => name(accelerators[it.accelerator]?.name ?? "–") },
        { title: "Instance", cell: (it) => (it.instance < 0 ? "–" : it.instance) },
        { title: "In words", isWords: true, cell: (it) => name(it.text) },
      ],
    );
  })}
</section>`;
}

const noticeWords: Readonly<Record<string, string>> = {
  operatorFailed: "operator failed",
  transferQuarantined: "transfer quarantined",
  transferReleased: "transfer released",
  instanceFailed: "instance failed",
  instanceCancelled: "instance cancelled",
  standstill: "standstill",
  acceleratorLost: "accelerator lost",
  acceleratorReturned: "accelerator returned",
  acceleratorSuspect: "accelerator suspect",
  acceleratorCleared: "accelerator cleared",
  acceleratorDraining: "accelerator draining",
  acceleratorDrained: "accelerator drained",
};
