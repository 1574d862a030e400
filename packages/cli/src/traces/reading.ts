/** Options about how a trace is read, shared by `convert` and `profile`. */
import {
  nearest,
  type TraceColumns,
  type TraceFormat,
  type TraceReading,
  timeUnits,
  traceFormats,
} from "@slicescheduler/workloads";
import type { OptionFaults } from "../option-faults.ts";
import type { ProgressPrinter } from "../progress.ts";

export interface RawReading {
  readonly format?: string;
  readonly columns?: string;
  readonly arrivalUnit?: string;
  readonly delimiter?: string;
  readonly zeroTokens?: string;
  readonly reorderRows?: string;
}

const fields = ["arrival", "input", "output", "tenant", "class", "session"] as const;

/** How to read, as far as the options say so; what is wrong with them is added to `faults`. */
export function readingOf(raw: RawReading, faults: OptionFaults, allowed: readonly string[] = []): TraceReading {
  const columns = raw.columns === undefined ? undefined : columnsOf(raw.columns, raw.arrivalUnit, faults);
  if (raw.columns === undefined && raw.arrivalUnit !== undefined) faults.add("--arrival-unit needs --columns");
  const known = ["auto", ...traceFormats, ...allowed];
  if (raw.format !== undefined && !known.includes(raw.format)) {
    const near = nearest(raw.format, known);
    faults.wanted(
      "--format",
      `one of ${known.join(", ")}${near === undefined ? "" : ` (did you mean ${near}?)`}`,
      raw.format,
    );
  }
  if ((raw.format === "csv" || raw.format === "jsonl") && columns === undefined)
    faults.add(`--format ${raw.format} needs --columns: which column holds what`);
  if (raw.delimiter !== undefined && [...unescaped(raw.delimiter)].length !== 1)
    faults.wanted("--delimiter", "one character, or \\t", raw.delimiter);
  const zeroTokens = raw.zeroTokens;
  if (zeroTokens !== undefined && zeroTokens !== "refuse" && zeroTokens !== "drop")
    faults.wanted("--zero-tokens", "refuse or drop", zeroTokens);
  const reorderRows = faults.whole("--reorder-rows", raw.reorderRows, undefined, [0, 1_000_000]);
  return {
    ...(raw.format === undefined ? {} : { format: raw.format as TraceFormat | "auto" }),
    ...(columns === undefined ? {} : { columns }),
    ...(raw.delimiter === undefined ? {} : { delimiter: unescaped(raw.delimiter) }),
    ...(zeroTokens === undefined ? {} : { zeroTokens: zeroTokens as "refuse" | "drop" }),
    ...(reorderRows === undefined ? {} : { reorderRows }),
  };
}

/** Progress by bytes read. */
export function showReading(progress: ProgressPrinter, label: string): NonNullable<TraceReading["onProgress"]> {
  return ({ bytes, bytesTotal, rows }) => progress.show(label, bytes / Math.max(1, bytesTotal), `${rows} requests`);
}

/** `arrival=ts,input=prompt,output=completion`. */
function columnsOf(text: string, unit: string | undefined, faults: OptionFaults): TraceColumns | undefined {
  const wanted = `pairs such as arrival=ts,input=prompt_tokens,output=completion_tokens of ${fields.join(", ")}`;
  const named = new Map<string, string>();
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    const field = pair.slice(0, Math.max(0, at)).trim();
    const column = pair.slice(at + 1).trim();
    if (at < 1 || column === "" || !fields.some((known) => known === field)) {
      const near = nearest(field, fields);
      faults.wanted(
        "--columns",
        `${wanted}${near === undefined || near === field ? "" : ` (did you mean ${near}?)`}`,
        pair,
      );
    } else if (named.has(field)) faults.add(`--columns names ${field} twice`);
    named.set(field, column);
  }
  const arrivalUnit = timeUnits.find((known) => known === unit);
  if (unit !== undefined && arrivalUnit === undefined) faults.wanted("--arrival-unit", timeUnits.join(", "), unit);
  const [arrival, inputTokens, outputTokens] = ["arrival", "input", "output"].map((field) => named.get(field));
  if (arrival === undefined || inputTokens === undefined || outputTokens === undefined) {
    const missing = ["arrival", "input", "output"].filter((field) => !named.has(field));
    if (missing.length > 0) faults.add(`--columns lacks ${missing.join(", ")}`);
    return undefined;
  }
  const label = (field: "tenant" | "class" | "session"): Record<string, string> => {
    const column = named.get(field);
    return column === undefined ? {} : { [field]: column };
  };
  return {
    arrival,
    inputTokens,
    outputTokens,
    ...(arrivalUnit === undefined ? {} : { arrivalUnit }),
    ...label("tenant"),
    ...label("class"),
    ...label("session"),
  };
}

function unescaped(delimiter: string): string {
  return delimiter === "\\t" ? "\t" : delimiter;
}
