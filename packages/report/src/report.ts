/** A run, or several policies side by side, as one offline HTML file. */
import { deflateRawSync } from "node:zlib";
import { ReportError } from "./errors.ts";
import { compare } from "./evidence/figures.ts";
import { overviewBlock } from "./evidence/overview.ts";
import { type Run, runOf } from "./evidence/run.ts";
import { timelineBlock } from "./evidence/timeline-block.ts";
import { checkInput, type ReportInput } from "./input.ts";
import { page } from "./page/page.ts";
import { formatNs } from "./shared/format.ts";

const bytesMaxDefault = 10_000_000;
/** Multiples that times may be rounded to, so that the page stays small. */
const unitsNs = [1, 1e3, 1e4, 1e5];

/**
 * One HTML document with all its data: it opens from a file, loads nothing and sends nothing. First the answer, then the evidence.
 * Throws INVALID_INPUT; TOO_LARGE when the page would pass `maxBytes` even with times rounded to 100 µs. Linear in the operators: about a
 * second for a run of 200,000.
 */
export function htmlReport(input: ReportInput): string {
  checkInput(input);
  const { maxBytes = bytesMaxDefault, policies } = input;
  const runs = policies.map((policy) => runOf(policy, input.windowNs));
  const comparison = compare(runs, input);
  const overview = base64Of(overviewBlock(runs, comparison));
  let bytes = 0;
  for (const unitNs of unitsNs) {
    const blocks = new Map([["block-overview", overview]]);
    runs.forEach((run, i) => {
      blocks.set(`block-timeline-${i}`, base64Of(timelineBlock(run, unitNs)));
    });
    const unitWords = unitNs === 1 ? "" : ` (times to ${formatNs(unitNs)})`;
    const text = page({ input, runs, comparison, blocks, unitWords });
    bytes = Buffer.byteLength(text);
    if (bytes <= maxBytes) return text;
  }
  const what = `the report of ${policies.length} policies with ${operatorsOf(runs)} operators takes ${bytes} bytes`;
  throw new ReportError(
    "TOO_LARGE",
    `${what}, more than the ${maxBytes} allowed; record a shorter run, show fewer policies, or raise maxBytes`,
  );
}

function base64Of(bytes: Uint8Array): string {
  return deflateRawSync(bytes).toString("base64");
}

function operatorsOf(runs: readonly Run[]): number {
  return runs.reduce((sum, { record }) => sum + record.operators.count, 0);
}
