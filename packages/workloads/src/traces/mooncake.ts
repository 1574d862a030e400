/** The Mooncake traces: one JSON object a line with timestamp (ms), input_length, output_length, hash_ids. */
import { z } from "zod";
import { TraceError } from "../errors.ts";
import { readTraceText, shown } from "./file.ts";
import { type TraceRow, traceDaysMax, traceTokensMax } from "./types.ts";

/** A Mooncake request also tells which 512-token prefix blocks it shares with others: equal ids, equal prefixes. */
export interface MooncakeRow extends TraceRow {
  readonly prefixBlocks: readonly number[];
}

const tokens = z.int().min(1).max(traceTokensMax);
const lineSchema = z.object({
  timestamp: z
    .int()
    .min(0)
    .max(traceDaysMax * 86_400_000),
  input_length: tokens,
  output_length: tokens,
  hash_ids: z.array(z.int().min(0)),
});

/**
 * Reads a Mooncake trace file; linear in its size.
 * Errors: those of `parseMooncakeTrace`, and TRACE_NOT_FOUND, TRACE_IS_DIRECTORY, TRACE_UNREADABLE, TRACE_TOO_LARGE.
 */
export function readMooncakeTrace(file: string): MooncakeRow[] {
  return parseMooncakeTrace(readTraceText(file), file);
}

/**
 * Parses the text of a Mooncake trace. Arrivals count from the first row and lie on the trace's own 3 s grid.
 * @param file only named in errors.
 * Errors: TRACE_EMPTY, TRACE_MALFORMED_ROW, TRACE_OUT_OF_ORDER.
 */
export function parseMooncakeTrace(text: string, file: string): MooncakeRow[] {
  const rows: MooncakeRow[] = [];
  let firstMs: number | undefined;
  let previousMs = 0;
  let number = 0;
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    number++;
    if (line.trim() === "") continue;
    const row = lineSchema.safeParse(parseJsonLine(line, file, number));
    if (!row.success) throw new TraceError("TRACE_MALFORMED_ROW", file, number, issueText(row.error));
    const { timestamp, input_length, output_length, hash_ids } = row.data;
    if (timestamp < previousMs) {
      const reason = `timestamp ${timestamp} is earlier than ${previousMs} in the row before it; rows must be sorted by time`;
      throw new TraceError("TRACE_OUT_OF_ORDER", file, number, reason);
    }
    previousMs = timestamp;
    firstMs ??= timestamp;
    const arrivalNs = (timestamp - firstMs) * 1e6;
    rows.push({ arrivalNs, inputTokens: input_length, outputTokens: output_length, prefixBlocks: hash_ids });
  }
  if (rows.length === 0) throw new TraceError("TRACE_EMPTY", file, null, "has no rows");
  return rows;
}

function parseJsonLine(line: string, file: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new TraceError("TRACE_MALFORMED_ROW", file, number, `not JSON: ${shown(line)}`, { cause });
  }
}

/** The first fault zod found, as one line that names the field. */
export function issueText(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "not as expected";
  const where = issue.path.map(String).join(".");
  return `${where === "" ? "row" : where}: ${issue.message.replace(/\s+/g, " ")}`;
}
