/** `report`: an HTML page of replays that were saved, and of run records. */
import { UsageError } from "../errors.ts";
import { resolved } from "../files/load.ts";
import type { Io } from "../io.ts";
import { checkOutputs, writeOutput } from "../output.ts";
import { reportPage } from "../replay/report-page.ts";
import { loadResult } from "../saved/load-results.ts";
import { namedRuns, pageOfMany } from "./page-of-many.ts";

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
  const file = resolved(output, io.cwd);
  checkOutputs(
    [{ option: "--output", shown: output, path: file }],
    files.map((shown) => ({ option: "run", shown, path: resolved(shown, io.cwd) })),
  );
  const results = files.map((given) => loadResult(given, io.cwd));
  const withoutTimeline = results.filter((result) => result.kind === "json");
  if (withoutTimeline.length > 0) {
    const names = withoutTimeline.map(({ file }) => file);
    throw new UsageError(
      names.map((name) => `${name}: a result of --json has no timeline to report on; save the replay with --record`),
    );
  }
  const [first, second] = results;
  const isOneReplay = first?.kind === "saved" && second === undefined && options.title === undefined;
  const policies = namedRuns(results);
  const page = isOneReplay ? reportPage(first.saved) : pageOfMany(policies, results, options.title);
  writeOutput(file, page);
  const written: WrittenReport = {
    file: output,
    bytes: Buffer.byteLength(page),
    policies: policies.map(({ name }) => name),
  };
  if (options.json === true) io.out(`${JSON.stringify(written)}\n`);
  else io.err(`wrote ${output}, ${(written.bytes / 1e6).toFixed(1)} MB, ${written.policies.length} run(s)\n`);
}
