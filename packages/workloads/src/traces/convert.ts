/** Traces of any format to the canonical one: `arrivalNs, inputTokens, outputTokens, tenant, class, session`. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { InvalidOptionError, TraceError } from "../errors.ts";
import { canonicalColumns, type TraceFormat } from "./formats.ts";
import { newCounts, type TraceReading, traceBatches } from "./read-trace.ts";
import { replaceFile } from "./replace-file.ts";
import { readServeGenLengths, readServeGenWindows } from "./servegen.ts";
import { type ServeGenDraw, serveGenRequests } from "./servegen-requests.ts";
import type { TraceRequest, TraceRow } from "./types.ts";

/** The two spellings of the canonical form. */
export type TraceSpelling = "csv" | "jsonl";

export interface ConversionTarget {
  /**
   * Packed with gzip when the name ends in `.gz`. It appears when it is complete, in the place of one that may be there, or of the one
   * that a link leads to; into a pipe or a device is written as it stands. Not checked for being the source.
   */
  readonly to: string;
  /** Default: by the name, `.csv` or `.jsonl`, each with `.gz` or without. */
  readonly output?: TraceSpelling;
}

export interface TraceConversion extends TraceReading, ConversionTarget {
  readonly from: string;
}

/** Statistics of one ServeGen client (`*-trace.csv`, `*-dataset.json`), from which requests are drawn. */
export interface ServeGenConversion extends ServeGenDraw, ConversionTarget {
  readonly windows: string;
  readonly lengths: string;
}

export interface ConversionReport {
  readonly rows: number;
  /** Requests without tokens that were left out. */
  readonly dropped: number;
  /** What the file was read as. */
  readonly format: TraceFormat | "servegen";
  readonly lastArrivalNs: number;
}

/** Converts a trace file in constant memory. Errors: as `openTrace`; TRACE_UNWRITABLE. */
export async function convertTraceFile(conversion: TraceConversion): Promise<ConversionReport> {
  const spelling = spellingOf(conversion);
  const counts = newCounts();
  await writeTrace(traceBatches(conversion.from, conversion, counts), conversion.to, spelling);
  const { rows, dropped, lastArrivalNs, format } = counts;
  return { rows, dropped, lastArrivalNs, format: format ?? "canonical" };
}

/** Draws the requests of a ServeGen client and writes them. Errors: as `serveGenRequests` and its readers; TRACE_UNWRITABLE. */
export async function convertServeGen(conversion: ServeGenConversion): Promise<ConversionReport> {
  const spelling = spellingOf(conversion);
  const windows = readServeGenWindows(conversion.windows);
  const lengths = readServeGenLengths(conversion.lengths);
  let rows = 0;
  let lastArrivalNs = 0;
  const batches = function* (): Generator<TraceRow[]> {
    let batch: TraceRow[] = [];
    for (const request of serveGenRequests(windows, lengths, conversion)) {
      rows++;
      lastArrivalNs = request.arrivalNs;
      batch.push(request);
      if (batch.length < batchRows) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  };
  await writeTrace(batches(), conversion.to, spelling);
  return { rows, dropped: 0, format: "servegen", lastArrivalNs };
}

const batchRows = 1000;

/** The lines of the canonical form, each with its end; in CSV the header line first. */
export function* traceLines(requests: Iterable<TraceRequest>, spelling: TraceSpelling): Generator<string> {
  yield headerOf(spelling);
  const lineOf = spelling === "csv" ? csvLine : jsonLine;
  for (const request of requests) yield lineOf(request);
}

function headerOf(spelling: TraceSpelling): string {
  const { arrivalUnit: _, ...names } = canonicalColumns;
  return spelling === "csv" ? `${Object.values(names).join()}\n` : "";
}

function csvLine({ arrivalNs, inputTokens, outputTokens, tenant, class: priority, session }: TraceRequest): string {
  return `${arrivalNs},${inputTokens},${outputTokens},${csvField(tenant)},${csvField(priority)},${csvField(session)}\n`;
}

function csvField(label = ""): string {
  return /[",\r\n]/.test(label) ? `"${label.replaceAll('"', '""')}"` : label;
}

function jsonLine({ arrivalNs, inputTokens, outputTokens, tenant, class: priority, session }: TraceRequest): string {
  // In this order whatever the object's; what is undefined is left out.
  return `${JSON.stringify({ arrivalNs, inputTokens, outputTokens, tenant, class: priority, session })}\n`;
}

type Batches = AsyncIterable<readonly TraceRequest[]> | Iterable<readonly TraceRequest[]>;

async function* texts(batches: Batches, spelling: TraceSpelling): AsyncGenerator<string> {
  const header = headerOf(spelling);
  if (header !== "") yield header;
  const lineOf = spelling === "csv" ? csvLine : jsonLine;
  for await (const batch of batches) {
    let text = "";
    for (const request of batch) text += lineOf(request);
    if (text !== "") yield text;
  }
}

async function writeTrace(batches: Batches, to: string, spelling: TraceSpelling): Promise<void> {
  const text = Readable.from(texts(batches, spelling));
  try {
    await replaceFile(to, (file) => (to.endsWith(".gz") ? pipeline(text, createGzip(), file) : pipeline(text, file)));
  } catch (cause) {
    const { syscall, code } = cause as NodeJS.ErrnoException;
    if (syscall === undefined) throw cause;
    throw new TraceError("TRACE_UNWRITABLE", to, null, `cannot be written (${code ?? syscall})`, { cause });
  }
}

function spellingOf({ to, output }: ConversionTarget): TraceSpelling {
  const wanted = output ?? /\.(csv|jsonl)(?:\.gz)?$/.exec(to)?.[1];
  if (wanted === "csv" || wanted === "jsonl") return wanted;
  throw new InvalidOptionError("output", wanted ?? `that of "${to}"`, "csv or jsonl, or a name that ends so");
}
