/** What keeps figures of several files from being compared: other requests, another threshold. */
import { loadWords, sourceWords } from "../replay/table.ts";
import type { LoadedResult } from "../saved/load-results.ts";

/** Lines for people; none where all replays had the same requests and were held to the same SLO. */
export function unlikeNotes(results: readonly LoadedResult[]): string[] {
  const replays = results.flatMap((result) => {
    if (result.kind === "record") return [];
    const { file } = result;
    const { workload, slo } = result.kind === "saved" ? result.saved.report : result.report;
    const { online, offline } = loadWords(workload);
    const requests = `${workload.minutes.toFixed(2)} min, ${sourceWords(workload)}, ${online}, ${offline}`;
    return [{ file, requests, slo: slo === null ? "none" : `TTFT ≤ ${slo.ttftMs.toFixed(0)} ms` }];
  });
  return [
    ...differing(replays, "requests", "The requests are not the same"),
    ...differing(replays, "slo", "SLO attainment is of different thresholds"),
  ];
}

function differing<Field extends string>(
  replays: readonly (Readonly<Record<Field, string>> & { readonly file: string })[],
  field: Field,
  what: string,
): string[] {
  if (new Set(replays.map((replay) => replay[field])).size < 2) return [];
  return [`${what}:`, ...replays.map((replay) => `  ${replay.file}: ${replay[field]}`)];
}
