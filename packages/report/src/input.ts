import type { RunRecord } from "@slicescheduler/timeline";
import type { ReplayOutcome } from "@slicescheduler/workloads";
import { ReportError } from "./errors.ts";

/** Everything in it is data: no string is read as HTML. */
export interface ReportInput {
  readonly title: string;
  /** What was served, in the order shown. */
  readonly workload?: readonly Fact[];
  /** Where the figures come from: trace, seed, versions, command; in the order shown. */
  readonly provenance?: readonly Fact[];
  /** At least one, in the order shown. */
  readonly policies: readonly ReportPolicy[];
  /** Threshold of the SLO. Default: the p90 TTFT of `static-online` where that is among the policies; else there is none. */
  readonly slo?: ReportSlo;
  /** Time over which rates and shares count, from the start of a run, in ns. Default: that of the outcomes, else the longest run. */
  readonly windowNs?: number;
  /** Size that the page may have at most. Default 10,000,000. Times are rounded, down to 100 µs, to stay below. */
  readonly maxBytes?: number;
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

export interface ReportSlo {
  readonly ttftMs: number;
  /** Where it comes from, in words. */
  readonly source: string;
}

export interface ReportPolicy {
  /** Unique among the policies. */
  readonly name: string;
  /** One line for people. */
  readonly summary?: string;
  readonly record: RunRecord;
  /** What a replay returned; without it the figures come from the record alone. */
  readonly outcome?: ReplayOutcome;
  /** Tenant of a request by its label, for requests that name none. */
  readonly tenantOf?: (label: string) => string;
}

const policiesMax = 12;

/** Throws INVALID_INPUT. */
export function checkInput({ policies, slo, windowNs, maxBytes }: ReportInput): void {
  const fail = (what: string): never => {
    throw new ReportError("INVALID_INPUT", `a report was asked for with ${what}`);
  };
  if (policies.length < 1 || policies.length > policiesMax)
    fail(`${policies.length} policies; it takes 1 to ${policiesMax}`);
  const names = new Set(policies.map((policy) => policy.name));
  if (names.size < policies.length) fail("two policies of the same name; name them apart");
  for (const [option, value] of Object.entries({ windowNs, maxBytes, "slo.ttftMs": slo?.ttftMs })) {
    if (value !== undefined && !(Number.isFinite(value) && value > 0))
      fail(`${option} ${value}; it has to be a number above 0`);
  }
  for (const { name, record } of policies) {
    if (!(record.endNs >= record.startNs)) fail(`a record of ${JSON.stringify(name)} that ends before it starts`);
  }
}
