/** What the page shows of one policy, worked out once. */
import type { RunRecord } from "@slicescheduler/timeline";
import type { ReportInput, ReportPolicy } from "../input.ts";
import { idleSliceLengths } from "./idle.ts";
import { type ServedRequest, servedRequests, sortedTpotMs, sortedTtftMs } from "./requests.ts";
import { endOf, type TimelineOrder, timelineOrder } from "./timeline-order.ts";

export interface Run {
  readonly policy: ReportPolicy;
  readonly record: RunRecord;
  readonly order: TimelineOrder;
  readonly requests: readonly ServedRequest[];
  /** Over which rates and shares count, from the record's start. */
  readonly windowNs: number;
  /** Tenant of an operator, by its row in the record; empty for nobody's. */
  readonly tenantOf: (row: number) => string;
  /** From the record's start to its end, or to the end of the last operator. */
  readonly spanNs: number;
  /** Ascending. */
  readonly ttftMs: Float64Array;
  readonly tpotMs: Float64Array;
  /** Idle slices within the window, ascending. */
  readonly idleMs: Float64Array;
  /** Share of the window that operators ran, per accelerator, 0…1. */
  readonly utilization: readonly number[];
}

/** @param commonWindowNs For a policy that names no window. Without it that of the outcome counts, else the whole run. */
export function runOf(policy: ReportPolicy, commonWindowNs: ReportInput["windowNs"]): Run {
  const { record, outcome } = policy;
  const windowNs = policy.windowNs ?? commonWindowNs ?? outcome?.windowNs ?? spanNsOf(record);
  const order = timelineOrder(record);
  const requests = servedRequests(record, outcome);
  return {
    policy,
    record,
    order,
    requests,
    windowNs,
    tenantOf: tenantNames(policy),
    spanNs: spanNsOf(record),
    ttftMs: sortedTtftMs(requests),
    tpotMs: sortedTpotMs(requests),
    idleMs: idleSliceLengths(record, order, windowNs).map((ns) => ns / 1e6),
    utilization: utilizationOf(record, order, windowNs),
  };
}

function spanNsOf(record: RunRecord): number {
  let endNs = record.endNs;
  for (let row = 0; row < record.operators.count; row++) endNs = Math.max(endNs, endOf(record, row));
  return Math.max(1, endNs - record.startNs);
}

function utilizationOf(record: RunRecord, { rows, offsets }: TimelineOrder, windowNs: number): number[] {
  const untilNs = record.startNs + windowNs;
  return Array.from({ length: offsets.length - 1 }, (_, accelerator) => {
    let busyNs = 0;
    for (let i = offsets[accelerator] ?? 0; i < (offsets[accelerator + 1] ?? 0); i++) {
      const row = rows[i] ?? 0;
      const startNs = record.operators.startNs[row] ?? 0;
      busyNs += Math.max(0, Math.min(untilNs, endOf(record, row)) - startNs);
    }
    return busyNs / windowNs;
  });
}

/** As the record names it, else by the label of its request. */
function tenantNames({ record, tenantOf }: ReportPolicy): (row: number) => string {
  const { operators, requests, tenants } = record;
  const byRequest = new Map<number, string>();
  for (let row = 0; row < requests.count; row++) {
    const named = tenants[requests.tenant[row] ?? -1] ?? "";
    byRequest.set(requests.id[row] ?? -1, named === "" ? (tenantOf?.(requests.labels[row] ?? "") ?? "") : named);
  }
  return (row) => {
    const named = tenants[operators.tenant[row] ?? -1] ?? "";
    return named === "" ? (byRequest.get(operators.request[row] ?? -1) ?? "") : named;
  };
}
