import type { RunRecord } from "@slicescheduler/timeline";
import type { ReplayOutcome } from "@slicescheduler/workloads";
import { ReportError } from "./errors.ts";

/** Everything in it is data: no string is read as HTML. */
export interface ReportInput {
  readonly title: string;
  /** What was served, in the order shown: what all policies have in common. */
  readonly workload?: readonly Fact[];
  /** Where the figures come from: trace, seed, versions, command; in the order shown. */
  readonly provenance?: readonly Fact[];
  /** At least one, in the order shown. */
  readonly policies: readonly ReportPolicy[];
  /**
   * Threshold of the SLO, for policies that name none of their own. Default: where all had the same workload, the p90 TTFT of
   * `static-online` if that is among them; else there is none. Null: none.
   */
  readonly slo?: ReportSlo | null;
  /** Time over which rates and shares count, from the start of a run, in ns. Default: that of the outcome, else the length of the run. */
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
  /** What it served, in the order shown, where that is not common to all. */
  readonly workload?: readonly Fact[];
  /** Default: that of the report. Null: none, as where no request is urgent. */
  readonly slo?: ReportSlo | null;
  /** Default: that of the report. */
  readonly windowNs?: number;
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
  const checkAboveZero = (numbers: Readonly<Record<string, number | undefined>>, where: string): void => {
    for (const [option, value] of Object.entries(numbers)) {
      if (value !== undefined && !(Number.isFinite(value) && value > 0))
        fail(`${option} ${value}${where}; it has to be a number above 0`);
    }
  };
  checkAboveZero({ windowNs, maxBytes, "slo.ttftMs": slo?.ttftMs }, "");
  for (const { name, record, windowNs: its, slo: own } of policies) {
    checkAboveZero({ windowNs: its, "slo.ttftMs": own?.ttftMs }, ` of ${JSON.stringify(name)}`);
    if (!(record.endNs >= record.startNs)) fail(`a record of ${JSON.stringify(name)} that ends before it starts`);
  }
}
