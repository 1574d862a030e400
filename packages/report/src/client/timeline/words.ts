/** An operator in words. */
import { formatNs, formatTime } from "../../shared/format.ts";
import type { Timeline } from "./timeline.ts";

export interface OperatorWords {
  readonly name: string;
  readonly facts: readonly (readonly [string, string])[];
}

/** @param spanNs of the longest run, which decides how times are told. */
export function operatorWords(
  timeline: Timeline,
  operator: number,
  accelerator: string,
  spanNs: number,
): OperatorWords {
  const { meta, startNs, endNs, name, instance, outcome } = timeline;
  const of = instance[operator] ?? 0;
  const request = timeline.instanceRequest[of] ?? 0;
  const start = startNs[operator] ?? 0;
  const end = endNs[operator] ?? 0;
  const label = meta.requestLabels[request] ?? "";
  const tenant = meta.tenants[timeline.instanceTenant[of] ?? 0] ?? "";
  const rank = timeline.instanceRank[of] ?? -1;
  const ended = meta.outcomes[outcome[operator] ?? 0] ?? "";
  return {
    name: meta.operatorNames[name[operator] ?? 0] ?? "operator",
    facts: [
      ["accelerator", accelerator],
      ["from", formatTime(start, Math.max(1, meta.unitNs, 1000), spanNs)],
      ["took", formatNs(end - start)],
      ["class", meta.priorities[rank] ?? "not known"],
      ...(tenant === "" ? [] : [["tenant", tenant] as const]),
      ["request", `${timeline.requestNumber[request] ?? "?"}${label === "" ? "" : ` (${label})`}`],
      ["instance", String(timeline.instanceNumber[of] ?? "?")],
      ...(ended === "done" ? [] : [["ended", ended] as const]),
    ],
  };
}
