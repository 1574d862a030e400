/** One page of several files: each run counts over its own window, by its own SLO, beside what it served. */
import { type Fact, htmlReport, type ReportPolicy } from "@slicescheduler/report";
import { packageVersion } from "../assets.ts";
import { serviceOf, workloadFacts } from "../replay/report-page.ts";
import { sourceWords } from "../replay/table.ts";
import type { LoadedResult } from "../saved/load-results.ts";
import type { SavedReplay } from "../saved/saved-replay.ts";

/** Runs with names of their own: with the file's where two would have the same. Results of `--json` hold no run. */
export function namedRuns(results: readonly LoadedResult[]): ReportPolicy[] {
  const all = results.flatMap((result) => {
    if (result.kind === "record") {
      const { file, record } = result;
      return [{ file, run: { name: record.label === "" ? file : record.label, record } }];
    }
    if (result.kind !== "saved") return [];
    const { replays, report } = result.saved;
    const workload = workloadFacts(result.saved.report);
    return replays.map(({ policy, ...rest }) => ({
      file: result.file,
      run: { name: policy, ...rest, tenantOf: serviceOf, slo: report.slo, workload },
    }));
  });
  const count = (name: string): number => all.filter(({ run }) => run.name === name).length;
  const seen = new Map<string, number>();
  return all.map(({ file, run }) => {
    const name = count(run.name) > 1 ? `${file}: ${run.name}` : run.name;
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return { ...run, name: before === 0 ? name : `${name} (${before + 1})` };
  });
}

/** Errors: those of `htmlReport`. */
export function pageOfMany(
  policies: readonly ReportPolicy[],
  results: readonly LoadedResult[],
  title: string | undefined,
): string {
  return htmlReport({
    title: title ?? "Runs side by side",
    provenance: [
      { name: "Files", value: results.map(({ file }) => file).join(", ") },
      ...results.flatMap((result) => (result.kind === "saved" ? sourcesOf(result.file, result.saved) : [])),
      { name: "Version", value: `@slicescheduler/cli ${packageVersion()}` },
    ],
    policies,
  });
}

function sourcesOf(file: string, { command, report: { workload, seeds } }: SavedReplay): Fact[] {
  const attribution = workload.profile === null ? [] : [workload.profile.attribution];
  const requests = [sourceWords(workload), ...attribution, `recipe ${workload.recipe}`, `seed ${seeds[0]}`];
  return [
    { name: `Requests of ${file}`, value: requests.join("; ") },
    { name: `Command of ${file}`, value: command },
  ];
}
