/**
 * How many accelerators, and of how much memory, does this trace need for that service level? Read it like a notebook: a trace, a
 * service level, every cluster that one could buy, each replayed; then a table, and an answer. `node examples/run.mjs capacity-planning` runs it.
 */
import {
  azure2023Profile,
  colocationCluster,
  generateTraces,
  ModelDoesNotFitError,
  policyResult,
  replay,
  type TraceRequest,
  traceWorkload,
} from "@slicescheduler/workloads";

// 1. The trace. Yours comes from a file: `for await (const request of openTrace("trace.csv.gz")) rows.push(request)`; docs/traces.md has
//    the formats. Here a third of the requests of one that is generated like the public Azure traces, 24 seconds of it.
export function trace(): TraceRequest[] {
  const { arrivals } = generateTraces(azure2023Profile, 1);
  return arrivals.filter((row, index) => index % 3 === 0 && row.arrivalNs < 24e9);
}

// 2. The service level: so many of the requests have their first token in time.
export interface ServiceLevel {
  readonly ttftMs: number;
  /** Of all requests, 0 to 1. */
  readonly share: number;
}

// 3. What one could buy, the cheapest first. The price is in any unit.
export interface Offer {
  readonly accelerators: number;
  readonly hbmBytes: number;
  readonly price: number;
}

export function offers(counts: readonly number[], gigabytes: readonly number[]): Offer[] {
  return counts
    .flatMap((accelerators) =>
      gigabytes.map((size) => ({ accelerators, hbmBytes: size * 1e9, price: accelerators * (1 + size / 80) })),
    )
    .sort((a, b) => a.price - b.price || a.accelerators - b.accelerators);
}

export interface Assessment {
  readonly offer: Offer;
  /** Share of the requests in time; null where the model does not even fit, and `why` says so. */
  readonly attainment: number | null;
  readonly ttftP90Ms: number | null;
  readonly utilization: number | null;
  readonly peakHbmBytes: number | null;
  readonly why: string;
}

// 4. Each of them is replayed: the master that would schedule it in production, on accelerators that are simulated.
function assess(rows: readonly TraceRequest[], level: ServiceLevel, offer: Offer): Assessment {
  const { online, offline } = traceWorkload(rows);
  const { accelerators, hbmBytes } = offer;
  try {
    const cluster = colocationCluster({ accelerators, hbmBytes });
    const outcome = replay({ cluster, policy: "slicescheduler", online, offline, seed: 1 });
    const { sloAttainment, ttftMs, utilization, peakHbmBytes } = policyResult(outcome, level.ttftMs);
    return {
      offer,
      attainment: sloAttainment,
      ttftP90Ms: ttftMs?.p90 ?? null,
      utilization,
      peakHbmBytes: Math.max(...peakHbmBytes),
      why: (sloAttainment ?? 1) >= level.share ? "enough" : "too slow",
    };
  } catch (error) {
    if (!(error instanceof ModelDoesNotFitError)) throw error;
    return {
      offer,
      attainment: null,
      ttftP90Ms: null,
      utilization: null,
      peakHbmBytes: null,
      why: "the model does not fit",
    };
  }
}

export function plan(rows: readonly TraceRequest[], level: ServiceLevel, choices: readonly Offer[]): Assessment[] {
  return choices.map((offer) => assess(rows, level, offer));
}

/** The cheapest that is enough, if any is. */
export function answer(assessments: readonly Assessment[]): Assessment | undefined {
  return assessments.find(({ why }) => why === "enough");
}

// 5. The table. One replay is one draw: before you buy, take several seeds, a longer trace, and a margin.
export function table(assessments: readonly Assessment[]): string {
  const cell = (value: number | null, scale: number, digits: number) =>
    value === null ? "–" : (value * scale).toFixed(digits);
  const rows = assessments.map(({ offer, attainment, ttftP90Ms, utilization, peakHbmBytes, why }) => [
    String(offer.accelerators),
    cell(offer.hbmBytes, 1e-9, 0),
    offer.price.toFixed(1),
    cell(attainment, 100, 0),
    cell(ttftP90Ms, 1e-3, 1),
    cell(utilization, 100, 0),
    cell(peakHbmBytes, 1e-9, 1),
    why,
  ]);
  const head = ["accelerators", "GB each", "price", "in time %", "p90 s", "busy %", "peak GB", "verdict"];
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows]
    .map((row) => row.map((text, column) => text.padStart(widths[column] ?? 0)).join("  "))
    .join("\n");
}
