/** The document: head, answer, evidence, data. */
import { createHash } from "node:crypto";
import { clientScript, clientStyle, uplotLicence } from "../client-bundle.ts";
import type { Comparison } from "../evidence/figures.ts";
import type { Run } from "../evidence/run.ts";
import type { ReportInput } from "../input.ts";
import { answerSentence } from "./answer.ts";
import { answerTable } from "./answer-table.ts";
import { caveats } from "./caveats.ts";
import { decisionSection, noticeSection } from "./decision-section.ts";
import { idleSection, latencySection } from "./distribution-sections.ts";
import { options } from "./figure.ts";
import { html, Markup, name } from "./html.ts";
import { facts, ownWorkloads, provenanceSection } from "./provenance.ts";
import { timeSection } from "./time-section.ts";

export interface PageInput {
  readonly input: ReportInput;
  readonly runs: readonly Run[];
  readonly comparison: Comparison;
  /** Base64 by id of the element that holds it. */
  readonly blocks: ReadonlyMap<string, string>;
  /** How exact the times of the timelines are, or nothing where they are exact. */
  readonly unitWords: string;
}

export function page({ input, runs, comparison, blocks, unitWords }: PageInput): string {
  const { title, workload = [], provenance = [], policies } = input;
  const notices = noticeSection(runs);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyOfContent()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Markup(clientStyle)}</style>
</head>
<body>
<a class="skip" href="#answer">Skip to the answer</a>
<header><h1>${name(title)}</h1>
<label data-needs-script hidden>Theme <select data-theme-choice>${options([
    ["auto", "as the system"],
    ["light", "light"],
    ["dark", "dark"],
  ])}</select></label></header>
<main>
<section aria-labelledby="answer-title" id="answer">
<h2 id="answer-title" class="unseen">The answer</h2>
<p class="answer">${answerSentence(comparison)}</p>
${answerTable(comparison)}
${caveats(runs, comparison.figures)}
${workload.length > 0 ? facts(workload) : null}
${ownWorkloads(policies)}
${contents(notices !== null)}
</section>
${timeSection(runs, unitWords)}
${latencySection(runs, comparison)}
${idleSection(runs)}
${decisionSection(runs)}
${notices}
${provenanceSection(provenance, policies, uplotLicence)}
</main>
<footer><p class="note">Made by SliceScheduler.</p></footer>
<noscript><p class="note">Charts and timelines are drawn by a script; the tables hold the figures.</p></noscript>
${[...blocks].map(
  ([id, base64]) => html`<script type="application/octet-stream" id="${id}">${new Markup(base64)}</script>
`,
)}<script>${new Markup(clientScript)}</script>
</body>
</html>
`.text;
}

function contents(hasNotices: boolean): Markup {
  const links: readonly (readonly [string, string])[] = [
    ["time", "What ran where"],
    ["latency", "Latency"],
    ["idle", "Idle slices"],
    ["decisions", "Decisions"],
    ...(hasNotices ? [["events", "What went wrong"] as const] : []),
    ["provenance", "Provenance"],
  ];
  return html`<nav aria-label="Evidence"><ul>${links.map(([id, text]) => html`<li><a href="#${id}">${text}</a></li>`)}</ul></nav>`;
}

/** Nothing is loaded, nothing is sent, and only the page's own script and style run. */
function policyOfContent(): string {
  const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return [
    "default-src 'none'",
    `script-src ${hash(clientScript)}`,
    `style-src ${hash(clientStyle)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}
