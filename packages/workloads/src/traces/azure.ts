/** The Azure LLM inference traces of 2023 and 2024: CSV with TIMESTAMP, ContextTokens, GeneratedTokens. */
import { TraceError } from "../errors.ts";
import { type CsvRecord, parseCsv } from "./csv.ts";
import { readTraceText, shown } from "./file.ts";
import { type Instant, nsBetween, parseInstant } from "./instant.ts";
import { type TraceRow, traceDaysMax, traceTokensMax } from "./types.ts";

const azureHeader: readonly string[] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/**
 * Reads an Azure trace file; linear in its size.
 * Errors: those of `parseAzureTrace`, and TRACE_NOT_FOUND, TRACE_IS_DIRECTORY, TRACE_UNREADABLE, TRACE_TOO_LARGE.
 */
export function readAzureTrace(file: string): TraceRow[] {
  return parseAzureTrace(readTraceText(file), file);
}

/**
 * Parses the text of an Azure trace; arrival times are exact (the traces carry 100 ns; those of 2024 a zone).
 * @param file only named in errors.
 * Errors: TRACE_EMPTY, TRACE_WRONG_HEADER, TRACE_MALFORMED_ROW, TRACE_OUT_OF_ORDER.
 */
export function parseAzureTrace(text: string, file: string): TraceRow[] {
  const records = parseCsv(text, file);
  const header = records[0];
  if (header === undefined) throw new TraceError("TRACE_EMPTY", file, null, "is empty; a header line was expected");
  if (header.fields.join() !== azureHeader.join()) {
    const reason = `wrong header ${shown(header.fields.join())}; expected ${azureHeader.join()}`;
    throw new TraceError("TRACE_WRONG_HEADER", file, header.line, reason);
  }
  if (records.length === 1) throw new TraceError("TRACE_EMPTY", file, null, "has a header but no rows");
  return toRows(records, file);
}

function toRows(records: readonly CsvRecord[], file: string): TraceRow[] {
  const rows: TraceRow[] = [];
  let first: Instant | undefined;
  let previousNs = 0;
  for (const { line, fields } of records.slice(1)) {
    const bad = (reason: string): TraceError => new TraceError("TRACE_MALFORMED_ROW", file, line, reason);
    const [timestamp, context, generated, ...more] = fields;
    if (timestamp === undefined || context === undefined || generated === undefined || more.length > 0) {
      throw bad(`${fields.length} field(s) instead of ${azureHeader.length}`);
    }
    const time = parseInstant(timestamp, "iso");
    if (time === undefined) throw bad(`TIMESTAMP ${shown(timestamp)} is not YYYY-MM-DD HH:MM:SS.fffffff`);
    first ??= time;
    const arrivalNs = nsBetween(first, time);
    if (arrivalNs < previousNs) {
      const reason = `TIMESTAMP ${timestamp} is earlier than the row before it; rows must be sorted by time`;
      throw new TraceError("TRACE_OUT_OF_ORDER", file, line, reason);
    }
    if (arrivalNs > traceDaysMax * 86_400e9) throw bad(`more than ${traceDaysMax} days after the first row`);
    previousNs = arrivalNs;
    const inputTokens = parseTokens(context);
    if (inputTokens === undefined) throw bad(tokensReason("ContextTokens", context));
    const outputTokens = parseTokens(generated);
    if (outputTokens === undefined) throw bad(tokensReason("GeneratedTokens", generated));
    rows.push({ arrivalNs, inputTokens, outputTokens });
  }
  return rows;
}

function parseTokens(text: string): number | undefined {
  if (!/^\d{1,9}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= 1 && value <= traceTokensMax ? value : undefined;
}

function tokensReason(column: string, found: string): string {
  return `${column} ${shown(found)} is not a whole number from 1 to ${traceTokensMax}`;
}
