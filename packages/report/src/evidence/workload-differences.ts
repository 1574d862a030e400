/** Whether runs may be compared: figures of unlike workloads stand side by side, but none of them is better than another. */
import { createHash } from "node:crypto";
import type { ReplayOutcome } from "@slicescheduler/workloads";
import { formatCount, formatNs } from "../shared/format.ts";
import type { Run } from "./run.ts";

const toldMax = 4;

/**
 * What tells the workloads apart, in words; empty where nothing does. Of replays every request is known. Of records alone only how many
 * requests of the most urgent class were begun: those that may wait are begun or not as the policy likes.
 */
export function workloadDifferences(runs: readonly Run[]): string[] {
  const outcomes = runs.flatMap(({ policy }) => policy.outcome ?? []);
  const found = [
    told(windowsOf(runs), (them) => `windows of ${them}`),
    told(urgentRequests(runs.filter(isWhole)), (them) => `${them} requests of the most urgent class`),
    told(offlineOffered(outcomes), (them) => `${them} requests that may wait`),
  ].flatMap((it) => it ?? []);
  if (found.length > 0 || new Set(outcomes.map(digestOf)).size < 2) return found;
  return ["requests that arrive at other times or are of other lengths"];
}

/** Windows that were multiplied and divided may be a hair apart. */
export function isSameWindow(aNs: number, bNs: number): boolean {
  return Math.abs(aNs - bNs) < 1000;
}

/** A run alone has the length that it took, which the policy decides. */
function windowsOf(runs: readonly Run[]): string[] {
  const declared = runs.filter(({ policy }) => policy.windowNs !== undefined || policy.outcome !== undefined);
  const distinct: number[] = [];
  for (const { windowNs } of declared)
    if (!distinct.some((other) => isSameWindow(other, windowNs))) distinct.push(windowNs);
  const texts = distinct.map(formatNs);
  return new Set(texts).size === distinct.length ? texts : distinct.map((ns) => `${formatCount(ns)} ns`);
}

function urgentRequests(runs: readonly Run[]): string[] {
  return runs.map(({ requests }) => formatCount(requests.filter((request) => request.isMostUrgent).length));
}

function offlineOffered(outcomes: readonly ReplayOutcome[]): string[] {
  return outcomes.map((outcome) => formatCount(outcome.offlineOffered));
}

function isWhole({ policy, record }: Run): boolean {
  return policy.outcome !== undefined || record.dropped.requests === 0;
}

/** Of all requests, in whatever order the records stand. */
function digestOf({ records }: ReplayOutcome): string {
  const lines = records.map(({ class: requestClass, request }) =>
    [requestClass, request.tenant, request.arrivalNs, request.inputTokens, request.outputTokens].join(" "),
  );
  return createHash("sha256").update(lines.sort().join("\n")).digest("hex");
}

/** Null where all are the same. */
function told(values: readonly string[], words: (them: string) => string): string | null {
  const distinct = [...new Set(values)];
  if (distinct.length < 2) return null;
  const shown = distinct.slice(0, toldMax);
  const last = distinct.length > toldMax ? "others" : (shown.pop() ?? "");
  return words(`${shown.join(", ")} and ${last}`);
}
