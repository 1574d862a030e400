/** The answer: one sentence, and why it may be believed. */
import type { Comparison, Figures } from "../evidence/figures.ts";
import { formatCount, formatNs, formatNumber, formatShare } from "../shared/format.ts";
import { html, type Markup, name, type Part } from "./html.ts";

/** Rates closer than this are called equal, and attainments closer than a point. */
const equalWithin = 0.005;
const attainmentWithin = 0.01;
/** Of the p99 time per output token: more above the least is a cost to be told. */
const costWithin = 0.05;

/** Who serves the most by how much, and what that costs in latency. */
export function answerSentence({ differences, figures }: Comparison): Markup {
  if (differences.length > 0) return apart(differences);
  const ranked = [...figures].sort((a, b) => b.requestsPerSecond - a.requestsPerSecond);
  const [first, second] = ranked;
  if (first === undefined || first.requests === 0) return html`No request was served.`;
  if (second === undefined) return alone(first);
  if (first.requestsPerSecond === 0) return html`No request was completed within the window.`;
  const ratio = second.requestsPerSecond > 0 ? first.requestsPerSecond / second.requestsPerSecond : null;
  if (ratio !== null && ratio < 1 + equalWithin) return even(ranked);
  const rate = `${formatNumber(first.requestsPerSecond)} requests/s`;
  const lead =
    ratio === null
      ? html`${who(first)} serves ${strong(rate)}; no other policy completes any.`
      : html`${who(first)} serves ${strong(rate)}, ${strong(times(ratio))} as many as ${who(second)}, the next best.`;
  return html`${lead} ${latency(first, figures)}${cost(first, figures)}`;
}

/** None is better or worse than what did something else. */
function apart(differences: readonly string[]): Markup {
  return html`${strong("These runs did not have the same workload")}: ${differences.join("; ")}. Each figure holds for its own run; none is called the best.`;
}

function alone(it: Figures): Markup {
  const served = `${formatCount(it.completed)} of ${formatCount(it.requests)} requests`;
  const rate = `${formatNumber(it.requestsPerSecond)} requests/s`;
  const ttft = it.ttftMs === null ? "" : ` The p90 time to first token is ${formatNs(it.ttftMs.p90 * 1e6)}.`;
  const slo =
    it.sloAttainment === null || it.slo === null
      ? ""
      : ` ${formatShare(it.sloAttainment)} of the most urgent requests are within ${formatNs(it.slo.ttftMs * 1e6)}.`;
  return html`${who(it)} served ${strong(served)} (${rate}) with the accelerators busy ${formatShare(it.utilization)} of the time.${ttft}${slo}`;
}

/** Equal in what they serve: latency decides. */
function even(ranked: readonly Figures[]): Markup {
  const best = ranked[0]?.requestsPerSecond ?? 0;
  const equal = ranked.filter((it) => it.requestsPerSecond * (1 + equalWithin) > best);
  const names = equal.map((it, i) => html`${i === 0 ? "" : i === equal.length - 1 ? " and " : ", "}${who(it)}`);
  const quick = [...equal].sort((a, b) => (a.ttftMs?.p90 ?? Infinity) - (b.ttftMs?.p90 ?? Infinity))[0];
  const lead = html`${names} serve the same, ${strong(`${formatNumber(best)} requests/s`)}.`;
  if (quick?.ttftMs == null) return lead;
  const its = html`${who(quick)} is the quickest of them: a p90 time to first token of ${strong(formatNs(quick.ttftMs.p90 * 1e6))}.`;
  return html`${lead} ${its}${cost(quick, ranked)}`;
}

/** What is gained in requests and first tokens may be paid for by single tokens that come late. */
function cost(of: Figures, figures: readonly Figures[]): Part {
  const p99 = (it: Figures): number => it.tpotMs?.p99 ?? Number.POSITIVE_INFINITY;
  const least = figures.reduce((a, b) => (p99(b) < p99(a) ? b : a));
  if (of.tpotMs === null || p99(of) <= p99(least) * (1 + costWithin)) return "";
  return html` Its cost: a p99 time per output token of ${strong(formatNs(p99(of) * 1e6))}, where ${who(least)} has ${formatNs(p99(least) * 1e6)}.`;
}

function latency(first: Figures, figures: readonly Figures[]): Part {
  const reached = first.sloAttainment;
  if (reached === null) return ttftWords(first, figures);
  const others = figures.filter((it) => it !== first && it.sloAttainment !== null);
  const best = others.sort((a, b) => (b.sloAttainment ?? 0) - (a.sloAttainment ?? 0))[0];
  const its = html`It meets the SLO for ${strong(formatShare(reached))} of the most urgent requests`;
  if (best?.sloAttainment == null) return html`${its}.`;
  const theirs = html`${who(best)} for ${formatShare(best.sloAttainment)}`;
  if (best.sloAttainment > reached + attainmentWithin) return html`${its}, but ${theirs}.`;
  if (best.sloAttainment < reached - attainmentWithin) return html`${its}, more than any other (${theirs}).`;
  return html`${its}, about as many as the best of the others (${theirs}).`;
}

function ttftWords(first: Figures, figures: readonly Figures[]): Part {
  if (first.ttftMs === null) return "";
  const p90 = first.ttftMs.p90;
  const others = figures.flatMap((it) => (it === first || it.ttftMs === null ? [] : [it.ttftMs.p90]));
  const least = Math.min(...others);
  const its = html`Its p90 time to first token is ${strong(formatNs(p90 * 1e6))}`;
  return others.length === 0 ? html`${its}.` : html`${its}; the shortest of the others is ${formatNs(least * 1e6)}.`;
}

function who({ name: text }: Figures): Markup {
  return html`<b>${name(text)}</b>`;
}

function strong(text: string): Markup {
  return html`<strong>${text}</strong>`;
}

function times(ratio: number): string {
  return `×${ratio.toFixed(2)}`;
}
