/** The requests of a run as the figures need them, from a replay's outcome or from the record alone. */
import { REQUEST_OUTCOMES, type RunRecord } from "@slicescheduler/timeline";
import type { ReplayOutcome } from "@slicescheduler/workloads";

/** Times in ns from the start of the run; NaN where it did not come to that. */
export interface ServedRequest {
  readonly isMostUrgent: boolean;
  readonly arrivedNs: number;
  readonly firstTokenNs: number;
  readonly lastTokenNs: number;
  /** When it left: completed, failed or cancelled. */
  readonly endedNs: number;
  readonly isCompleted: boolean;
  readonly tokens: number;
}

/** Of an outcome its records; requests that were dropped never count as being under way. */
export function servedRequests(record: RunRecord, outcome: ReplayOutcome | undefined): ServedRequest[] {
  return outcome === undefined ? fromRecord(record) : fromOutcome(outcome);
}

function fromOutcome({ records }: ReplayOutcome): ServedRequest[] {
  return records
    .filter(({ outcome }) => outcome !== "dropped")
    .map((it) => ({
      isMostUrgent: it.class === "online",
      arrivedNs: it.request.arrivalNs,
      firstTokenNs: it.firstTokenNs ?? Number.NaN,
      lastTokenNs: it.lastTokenNs ?? Number.NaN,
      endedNs:
        it.outcome === "completed" || it.outcome === "failed" ? (it.lastTokenNs ?? it.request.arrivalNs) : Number.NaN,
      isCompleted: it.outcome === "completed",
      tokens: it.tokens,
    }));
}

/** Where the application reports no tokens, the first instance stands for the first token. */
function fromRecord({ requests, startNs }: RunRecord): ServedRequest[] {
  return Array.from({ length: requests.count }, (_, row): ServedRequest => {
    const outcome = REQUEST_OUTCOMES[requests.outcome[row] ?? 0];
    const tokens = requests.tokens[row] ?? 0;
    const firstTokenNs = tokens > 0 ? requests.firstTokenNs[row] : requests.firstDoneNs[row];
    return {
      isMostUrgent: requests.rank[row] === 0,
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
