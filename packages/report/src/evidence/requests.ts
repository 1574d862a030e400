/** The requests of a run as the figures need them, from a replay's outcome or from the record alone. */
import { REQUEST_OUTCOMES, type RunRecord } from "@slicescheduler/timeline";
import type { ReplayOutcome, RequestRecord } from "@slicescheduler/workloads";

/** Times in ns from the start of the run; NaN where it did not come to that. */
export interface ServedRequest {
  readonly isMostUrgent: boolean;
  /** It was offered and never begun. Only a replay's outcome tells of such requests. */
  readonly isDropped: boolean;
  readonly arrivedNs: number;
  readonly firstTokenNs: number;
  readonly lastTokenNs: number;
  /** When it left: completed, failed, cancelled or dropped. */
  readonly endedNs: number;
  readonly isCompleted: boolean;
  readonly tokens: number;
}

/** All that were offered by an outcome; all that were begun by a record. */
export function servedRequests(record: RunRecord, outcome: ReplayOutcome | undefined): ServedRequest[] {
  return outcome === undefined ? fromRecord(record) : fromOutcome(outcome);
}

function fromOutcome({ records, windowNs }: ReplayOutcome): ServedRequest[] {
  const served = new Set(records.filter(({ outcome }) => outcome !== "dropped").map((it) => it.class));
  return records.map((it) => ({
    isMostUrgent: it.class === "online",
    isDropped: it.outcome === "dropped",
    arrivedNs: it.request.arrivalNs,
    firstTokenNs: it.firstTokenNs ?? Number.NaN,
    lastTokenNs: it.lastTokenNs ?? Number.NaN,
    endedNs: endOfRequest(it, served.has(it.class), windowNs),
    isCompleted: it.outcome === "completed",
    tokens: it.tokens,
  }));
}

/** A policy that serves none of a class turns each away as it arrives; else those that wait are dropped when the window ends. */
function endOfRequest({ outcome, request, lastTokenNs }: RequestRecord, isServed: boolean, windowNs: number): number {
  if (outcome === "dropped") return isServed ? Math.max(windowNs, request.arrivalNs) : request.arrivalNs;
  return outcome === "completed" || outcome === "failed" ? (lastTokenNs ?? request.arrivalNs) : Number.NaN;
}

/** Where the application reports no tokens, the first instance stands for the first token. */
function fromRecord({ requests, startNs }: RunRecord): ServedRequest[] {
  return Array.from({ length: requests.count }, (_, row): ServedRequest => {
    const outcome = REQUEST_OUTCOMES[requests.outcome[row] ?? 0];
    const tokens = requests.tokens[row] ?? 0;
    const firstTokenNs = tokens > 0 ? requests.firstTokenNs[row] : requests.firstDoneNs[row];
    return {
      isMostUrgent: requests.rank[row] === 0,
      isDropped: false,
      arrivedNs: (requests.submittedNs[row] ?? Number.NaN) - startNs,
      firstTokenNs: (firstTokenNs ?? Number.NaN) - startNs,
      lastTokenNs: (tokens > 0 ? (requests.lastTokenNs[row] ?? Number.NaN) : Number.NaN) - startNs,
      endedNs: outcome === "open" ? Number.NaN : (requests.endNs[row] ?? Number.NaN) - startNs,
      isCompleted: outcome === "done",
      tokens,
    };
  });
}

/** Of the most urgent class, in ms, ascending. */
export function sortedTtftMs(requests: readonly ServedRequest[]): Float64Array {
  return sorted(requests.map((it) => (it.isMostUrgent ? (it.firstTokenNs - it.arrivedNs) / 1e6 : Number.NaN)));
}

/** Of the requests of the most urgent class with two tokens or more, in ms, ascending. */
export function sortedTpotMs(requests: readonly ServedRequest[]): Float64Array {
  return sorted(
    requests.map((it) =>
      it.isMostUrgent && it.tokens >= 2 ? (it.lastTokenNs - it.firstTokenNs) / (it.tokens - 1) / 1e6 : Number.NaN,
    ),
  );
}

function sorted(values: readonly number[]): Float64Array {
  return Float64Array.from(values.filter((value) => Number.isFinite(value))).sort();
}
