import { CsvError, parse } from "csv-parse/sync";
import { TraceError } from "../errors.ts";

export interface CsvRecord {
  /** 1-based line on which the record ends. */
  readonly line: number;
  readonly fields: readonly string[];
}

/**
 * Splits CSV text (LF or CR LF, optional BOM) into records of any width. A record never goes over a line end, so that an
 * open quote is a fault of its own line and not of the rest of the file. Errors: TRACE_MALFORMED_ROW.
 */
export function parseCsv(text: string, file: string): CsvRecord[] {
  try {
    const raw: unknown = parse(text, {
      bom: true,
      relax_column_count: true,
      skip_empty_lines: true,
      record_delimiter: ["\r\n", "\n"],
      info: true,
      quote: false,
    });
    const found = raw as { record: string[]; info: { lines: number } }[];
    return found.map(({ record, info }) => ({ fields: record.map(unquoted), line: info.lines }));
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    const line = (cause as CsvError & { lines?: number }).lines;
    const reason = `not CSV: ${cause.message.replace(/\s+/g, " ")}`;
    throw new TraceError("TRACE_MALFORMED_ROW", file, line ?? null, reason, { cause });
  }
}

function unquoted(field: string): string {
  return /^"[^"]*"$/.test(field) ? field.slice(1, -1) : field;
}
