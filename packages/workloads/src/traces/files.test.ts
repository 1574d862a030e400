import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { readAzureTrace } from "./azure.ts";
import { readTraceText } from "./file.ts";
import { hasAzureTraces, readTracePair } from "./pair.ts";

const dir = mkdtempSync(join(tmpdir(), "traces-"));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

const azure = (input: number): string =>
  `TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,${input},44`;

describe("a file that cannot be read", () => {
  test.each([
    ["a missing one", join(dir, "none.csv"), "TRACE_NOT_FOUND"],
    ["one below a file", join(file("plain", "x"), "none.csv"), "TRACE_NOT_FOUND"],
    ["a directory", dir, "TRACE_IS_DIRECTORY"],
    ["an empty one", file("empty.csv", ""), "TRACE_EMPTY"],
    ["a blank one", file("blank.csv", "\r\n \n"), "TRACE_EMPTY"],
  ])("%s", (_, path, code) => {
    expect(() => readAzureTrace(path)).toThrowError(expect.objectContaining({ code, file: path, line: null }));
  });

  test("one over the limit is refused by its size, unread", () => {
    const path = file("large.csv", azure(1));
    expect(() => readTraceText(path, 10)).toThrowError(/has \d+ bytes; at most 10 are read/);
  });
});

describe("readTracePair", () => {
  const arrivals = file("AzureLLMInferenceTrace_conv.csv", azure(1));
  const lengths = file("AzureLLMInferenceTrace_code.csv", azure(2));

  test("a directory with the two files, or with a folder of them", () => {
    const outer = mkdtempSync(join(dir, "outer-"));
    mkdirSync(join(outer, "azure-llm-2023"));
    writeFileSync(join(outer, "azure-llm-2023/AzureLLMInferenceTrace_conv.csv"), azure(3));
    writeFileSync(join(outer, "azure-llm-2023/AzureLLMInferenceTrace_code.csv"), azure(4));
    expect(readTracePair([dir]).arrivals[0]?.inputTokens).toBe(1);
    expect(readTracePair([outer]).lengths[0]?.inputTokens).toBe(4);
    expect(hasAzureTraces(outer)).toBe(true);
  });

  test("two files in either order when their names tell, else arrivals first", () => {
    expect(readTracePair([lengths, arrivals]).arrivals[0]?.inputTokens).toBe(1);
    const other = file("other.csv", azure(9));
    expect(readTracePair([other, lengths]).arrivals[0]?.inputTokens).toBe(9);
  });

  test("one file gives both; .jsonl is Mooncake", () => {
    expect(readTracePair([arrivals]).files).toEqual({
      arrivals: "AzureLLMInferenceTrace_conv.csv",
      lengths: "AzureLLMInferenceTrace_conv.csv",
    });
    const row = { timestamp: 5, input_length: 11, output_length: 3, hash_ids: [] };
    expect(readTracePair([file("m.jsonl", JSON.stringify(row))]).arrivals[0]).toMatchObject({ inputTokens: 11 });
  });

  test("any format that shows itself, packed or not; what does not is told as Azure's header or a Mooncake row would be", () => {
    const canonical = "arrivalNs,inputTokens,outputTokens,tenant,class,session\n0,7,8,ann,,\n";
    expect(readTracePair([file("c.csv.gz", gzipSync(canonical))]).lengths).toEqual([
      { arrivalNs: 0, inputTokens: 7, outputTokens: 8, tenant: "ann" },
    ]);
    const burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,GPT-4,9,1,10,API log\n";
    expect(readTracePair([file("b.csv", burst)]).arrivals[0]).toMatchObject({ inputTokens: 9, tenant: "GPT-4" });
    expect(() => readTracePair([file("u.csv", "a,b\n1,2\n")])).toThrowError(
      expect.objectContaining({ code: "TRACE_WRONG_HEADER", line: 1 }),
    );
    expect(() => readTracePair([file("u.jsonl", "{}\n")])).toThrowError(
      expect.objectContaining({ code: "TRACE_MALFORMED_ROW", line: 1 }),
    );
  });

  test("what unpacks to more than is read is refused, as is what cannot be unpacked", () => {
    const packed = file("large.gz", gzipSync(azure(1)));
    expect(() => readTraceText(packed, 80)).toThrowError(expect.objectContaining({ code: "TRACE_TOO_LARGE" }));
    const cut = file("cut.gz", gzipSync(azure(1)).subarray(0, 30));
    expect(() => readTraceText(cut)).toThrowError(expect.objectContaining({ code: "TRACE_UNREADABLE" }));
  });

  test("a directory without traces and a wrong number of paths are refused", () => {
    const empty = mkdtempSync(join(dir, "empty-"));
    expect(() => readTracePair([empty])).toThrowError(expect.objectContaining({ code: "TRACE_NOT_FOUND" }));
    expect(() => readTracePair([])).toThrowError(expect.objectContaining({ code: "INVALID_OPTION" }));
    expect(() => readTracePair(["a", "b", "c"])).toThrowError(expect.objectContaining({ code: "INVALID_OPTION" }));
  });
});
