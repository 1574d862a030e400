import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { TraceFaultsError } from "../errors.ts";
import { openTrace, parseTrace, type TraceReading } from "./read-trace.ts";
import type { TraceRequest } from "./types.ts";

const dir = mkdtempSync(join(tmpdir(), "read-trace-"));
afterAll(() => rmSync(dir, { recursive: true }));
let files = 0;

async function streamed(content: string | Uint8Array, reading?: TraceReading): Promise<TraceRequest[]> {
  const file = join(dir, `trace-${files++}`);
  writeFileSync(file, content);
  const rows: TraceRequest[] = [];
  for await (const row of openTrace(file, reading)) rows.push(row);
  return rows;
}

/** Both ways of reading must agree. */
async function read(text: string, reading?: TraceReading): Promise<TraceRequest[]> {
  const rows = await streamed(text, reading);
  expect(parseTrace(text, "x", reading)).toEqual(rows);
  return rows;
}

async function faultsOf(text: string, reading?: TraceReading): Promise<TraceFaultsError> {
  const error: unknown = await streamed(text, reading).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(TraceFaultsError);
  return error as TraceFaultsError;
}

const burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type";

describe("known formats show themselves", () => {
  test("Azure 2024, whose times have a zone", async () => {
    const text = [
      "TIMESTAMP,ContextTokens,GeneratedTokens",
      "2024-05-10 00:00:00.009930+00:00,2162,5",
      "2024-05-10 00:00:00.017335+00:00,2399,6",
    ].join("\n");
    expect(await read(text)).toEqual([
      { arrivalNs: 0, inputTokens: 2162, outputTokens: 5 },
      { arrivalNs: 7_405_000, inputTokens: 2399, outputTokens: 6 },
    ]);
  });

  test("BurstGPT: the model is the tenant, failed requests are left out, fractions of a second count", async () => {
    const text = [
      burst,
      "5,ChatGPT,472,18,490,Conversation log",
      "45.5,ChatGPT,1087,0,1087,API log",
      "118.25,GPT-4,417,276,693,API log",
    ].join("\r\n");
    expect(await read(text)).toEqual([
      { arrivalNs: 0, inputTokens: 472, outputTokens: 18, tenant: "ChatGPT", class: "Conversation log" },
      { arrivalNs: 113.25e9, inputTokens: 417, outputTokens: 276, tenant: "GPT-4", class: "API log" },
    ]);
    await expect(read(text, { zeroTokens: "refuse" })).rejects.toThrow(/line 3: Response tokens "0"/);
  });

  test("BurstGPT's later files have sessions, in columns of another order", async () => {
    const text =
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n0,s7,1.5,GPT-4,1,2,3,API log\n";
    expect((await read(text))[0]).toMatchObject({ session: "s7", tenant: "GPT-4" });
  });

  test("Mooncake", async () => {
    const text = '{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}\n';
    expect(await read(text)).toEqual([{ arrivalNs: 0, inputTokens: 6955, outputTokens: 52 }]);
  });

  test("the canonical form in both spellings", async () => {
    const row = { arrivalNs: 0, inputTokens: 3, outputTokens: 4, tenant: 'a "b", c', class: "online", session: "1" };
    expect(await read(`${JSON.stringify(row)}\n`)).toEqual([row]);
    const csv = 'arrivalNs,inputTokens,outputTokens,tenant,class,session\n0,3,4,"a ""b"", c",online,1\n5,3,4,,,\n';
    expect(await read(csv)).toEqual([row, { arrivalNs: 5, inputTokens: 3, outputTokens: 4 }]);
  });

  test("another one is refused with what it begins with", async () => {
    const error = expect.objectContaining({ code: "TRACE_WRONG_HEADER", line: 1 });
    await expect(streamed("when,in,out\n1,2,3\n")).rejects.toEqual(error);
    expect(() => parseTrace('{"when": 1}\n', "x")).toThrowError(error);
    await expect(streamed("")).rejects.toEqual(expect.objectContaining({ code: "TRACE_EMPTY" }));
    await expect(streamed(`${burst}\n`)).rejects.toEqual(expect.objectContaining({ code: "TRACE_EMPTY" }));
  });
});

describe("columns of one's own", () => {
  const columns = { arrival: "when", inputTokens: "in", outputTokens: "out" };

  test("CSV with a BOM, quoted line ends, another delimiter and numbers as some tools write them", async () => {
    const text = '\uFEFFwho;when;note;in;out\r\nann;"10.5";"two\r\nlines";374.0;44\r\nbob;1.1e1;;1;2\r\n';
    expect(await read(text, { columns: { ...columns, tenant: "who" }, delimiter: ";" })).toEqual([
      { arrivalNs: 0, inputTokens: 374, outputTokens: 44, tenant: "ann" },
      { arrivalNs: 5e8, inputTokens: 1, outputTokens: 2, tenant: "bob" },
    ]);
  });

  test.each([
    ["s", "1700000000.000000001", "1700000001"],
    ["ms", "1700000000000.000001", "1700000001000"],
    ["us", "1700000000000000.001", "1700000001000000"],
    ["ns", "1700000000000000001", "1700000001000000000"],
    ["iso", "2023-11-14T22:13:20.000000001Z", "2023-11-14T22:13:21Z"],
  ] as const)("times in %s are exact", async (arrivalUnit, first, second) => {
    const rows = await read(`when,in,out\n${first},1,1\n${second},1,1\n`, { columns: { ...columns, arrivalUnit } });
    expect(rows.map((row) => row.arrivalNs)).toEqual([0, 999_999_999]);
  });

  test("JSON lines: paths, a field whose name has a dot, numbers as texts, labels that are numbers", async () => {
    const rows = [
      { t: 1.5, usage: { in: 7, out: "8" }, "a.b": 12 },
      { t: 2, usage: { in: 7, out: 8 }, a: { b: "x" } },
    ];
    const text = rows.map((row) => JSON.stringify(row)).join("\n");
    const own = { arrival: "t", inputTokens: "usage.in", outputTokens: "usage.out", session: "a.b" };
    expect(await read(text, { columns: own })).toEqual([
      { arrivalNs: 0, inputTokens: 7, outputTokens: 8, session: "12" },
      { arrivalNs: 5e8, inputTokens: 7, outputTokens: 8, session: "x" },
    ]);
  });

  test("what objects inherit is not a field", async () => {
    const text = '{"__proto__": {"t": 1}, "constructor": 1, "in": 1, "out": 1}\n';
    const reading = { columns: { ...columns, arrival: "t", tenant: "toString" } };
    expect((await faultsOf(text, reading)).faults).toEqual([
      { code: "TRACE_MALFORMED_ROW", line: 1, reason: "t (absent) is not a number of seconds" },
    ]);
    expect(Object.hasOwn(Object.prototype, "t")).toBe(false);
  });

  test("a column that is not there, or twice, is named, with the nearest one", async () => {
    const reading = { columns: { ...columns, inputTokens: "tokens_in" } };
    await expect(streamed("when,token_in,out\n1,2,3\n", reading)).rejects.toThrow(
      /no column "tokens_in" \(did you mean "token_in"\?\)/,
    );
    await expect(streamed("when,in,in,out\n1,2,2,3\n", { columns })).rejects.toThrow(/column "in" twice/);
  });

  test.each([
    [{ format: "csv" }, /columns must be/],
    [{ format: "azure", columns }, /columns must be left out/],
    [{ format: "xml" }, /format must be one of/],
    [{ columns: { ...columns, arrivalUnit: "min" } }, /arrivalUnit must be one of/],
    [{ columns: { ...columns, tenant: "" } }, /columns.tenant/],
    [{ columns, delimiter: ",," }, /delimiter/],
    [{ faultsMax: 0 }, /faultsMax/],
    [{ reorderRows: 1.5 }, /reorderRows/],
  ])("options that make no sense: %j", (reading, message) => {
    expect(() => parseTrace("when,in,out\n1,2,3\n", "x", reading as unknown as TraceReading)).toThrow(message);
  });
});

describe("faults", () => {
  const header = "arrivalNs,inputTokens,outputTokens";

  test("all of them with their lines, and no request after the first", async () => {
    const text = [header, "0,1,1", "1,x,1", "2,1,1", "3,1", "4,1,-1", "3,1,1"].join("\n");
    const error = await faultsOf(text);
    expect(error.code).toBe("TRACE_FAULTY");
    expect(error.limited).toBe(false);
    expect(error.faults.map(({ line }) => line)).toEqual([3, 5, 6]);
    expect(error.message).toMatch(
      /3 fault\(s\): line 3: inputTokens "x" is not a whole number from 1 to 10000000; line 5: 2 field/,
    );
    const out: unknown[] = [];
    const file = join(dir, "half");
    writeFileSync(file, text);
    await expect(async () => {
      for await (const row of openTrace(file)) out.push(row);
    }).rejects.toThrow();
    expect(out).toHaveLength(1);
  });

  test("up to a limit, which it says", async () => {
    const text = [header, ...Array.from({ length: 50 }, () => "0,0,1")].join("\n");
    const error = await faultsOf(text, { faultsMax: 3 });
    expect(error.faults).toHaveLength(3);
    expect(error.limited).toBe(true);
    expect((await faultsOf(text)).faults).toHaveLength(20);
  });

  test("rows out of order, unless they are put right", async () => {
    const text = [header, "10,1,1", "30,2,1", "20,3,1", "5,4,1"].join("\n");
    expect((await faultsOf(text)).faults.map(({ code, line }) => [code, line])).toEqual([
      ["TRACE_OUT_OF_ORDER", 4],
      ["TRACE_OUT_OF_ORDER", 5],
    ]);
    expect((await read(text, { reorderRows: 3 })).map((row) => [row.arrivalNs, row.inputTokens])).toEqual([
      [0, 4],
      [5, 1],
      [15, 3],
      [25, 2],
    ]);
  });

  test("a quote that is never closed ends the reading, with the place, after a bounded length", async () => {
    const text = `${header}\n0,1,1\n0,"1,1\n${"0,1,1\n".repeat(400_000)}`;
    const { faults } = await faultsOf(text);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatchObject({ line: 3, reason: expect.stringMatching(/quote that is never closed/) });
    const broken = `${header}\n0,1"1,1\n0,"1"1,1\n1,1,1\n2,x,1\n3,"1,1\n`;
    expect((await faultsOf(broken)).faults.map(({ line }) => line)).toEqual([2, 3, 5, 6]);
  });

  test("a JSON line that is too long is one fault, and the next line is read", async () => {
    const long = `{"arrivalNs": 0, "x": "${"y".repeat(3_000_000)}"}`;
    const good = '{"arrivalNs": 0, "inputTokens": 1, "outputTokens": 1}';
    const { faults } = await faultsOf(`${good}\n${long}\nnull\n${good}\n`);
    expect(faults.map(({ line }) => line)).toEqual([2, 3]);
  });

  test("a row more than 100 days on, a label that is too long or not printable", async () => {
    expect((await faultsOf(`${header}\n0,1,1\n9000000000000000,1,1\n`)).reason).toMatch(/more than 100 days/);
    for (const tenant of ["x".repeat(201), "a\\u0000b"]) {
      const text = `{"arrivalNs": 0, "inputTokens": 1, "outputTokens": 1, "tenant": "${tenant}"}\n`;
      expect((await faultsOf(text)).reason).toMatch(/tenant .* is not a text of at most 200 printable/);
    }
  });
});

describe("gzip", () => {
  const text = `arrivalNs,inputTokens,outputTokens\n${Array.from({ length: 5000 }, (_, i) => `${i},1,1`).join("\n")}`;

  test("is unpacked by its content, in one member or several", async () => {
    const expected = parseTrace(text, "x");
    expect(await streamed(gzipSync(text))).toEqual(expected);
    const half = Math.floor(text.length / 2);
    expect(await streamed(Buffer.concat([gzipSync(text.slice(0, half)), gzipSync(text.slice(half))]))).toEqual(
      expected,
    );
  });

  test("that is cut off or broken is a typed error", async () => {
    const packed = gzipSync(text);
    const broken = Buffer.from(packed);
    broken.fill(0xff, 100, 200);
    for (const bytes of [packed.subarray(0, packed.length - 20), broken]) {
      await expect(streamed(bytes)).rejects.toEqual(expect.objectContaining({ code: "TRACE_UNREADABLE" }));
    }
  });

  test("progress counts the packed bytes", async () => {
    const packed = gzipSync(text);
    const seen: number[][] = [];
    await streamed(packed, { onProgress: ({ bytes, bytesTotal }) => seen.push([bytes, bytesTotal]) });
    expect(seen.at(-1)).toEqual([packed.length, packed.length]);
  });
});
