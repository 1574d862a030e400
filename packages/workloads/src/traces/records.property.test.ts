/** Lines out of chunks, and CSV records out of lines, against simpler twins that see the whole. */
import { fc, test } from "@fast-check/vitest";
import { parse } from "csv-parse/sync";
import { describe, expect } from "vitest";
import { lineBatches, linesOfText, recordBytesMax } from "./lines.ts";
import { CsvRecords, type TraceRecord } from "./records.ts";

async function* chunks(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

async function linesOf(bytes: Uint8Array, sizes: readonly number[]): Promise<(string | null)[]> {
  const lines: (string | null)[] = [];
  for await (const batch of lineBatches(chunks(bytes, sizes))) lines.push(...batch);
  return lines;
}

const piece = fc.constantFrom("a", "é", "💡", "\n", "\r\n", '"', ",", " ");

test.prop([fc.array(piece, { maxLength: 60 }), fc.array(fc.nat(9), { maxLength: 30 })])(
  "wherever the chunks end, even inside a character, the lines are those of the whole text",
  async (parts, sizes) => {
    const text = parts.join("");
    expect(await linesOf(Buffer.from(text), sizes)).toEqual(linesOfText(text));
  },
);

test.prop(
  [
    fc.array(fc.constantFrom(3, recordBytesMax - 1, recordBytesMax, recordBytesMax + 1), {
      minLength: 1,
      maxLength: 4,
    }),
    fc.nat(300_000),
  ],
  {
    numRuns: 20,
  },
)("lines over the limit are left out, whole, and no other", async (lengths, size) => {
  const bytes = Buffer.from(lengths.map((length) => "x".repeat(length)).join("\n"));
  const found = await linesOf(bytes, new Array(60).fill(1 + size));
  expect(found.map((line) => line?.length ?? null)).toEqual(
    lengths.map((length) => (length > recordBytesMax ? null : length)),
  );
});

function recordsOf(text: string, delimiter: string): TraceRecord[] {
  const reader = new CsvRecords(delimiter);
  const records: TraceRecord[] = [];
  for (const line of [...linesOfText(text).map((it) => reader.take(it)), reader.end()])
    if (line !== undefined) records.push(line);
  return records;
}

describe("CSV", () => {
  const field = fc
    .array(fc.constantFrom("a", "1", '"', ",", ";", "\n", "\r\n", " ", "é"), { maxLength: 6 })
    .map((parts) => parts.join(""));
  const rows = fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 });

  test.prop([rows, fc.constantFrom(",", ";"), fc.constantFrom("\n", "\r\n"), fc.boolean(), fc.boolean()])(
    "what is written by RFC 4180 is read as the library reads it, with the line of each record's end",
    (fields, delimiter, end, quotesAll, hasBom) => {
      const quoted = (text: string): string =>
        quotesAll || text === "" || /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      const lines = fields.map((row) => row.map(quoted).join(delimiter));
      const text = `${hasBom ? "\uFEFF" : ""}${lines.join(end)}${end}`;
      const options = { bom: true, delimiter, record_delimiter: ["\r\n", "\n"], relax_column_count: true };
      expect(parse(text, options)).toEqual(fields);
      let line = 0;
      const expected = fields.map((row, index) => {
        line += (lines[index] ?? "").split("\n").length;
        return { line, fields: row };
      });
      expect(recordsOf(text, delimiter)).toEqual(expected);
    },
  );

  test.prop([fc.array(piece, { maxLength: 60 })])(
    "any text: records and faults on lines that rise, the last one at the end",
    (parts) => {
      const records = recordsOf(parts.join(""), ",");
      let previous = 0;
      for (const [index, record] of records.entries()) {
        const isLast = "fault" in record && record.last;
        // A quote that is never closed is told where it was opened.
        expect(isLast ? record.line >= previous : record.line > previous).toBe(true);
        if (isLast) expect(index).toBe(records.length - 1);
        previous = record.line;
      }
    },
  );
});
