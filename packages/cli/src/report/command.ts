/** `report`: an HTML page of replays that were saved, and of run records. */
import { htmlReport, type ReportPolicy } from "@slicescheduler/report";
import { packageVersion } from "../assets.ts";
import { UsageError } from "../errors.ts";
import { resolved } from "../files/load.ts";
import type { Io } from "../io.ts";
import { writeOutput } from "../output.ts";
import { reportPage, serviceOf } from "../replay/report-page.ts";
import { type LoadedResult, loadResult } from "../saved/load-results.ts";

export interface ReportOptions {
  readonly output?: string;
  readonly title?: string;
  readonly json?: boolean;
}

/** The object of `--json`. */
export interface WrittenReport {
  readonly file: string;
  readonly bytes: number;
  readonly policies: readonly string[];
}

/** Errors: USAGE, those of `loadResult` and `htmlReport`, FILE_UNWRITABLE. */
export function runReport(files: readonly string[], options: ReportOptions, io: Io): void {
  const output = options.output ?? "report.html";
  const results = files.map((file) => loadResult(file, io.cwd));
  const withoutTimeline = results.filter((result) => result.kind === "json");
  if (withoutTimeline.length > 0) {
    const names = withoutTimeline.map(({ file }) => file);
    throw new UsageError(
      names.map((name) => `${name}: a result of --json has no timeline to report on; save the replay with --record`),
    );
  }
  const [first, second] = results;
  const isOneReplay = first?.kind === "saved" && second === undefined && options.title === undefined;
  const policies = named(results);
  const page = isOneReplay ? reportPage(first.saved) : manyPage(policies, results, options.title);
  const file = resolved(output, io.cwd);
  writeOutput(file, page);
  const written: WrittenReport = {
    file: output,
    bytes: Buffer.byteLength(page),
    policies: policies.map(({ name }) => name),
  };
  if (options.json === true) io.out(`${JSON.stringify(written)}\n`);
  else io.err(`wrote ${output}, ${(written.bytes / 1e6).toFixed(1)} MB, ${written.policies.length} run(s)\n`);
}

/** Runs with names of their own: with the file's where two would have the same. */
function named(results: readonly LoadedResult[]): ReportPolicy[] {
  const all = results.flatMap((result) => {
    if (result.kind === "record") {
      const { file, record } = result;
      return [{ file, run: { name: record.label === "" ? file : record.label, record } }];
    }
    if (result.kind !== "saved") return [];
    return result.saved.replays.map(({ policy, ...rest }) => ({
      file: result.file,
      run: { name: policy, ...rest, tenantOf: serviceOf },
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

function manyPage(
  policies: readonly ReportPolicy[],
  results: readonly LoadedResult[],
  title: string | undefined,
): string {
  const commands = results.flatMap((result) => (result.kind === "saved" ? [result.saved.command] : []));
  const slos = results.flatMap((result) => (result.kind === "saved" ? [result.saved.report.slo] : []));
  return htmlReport({
    title: title ?? "Runs side by side",
    provenance: [
      { name: "Files", value: results.map(({ file }) => file).join(", ") },
      ...commands.map((value) => ({ name: "Command", value })),
      { name: "Version", value: `@slicescheduler/cli ${packageVersion()}` },
    ],
    policies,
    ...(slos[0] === undefined ? {} : { slo: slos[0] }),
  });
}
