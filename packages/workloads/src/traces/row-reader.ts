/** From the fields of one row to a request, by the columns of a format. */
import { shown } from "./file.ts";
import type { TraceColumns, TraceLayout } from "./formats.ts";
import { type Instant, parseInstant, timeUnitWords } from "./instant.ts";
import { type TraceRequest, traceLabelMax, traceTokensMax } from "./types.ts";

/** A request whose arrival still counts from wherever the file counts from. */
export interface ReadRow {
  readonly line: number;
  readonly at: Instant;
  readonly request: Omit<TraceRequest, "arrivalNs">;
}

/** The value of a column in one row: text, or what JSON has there; undefined when the row has none. */
export type FieldOf = (column: string) => unknown;

type Label = "tenant" | "class" | "session";
const labels: readonly Label[] = ["tenant", "class", "session"];

/** Reads the row; a string says what is wrong with it, null that it is dropped because it has no tokens. */
export function readRow(
  { columns, zeroTokens }: Pick<TraceLayout, "columns" | "zeroTokens">,
  fieldOf: FieldOf,
  line: number,
): ReadRow | string | null {
  const arrival = textOf(fieldOf(columns.arrival));
  const unit = columns.arrivalUnit ?? "s";
  const at = arrival === undefined ? undefined : parseInstant(arrival, unit);
  if (at === undefined) {
    const isDate = arrival !== undefined && unit !== "iso" && parseInstant(arrival, "iso") !== undefined;
    const hint = isDate ? "; dates are read with --arrival-unit iso" : "";
    return `${columns.arrival} ${wordOf(fieldOf(columns.arrival))} is not ${timeUnitWords[unit]}${hint}`;
  }
  const inputTokens = tokensOf(fieldOf(columns.inputTokens));
  if (inputTokens === undefined) return tokensReason(columns.inputTokens, fieldOf(columns.inputTokens), zeroTokens);
  const outputTokens = tokensOf(fieldOf(columns.outputTokens));
  if (outputTokens === undefined) return tokensReason(columns.outputTokens, fieldOf(columns.outputTokens), zeroTokens);
  if (inputTokens === 0 || outputTokens === 0) {
    if (zeroTokens === "drop") return null;
    const column = inputTokens === 0 ? columns.inputTokens : columns.outputTokens;
    return tokensReason(column, fieldOf(column), zeroTokens);
  }
  const found = readLabels(columns, fieldOf);
  return typeof found === "string" ? found : { line, at, request: { inputTokens, outputTokens, ...found } };
}

function readLabels(columns: TraceColumns, fieldOf: FieldOf): Partial<Record<Label, string>> | string {
  const found: Partial<Record<Label, string>> = {};
  for (const label of labels) {
    const column = columns[label];
    const value = column === undefined ? undefined : fieldOf(column);
    if (column === undefined || value === undefined || value === null) continue;
    const text = textOf(value);
    if (text === "") continue;
    if (text === undefined || text.length > traceLabelMax || /\p{Cc}/u.test(text)) {
      return `${column} ${wordOf(value)} is not a text of at most ${traceLabelMax} printable characters`;
    }
    found[label] = text;
  }
  return found;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value.trim();
  return typeof value === "number" ? String(value) : undefined;
}

/** Undefined unless it is a whole number up to the most that a row may claim; some tools write `374.0`. */
function tokensOf(value: unknown): number | undefined {
  const text = textOf(value);
  if (text === undefined || !/^\d{1,9}(?:\.0{1,9})?$/.test(text)) return undefined;
  const tokens = Number(text);
  return tokens <= traceTokensMax ? tokens : undefined;
}

function tokensReason(column: string, found: unknown, zeroTokens: "refuse" | "drop"): string {
  const least = zeroTokens === "drop" ? 0 : 1;
  return `${column} ${wordOf(found)} is not a whole number from ${least} to ${traceTokensMax}`;
}

function wordOf(value: unknown): string {
  if (value === undefined) return "(absent)";
  if (typeof value === "string") return shown(value);
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? "(a list)" : "(an object)";
}
