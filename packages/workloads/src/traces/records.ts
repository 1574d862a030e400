/** From the lines of CSV or of JSON lines to records with their line numbers. A record is at most 1 MiB long. */
import { CsvError, type Options, parse } from "csv-parse/sync";
import { shown } from "./file.ts";
import { recordBytesMax } from "./lines.ts";
import type { FieldOf } from "./row-reader.ts";

/** A record, or in words why there is none; after a `last` fault nothing more can be read. `line` is that of its end. */
export type TraceRecord =
  | { readonly line: number; readonly fields: readonly string[] }
  | { readonly line: number; readonly json: FieldOf }
  | { readonly line: number; readonly fault: string; readonly last: boolean };

export interface RecordReader {
  /** Takes one line without its end, null for one that was too long; gives the record that ends with it, if one does. */
  take(line: string | null): TraceRecord | undefined;
  /** The record that the end of the file cuts off, if any. */
  end(): TraceRecord | undefined;
}

/**
 * CSV by RFC 4180: fields may be quoted, and then hold the delimiter, line ends and doubled quotes. A record without a quote, as nearly all
 * are, is only split. One that is not CSV is a fault of its own; a quote that is never closed ends the reading, since nothing after it is certain.
 */
export class CsvRecords implements RecordReader {
  readonly #delimiter: string;
  readonly #options: Options;
  #line = 0;
  /** Lines of a record that goes on, because it has an odd number of quotes so far. */
  #open: string[] = [];
  #openLength = 0;
  #openedAt = 0;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
    this.#options = { delimiter, record_delimiter: ["\r\n", "\n"], relax_column_count: true };
  }

  take(found: string | null): TraceRecord | undefined {
    const number = ++this.#line;
    if (found === null) {
      if (this.#open.length > 0) return this.#unclosed();
      return { line: number, fault: `is longer than ${recordBytesMax} bytes`, last: false };
    }
    const line = number === 1 ? found.replace(/^\uFEFF/, "") : found;
    if (this.#open.length > 0) return this.#goOn(line);
    if (!line.includes('"')) {
      const text = withoutReturn(line);
      return text === "" ? undefined : { line: number, fields: text.split(this.#delimiter) };
    }
    if (hasEvenQuotes(line) || !this.#hasQuotedField(line)) return this.#parsed(line);
    this.#openedAt = number;
    this.#keepOpen(line);
    return undefined;
  }

  end(): TraceRecord | undefined {
    return this.#open.length > 0 ? this.#unclosed() : undefined;
  }

  /** Elsewhere than at the beginning of a field a quote opens nothing, it is a fault. */
  #hasQuotedField(line: string): boolean {
    return line.startsWith('"') || line.includes(`${this.#delimiter}"`);
  }

  #goOn(line: string): TraceRecord | undefined {
    this.#keepOpen(line);
    if (this.#openLength > recordBytesMax) return this.#unclosed();
    // What is open has an odd number, and two odd numbers make an even one.
    if (hasEvenQuotes(line)) return undefined;
    const text = this.#open.join("\n");
    this.#close();
    return this.#parsed(text);
  }

  #keepOpen(line: string): void {
    this.#open.push(line);
    this.#openLength += line.length + 1;
  }

  #close(): void {
    this.#open = [];
    this.#openLength = 0;
  }

  #unclosed(): TraceRecord {
    this.#close();
    return { line: this.#openedAt, fault: "has a quote that is never closed; the rest was not read", last: true };
  }

  #parsed(text: string): TraceRecord {
    const line = this.#line;
    try {
      const [fields = []] = parse(withoutReturn(text), this.#options) as string[][];
      return { line, fields };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      // The library quotes what it found, however long that is.
      return { line, fault: `is not CSV: ${error.message.replace(/\s+/g, " ").slice(0, 120)}`, last: false };
    }
  }
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

function hasEvenQuotes(text: string): boolean {
  let isEven = true;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) isEven = !isEven;
  return isEven;
}

/** Each line is JSON of its own, so that a broken one says nothing about the next. */
export class JsonRecords implements RecordReader {
  #line = 0;

  take(found: string | null): TraceRecord | undefined {
    const line = ++this.#line;
    if (found === null) return { line, fault: `is longer than ${recordBytesMax} bytes`, last: false };
    const text = line === 1 ? found.replace(/^\uFEFF/, "") : found;
    return text.trim() === "" ? undefined : jsonRecord(text, line);
  }

  end(): undefined {}
}

function jsonRecord(text: string, line: number): TraceRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { line, fault: `is not JSON: ${shown(text)}`, last: false };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { line, fault: `is not a JSON object: ${shown(text)}`, last: false };
  }
  const row = value;
  return { line, json: (column) => fieldOf(row, column) };
}

/** A field of this very name, else one down the path that the name may be. Inherited ones do not exist. */
function fieldOf(row: object, column: string): unknown {
  if (Object.hasOwn(row, column)) return Reflect.get(row, column);
  let value: unknown = row;
  for (const key of column.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
