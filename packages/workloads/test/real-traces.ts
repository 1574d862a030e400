import { fileURLToPath } from "node:url";
import { hasAzureTraces, readTracePair, type TracePair } from "@slicescheduler/workloads";

/** Where the public traces lie: $SLICESCHEDULER_TRACES, else beside the repository. */
export const tracesDirectory: string =
  process.env["SLICESCHEDULER_TRACES"] ?? fileURLToPath(new URL("../../../../shared/data/traces", import.meta.url));

export const haveTraces: boolean = hasAzureTraces(tracesDirectory);
if (!haveTraces) {
  console.warn("Tests on the public traces are skipped: set SLICESCHEDULER_TRACES to a directory that holds them.");
}

let pair: TracePair | undefined;
/** The two Azure traces, read once. */
export function azurePair(): TracePair {
  pair ??= readTracePair([tracesDirectory]);
  return pair;
}
