import type { HistogramDefinition, MetricDefinition, MetricsSink, Series } from "./metrics-sink.ts";

/** Of operators and transfers: 0.1 ms to 10 s. */
const DURATIONS = [1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
/** Of waits, instances and requests: 1 ms to 10 min. */
const WAITS = [1e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600] as const;
/** Of the master itself: 10 µs to 1 s. */
const ROUNDS = [1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 1] as const;
const RATIOS = [1e-3, 3e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5] as const;

type Kind = keyof Omit<MetricsSink, "beforeReading">;

interface CatalogueEntry extends MetricDefinition {
  readonly kind: Kind;
  readonly buckets?: readonly number[];
}

/** Every metric of the master. Times are of the executor's clock, where nothing else is said. */
const CATALOGUE = {
  operatorsIssued: counter("operators_issued_total", "Operators handed to executors.", ["class", "tenant"]),
  operatorsEnded: counter(
    "operators_total",
    "Operators that executors have no longer, by outcome: done, failed, retried (failed, and made again), withdrawn (taken back before it started: " +
      "preempted, or its place was given up), lost with its accelerator, dropped with its instance.",
    ["class", "tenant", "outcome"],
  ),
  operatorDuration: histogram(
    "operator_duration_seconds",
    "What executors observed of operators that were done.",
    ["class", "kind"],
    DURATIONS,
  ),
  operatorQueue: histogram(
    "operator_queue_seconds",
    "From the issue of an operator to its start: waiting for inputs, transfers and its turn.",
    ["class"],
    WAITS,
  ),
  instancesEnded: counter("instances_total", "Instances that ended, by outcome: done, failed, cancelled.", [
    "class",
    "tenant",
    "outcome",
  ]),
  instanceFailures: counter("instance_failures_total", "Instances that failed, by the code of their error.", ["code"]),
  instanceWait: histogram(
    "instance_wait_seconds",
    "From the submission of an instance to the start of its first operator.",
    ["class", "tenant"],
    WAITS,
  ),
  instanceDuration: histogram(
    "instance_duration_seconds",
    "From the submission of an instance to its end, of those that were done.",
    ["class", "tenant"],
    WAITS,
  ),
  requestsOpened: counter("requests_total", "Requests that were opened.", ["class", "tenant"]),
  firstResult: histogram(
    "request_first_result_seconds",
    "From the opening of a request to the end of its first instance: the time to the first token where that instance is the prefill.",
    ["class", "tenant"],
    WAITS,
  ),
  refusals: counter("refusals_total", "Calls that were refused with an error, by its code.", ["code"]),
  decisions: counter("decisions_total", "Scheduling decisions.", []),
  candidates: counter(
    "decision_candidates_total",
    "Candidates of decisions: chosen, simulated (and not chosen), spared (it could not win), shortage (of memory), predicted to run out of memory.",
    ["outcome"],
  ),
  simulatedOperators: counter("simulated_operators_total", "Operators that decisions simulated.", []),
  roundDuration: histogram(
    "round_host_seconds",
    "Time of the master's host for an event that led to decisions; only where the option hostNowNs is given.",
    [],
    ROUNDS,
  ),
  estimateError: histogram(
    "estimate_error_ratio",
    "How far a duration was predicted wrong at its issue, as a share of what was observed.",
    ["of"],
    RATIOS,
  ),
  transfers: counter("transfers_total", "Transfers, by outcome: done, failed, cancelled, quarantined.", ["outcome"]),
  transferDuration: histogram(
    "transfer_duration_seconds",
    "What executors observed of transfers that were done.",
    [],
    DURATIONS,
  ),
  transferredBytes: counter("transferred_bytes_total", "Bytes of transfers that were done.", [
    "accelerator",
    "direction",
  ]),
  acceleratorEvents: counter(
    "accelerator_events_total",
    "What happened to accelerators: lost, returned, suspect, cleared, draining, drained.",
    ["accelerator", "event"],
  ),
  standstills: counter("standstills_total", "Times that nothing moved any more while work waited for memory.", []),
  late: counter("late_reports_total", "Reports of the executor that came twice or too late, and were ignored.", []),
  early: counter("early_reports_total", "Reports of the executor that came before what they follow from.", []),
  acceleratorTime: counter(
    "accelerator_seconds_total",
    "Time of accelerators, by state: busy with an operator, idle, absent; their sum is the executor's clock.",
    ["accelerator", "state"],
  ),
  hbmUsed: gauge(
    "hbm_used_bytes",
    "Bytes in use, by the executor's account or else by the graph's.",
    ["accelerator"],
    "bytes",
  ),
  hbmClaimed: gauge(
    "hbm_claimed_bytes",
    "Bytes granted to placed requests, used or not, beside weights and baseline.",
    ["accelerator"],
    "bytes",
  ),
  hbmCapacity: gauge("hbm_capacity_bytes", "Bytes that may be used, the margin taken off.", ["accelerator"], "bytes"),
  up: gauge("accelerator_up", "1 where operators may be placed, 0 where it is absent, drained or suspect.", [
    "accelerator",
  ]),
  queue: gauge("issued_operators", "Operators that executors have, by state: blocked, ready, running.", [
    "accelerator",
    "state",
  ]),
  frontier: gauge(
    "frontier_operators",
    "Operators of the unscheduled frontier: their producers are issued, they are not.",
    ["class"],
  ),
  liveTransfers: gauge("live_transfers", "Transfers that have not ended, by state.", ["state"]),
  requests: gauge("live_requests", "Requests in the graph.", []),
  instances: gauge("live_instances", "Instances in the graph.", []),
} satisfies Record<string, CatalogueEntry>;

export type MetricName = keyof typeof CATALOGUE;

/** Every metric there is, as a sink gets it: for dashboards, documents and tests. */
export const METRICS: readonly CatalogueEntry[] = Object.values(CATALOGUE);

/** Defines every metric in a sink. */
export function defineAll(sink: MetricsSink): Readonly<Record<MetricName, Series>> {
  const define = ({ kind, buckets, ...definition }: CatalogueEntry): Series =>
    kind === "histogram" ? sink.histogram({ ...definition, buckets: buckets ?? [] }) : sink[kind](definition);
  const series = Object.entries<CatalogueEntry>(CATALOGUE).map(([name, entry]) => [name, define(entry)]);
  return Object.fromEntries(series) as Record<MetricName, Series>;
}

function counter(name: string, help: string, labels: readonly string[]): CatalogueEntry {
  return { kind: "counter", name: `slicescheduler_${name}`, help, labels, unit: unitOf(name) };
}

function gauge(name: string, help: string, labels: readonly string[], unit: "bytes" | "1" = "1"): CatalogueEntry {
  return { kind: "gauge", name: `slicescheduler_${name}`, help, labels, unit };
}

function histogram(
  name: string,
  help: string,
  labels: readonly string[],
  buckets: readonly number[],
): HistogramDefinition & CatalogueEntry {
  return { kind: "histogram", name: `slicescheduler_${name}`, help, labels, buckets, unit: unitOf(name) };
}

function unitOf(name: string): MetricDefinition["unit"] {
  if (/_seconds(_total)?$/.test(name)) return "seconds";
  return /_bytes(_total)?$/.test(name) ? "bytes" : "1";
}
