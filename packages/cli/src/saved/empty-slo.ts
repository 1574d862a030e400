import type { ReplayReport } from "../replay/json.ts";

/** Earlier releases wrote a threshold of 0 where there was no online request, and an attainment of 0 with it. */
export function withoutEmptySlo(report: ReplayReport): ReplayReport {
  if (report.slo === null || report.slo.ttftMs > 0) return report;
  const policies = Object.entries(report.policies).map(([name, result]) => [name, { ...result, sloAttainment: null }]);
  return { ...report, slo: null, policies: Object.fromEntries(policies) };
}
