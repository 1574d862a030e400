/** Reading a trace of any format: as a stream in constant memory, or a whole text at once. */
import { InvalidOptionError, TraceError, type TraceFault } from "../errors.ts";
import { nearest } from "../replay/policy.ts";
import { peeked, traceBytes } from "./bytes.ts";
import { FaultList } from "./faults.ts";
import { shown } from "./file.ts";
import { layoutOf, type TraceColumns, type TraceFormat, type TraceLayout, traceFormats } from "./formats.ts";
import { columnsHint, delimiterHint, formFault } from "./hints.ts";
import { lineBatches, linesOfText, recordBytesMax } from "./lines.ts";
import { CsvRecords, JsonRecords, type RecordReader, type TraceRecord } from "./records.ts";
import { type FieldOf, readRow } from "./row-reader.ts";
import { Sequencer } from "./sequencer.ts";
import type { TraceRequest } from "./types.ts";

export interface TraceReading {
  /** Default "auto": by the first line, in which every known format shows itself. */
  readonly format?: TraceFormat | "auto";
  /** Which column holds what; needed for a format that is not known, and only there. */
  readonly columns?: TraceColumns;
  /** Between the fields of CSV, one character. Default a comma. */
  readonly delimiter?: string;
  /** What becomes of requests without input or output tokens. Default refused; in BurstGPT, where they have failed, dropped. */
  readonly zeroTokens?: "refuse" | "drop";
  /** By how many rows the order of a file may differ from that of arrival; they are held in memory. 0 to 1,000,000. Default 0. */
  readonly reorderRows?: number;
  /** How many faults are looked for before reading ends, 1 to 10,000. Default 20. */
  readonly faultsMax?: number;
  /** Called every 256 KiB of the file. */
  readonly onProgress?: (progress: {
    readonly bytes: number;
    readonly bytesTotal: number;
    readonly rows: number;
  }) => void;
}

/** What was read so far. */
export interface TraceCounts {
  format: TraceFormat | null;
  rows: number;
  dropped: number;
  lastArrivalNs: number;
}

/**
 * Reads a trace file, gzip or not, request by request and in constant memory. After a fault no request is given any more, and at the
 * end, or at `faultsMax`, all faults are thrown. Errors: TRACE_FAULTY, TRACE_WRONG_HEADER, TRACE_EMPTY, TRACE_NOT_FOUND,
 * TRACE_IS_DIRECTORY, TRACE_UNREADABLE, INVALID_OPTION.
 */
export async function* openTrace(
  file: string,
  reading: TraceReading = {},
  counts: TraceCounts = newCounts(),
): AsyncGenerator<TraceRequest> {
  for await (const batch of traceBatches(file, reading, counts)) yield* batch;
}

/** The same, many requests at a time. */
export async function* traceBatches(
  file: string,
  reading: TraceReading,
  counts: TraceCounts,
): AsyncGenerator<TraceRequest[]> {
  checkReading(reading);
  const { format, columns, onProgress } = reading;
  const bytes = traceBytes(file, (progress) => onProgress?.({ ...progress, rows: counts.rows }));
  try {
    const { head, all } = await peeked(bytes, hasFirstLine);
    const layout = layoutOf(Buffer.from(head).toString("utf8"), format, columns);
    const assembly = new Assembly(file, layoutFound(layout, head, file, format === "csv"), reading, counts);
    for await (const lines of lineBatches(all)) {
      yield assembly.take(lines);
      if (assembly.isEnded) break;
    }
    yield assembly.end();
  } finally {
    await bytes.return(undefined);
  }
}

/** Reads the text of a trace at once. @param file only named in errors. Errors: as `openTrace`, but none of files. */
export function parseTrace(text: string, file: string, reading: TraceReading = {}): TraceRequest[] {
  checkReading(reading);
  const { format, columns } = reading;
  const head = Buffer.from(text.slice(0, recordBytesMax));
  const layout = layoutFound(layoutOf(head.toString(), format, columns), head, file, format === "csv");
  const assembly = new Assembly(file, layout, reading, newCounts());
  return [...assembly.take(linesOfText(text)), ...assembly.end()];
}

export function newCounts(): TraceCounts {
  return { format: null, rows: 0, dropped: 0, lastArrivalNs: 0 };
}

/** From lines to requests in order, with the faults on the way. */
class Assembly {
  /** Nothing more can be read. */
  isEnded: boolean = false;
  readonly #layout: TraceLayout;
  readonly #file: string;
  readonly #faults: FaultList;
  readonly #records: RecordReader;
  readonly #sequencer: Sequencer;
  readonly #counts: TraceCounts;
  /** Position of each column of CSV, once its header is read. */
  #header: { readonly positions: ReadonlyMap<string, number>; readonly width: number } | undefined;

  constructor(file: string, layout: TraceLayout, reading: TraceReading, counts: TraceCounts) {
    this.#layout = { ...layout, zeroTokens: reading.zeroTokens ?? layout.zeroTokens };
    this.#file = file;
    this.#faults = new FaultList(file, reading.faultsMax ?? faultsMaxDefault);
    this.#records = layout.lines === "csv" ? new CsvRecords(reading.delimiter ?? ",") : new JsonRecords();
    this.#sequencer = new Sequencer(reading.reorderRows ?? 0);
    this.#counts = counts;
    counts.format = layout.format;
  }

  take(lines: readonly (string | null)[]): TraceRequest[] {
    const requests: TraceRequest[] = [];
    for (const line of lines) {
      const record = this.#records.take(line);
      if (record !== undefined) this.#add(record, requests);
      if (this.isEnded) break;
    }
    return requests;
  }

  end(): TraceRequest[] {
    const requests: TraceRequest[] = [];
    const record = this.isEnded ? undefined : this.#records.end();
    if (record !== undefined) this.#add(record, requests);
    for (let next = this.#sequencer.pop(); next !== undefined; next = this.#sequencer.pop()) this.#give(next, requests);
    this.#faults.throwIfAny();
    if (this.#counts.rows > 0) return requests;
    const { dropped } = this.#counts;
    const reason = dropped === 0 ? "has no rows" : `has no rows with tokens; ${dropped} without were dropped`;
    throw new TraceError("TRACE_EMPTY", this.#file, null, reason);
  }

  #add(record: TraceRecord, requests: TraceRequest[]): void {
    const { line } = record;
    if ("fault" in record) {
      this.isEnded = record.last;
      this.#malformed(line, record.fault);
      return;
    }
    const fieldOf = "json" in record ? record.json : this.#fieldsOf(record.fields, line);
    if (fieldOf === undefined) return;
    const row = readRow(this.#layout, fieldOf, line);
    if (typeof row === "string") this.#malformed(line, row);
    else if (row === null) this.#counts.dropped++;
    else this.#give(this.#sequencer.push(row), requests);
  }

  #give(next: TraceRequest | TraceFault | undefined, requests: TraceRequest[]): void {
    if (next === undefined) return;
    if ("code" in next) {
      this.#faults.add(next);
    } else if (this.#faults.isEmpty) {
      this.#counts.rows++;
      this.#counts.lastArrivalNs = next.arrivalNs;
      requests.push(next);
    }
  }

  #malformed(line: number, reason: string): void {
    this.#faults.add({ code: "TRACE_MALFORMED_ROW", line, reason });
  }

  /** Undefined for the header itself, and for a row that is not as wide. */
  #fieldsOf(fields: readonly string[], line: number): FieldOf | undefined {
    if (this.#header === undefined) {
      this.#header = { positions: this.#positions(fields, line), width: fields.length };
      return undefined;
    }
    const { positions, width } = this.#header;
    if (fields.length !== width) {
      this.#malformed(line, `${fields.length} field(s) instead of ${width}`);
      return undefined;
    }
    return (column) => {
      const position = positions.get(column);
      return position === undefined ? undefined : fields[position];
    };
  }

  #positions(names: readonly string[], line: number): Map<string, number> {
    const header = names.map((name) => name.trim());
    const { arrivalUnit: _, ...columns } = this.#layout.columns;
    const positions = new Map<string, number>();
    for (const [key, column] of Object.entries(columns)) {
      const isLabel = key === "tenant" || key === "class" || key === "session";
      const at = header.indexOf(column);
      if (at >= 0 && at === header.lastIndexOf(column)) positions.set(column, at);
      else if (at >= 0) throw this.#wrongHeader(line, `has the column ${shown(column)} twice`);
      else if (!isLabel || !this.#layout.labelsOptional) throw this.#wrongHeader(line, missing(column, header));
    }
    return positions;
  }

  #wrongHeader(line: number, reason: string): TraceError {
    return new TraceError("TRACE_WRONG_HEADER", this.#file, line, reason);
  }
}

function missing(column: string, header: readonly string[]): string {
  const near = nearest(column, header);
  const hint = near === undefined ? "" : ` (did you mean ${shown(near)}?)`;
  return `has no column ${shown(column)}${hint}; it has ${shown(header.join(", "))}${header.length === 1 ? delimiterHint(header[0] ?? "") : ""}`;
}

const faultsMaxDefault = 20;
const lineFeed = 0x0a;

function hasFirstLine(head: Uint8Array): boolean {
  // Blank lines before the header are allowed, and a blank beginning says nothing.
  const begin = head.findIndex((byte) => byte > 0x20);
  return head.byteLength > recordBytesMax || (begin >= 0 && head.indexOf(lineFeed, begin) >= 0);
}

function layoutFound(layout: TraceLayout | null, head: Uint8Array, file: string, isCsv: boolean): TraceLayout {
  const fault = formFault(head, isCsv);
  if (fault !== null) throw new TraceError("TRACE_WRONG_HEADER", file, 1, fault);
  if (layout !== null) return layout;
  const text = Buffer.from(head).toString("utf8").trim();
  if (text === "") throw new TraceError("TRACE_EMPTY", file, null, "is empty; a header line and rows were expected");
  const formats = traceFormats.filter((format) => format !== "csv" && format !== "jsonl").join(", ");
  const first = text.split("\n", 1)[0] ?? "";
  const reason = `begins with ${shown(first)}, which no known format does (${formats})${delimiterHint(first)}; ${columnsHint}`;
  throw new TraceError("TRACE_WRONG_HEADER", file, 1, reason);
}

function checkReading({ delimiter, reorderRows, faultsMax, zeroTokens }: TraceReading): void {
  if (delimiter !== undefined && (delimiter.length !== 1 || /["\r\n]/.test(delimiter))) {
    throw new InvalidOptionError("delimiter", JSON.stringify(delimiter), "one character, no quote and no line end");
  }
  wholeWithin("reorderRows", reorderRows, 0, 1_000_000);
  wholeWithin("faultsMax", faultsMax, 1, 10_000);
  if (zeroTokens !== undefined && zeroTokens !== "refuse" && zeroTokens !== "drop") {
    throw new InvalidOptionError("zeroTokens", zeroTokens, "refuse or drop");
  }
}

function wholeWithin(option: string, value: number | undefined, min: number, max: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return;
  throw new InvalidOptionError(option, value, `a whole number from ${min} to ${max}`);
}
