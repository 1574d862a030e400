/** The trace formats, each as the columns it keeps its requests in, and how a file shows which one it is. */
import { InvalidOptionError } from "../errors.ts";
import { type TimeUnit, timeUnits } from "./instant.ts";

/**
 * `canonical`: what `convertTraceFile` writes, as CSV or JSON lines. `azure`: the LLM inference traces of 2023 and 2024.
 * `burstgpt`, `mooncake`: the public traces of these names. `csv` and `jsonl`: anything, with `columns`.
 */
export type TraceFormat = "canonical" | "azure" | "burstgpt" | "mooncake" | "csv" | "jsonl";

export const traceFormats: readonly TraceFormat[] = ["canonical", "azure", "burstgpt", "mooncake", "csv", "jsonl"];

/** Where a trace has what: names in the header line of CSV; in JSON lines fields, or paths into them such as `usage.input`. */
export interface TraceColumns {
  readonly arrival: string;
  /** Default seconds. */
  readonly arrivalUnit?: TimeUnit;
  readonly inputTokens: string;
  readonly outputTokens: string;
  readonly tenant?: string;
  readonly class?: string;
  readonly session?: string;
}

export interface TraceLayout {
  readonly format: TraceFormat;
  readonly lines: "csv" | "jsonl";
  readonly columns: TraceColumns;
  /** Labels that a header may lack. */
  readonly labelsOptional: boolean;
  /** Requests without input or without output: failed ones where the format says so, a fault elsewhere. */
  readonly zeroTokens: "refuse" | "drop";
}

/** Of the canonical form, in both its spellings; in CSV in this order. */
export const canonicalColumns = {
  arrival: "arrivalNs",
  arrivalUnit: "ns",
  inputTokens: "inputTokens",
  outputTokens: "outputTokens",
  tenant: "tenant",
  class: "class",
  session: "session",
} as const satisfies TraceColumns;

interface KnownFormat {
  readonly columns: TraceColumns;
  readonly lines: readonly ("csv" | "jsonl")[];
  readonly zeroTokens?: "drop";
}

const known: Readonly<Record<Exclude<TraceFormat, "csv" | "jsonl">, KnownFormat>> = {
  canonical: { columns: canonicalColumns, lines: ["csv", "jsonl"] },
  azure: {
    columns: {
      arrival: "TIMESTAMP",
      arrivalUnit: "iso",
      inputTokens: "ContextTokens",
      outputTokens: "GeneratedTokens",
    },
    lines: ["csv"],
  },
  burstgpt: {
    columns: {
      arrival: "Timestamp",
      inputTokens: "Request tokens",
      outputTokens: "Response tokens",
      // Each model is a service of its own; chats and API calls differ in urgency.
      tenant: "Model",
      class: "Log Type",
      session: "Session ID",
    },
    lines: ["csv"],
    // Its files with failures have those as rows without response tokens.
    zeroTokens: "drop",
  },
  mooncake: {
    columns: { arrival: "timestamp", arrivalUnit: "ms", inputTokens: "input_length", outputTokens: "output_length" },
    lines: ["jsonl"],
  },
};

/**
 * The layout of a file that begins with this text, or null when it shows none that is known.
 * @param head its first line at least.
 * @param format "auto" to find out; with `columns` the file is CSV or JSON lines, whichever it looks like.
 * Errors: INVALID_OPTION.
 */
export function layoutOf(
  head: string,
  format: TraceFormat | "auto" = "auto",
  columns?: TraceColumns,
): TraceLayout | null {
  checkFormat(format, columns);
  const lines = head.trimStart().startsWith("{") ? "jsonl" : "csv";
  if (columns !== undefined) {
    const own = format === "auto" ? lines : (format as "csv" | "jsonl");
    return { format: own, lines: own, columns, labelsOptional: false, zeroTokens: "refuse" };
  }
  const found = format === "auto" ? guess(head, lines) : (format as keyof typeof known);
  if (found === null) return null;
  const { columns: its, lines: allowed, zeroTokens = "refuse" } = known[found];
  const own = allowed.includes(lines) ? lines : (allowed[0] ?? lines);
  return { format: found, lines: own, columns: its, labelsOptional: true, zeroTokens };
}

/** The format that a file beginning with this text shows, or null. */
export function detectTraceFormat(head: string): TraceFormat | null {
  return layoutOf(head)?.format ?? null;
}

function guess(head: string, lines: "csv" | "jsonl"): keyof typeof known | null {
  const names = lines === "jsonl" ? fieldsOf(head) : new Set(headerOf(head));
  for (const [format, { columns, lines: allowed }] of Object.entries(known)) {
    if (!allowed.includes(lines)) continue;
    const { arrival, inputTokens, outputTokens } = columns;
    if ([arrival, inputTokens, outputTokens].every((name) => names.has(name))) return format as keyof typeof known;
  }
  return null;
}

function firstLine(head: string): string {
  return (
    head
      .replace(/^\uFEFF/, "")
      .trimStart()
      .split("\n", 1)[0] ?? ""
  );
}

function headerOf(head: string): string[] {
  return firstLine(head)
    .split(",")
    .map((name) => name.trim().replace(/^"([^"]*)"$/, "$1"));
}

function fieldsOf(head: string): Set<string> {
  try {
    const row: unknown = JSON.parse(firstLine(head));
    return new Set(typeof row === "object" && row !== null ? Object.keys(row) : []);
  } catch {
    return new Set();
  }
}

function checkFormat(format: TraceFormat | "auto", columns: TraceColumns | undefined): void {
  const free = format === "csv" || format === "jsonl";
  if (format !== "auto" && !traceFormats.includes(format)) {
    throw new InvalidOptionError("format", format, `one of ${traceFormats.join(", ")} or auto`);
  }
  if (free && columns === undefined) {
    throw new InvalidOptionError("columns", undefined, `given for ${format}: which column holds what`);
  }
  if (columns === undefined) return;
  if (!free && format !== "auto") throw new InvalidOptionError("columns", "given", `left out for ${format}`);
  const { arrivalUnit = "s", ...names } = columns;
  if (!timeUnits.includes(arrivalUnit)) {
    throw new InvalidOptionError("columns.arrivalUnit", arrivalUnit, `one of ${timeUnits.join(", ")}`);
  }
  for (const key of ["arrival", "inputTokens", "outputTokens"] as const) {
    if (names[key] === undefined) throw new InvalidOptionError(`columns.${key}`, undefined, "the name of a column");
  }
  for (const [key, name] of Object.entries(names)) {
    if (typeof name !== "string" || name === "") {
      throw new InvalidOptionError(`columns.${key}`, JSON.stringify(name), "the name of a column");
    }
  }
}
