import { describe, expect, test } from "vitest";
import { TraceError } from "../errors.ts";
import { parseAzureTrace } from "./azure.ts";

const header = "TIMESTAMP,ContextTokens,GeneratedTokens";
const first = "2023-11-16 18:15:46.6805900,374,44";

function errorOf(text: string): TraceError {
  try {
    parseAzureTrace(text, "some/trace.csv");
  } catch (error) {
    if (error instanceof TraceError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("parseAzureTrace", () => {
  test("reads CR LF without a last line end, and LF with one, to the same rows", () => {
    const rows = [first, "2023-11-16 18:15:46.6805901,1,2", "2023-11-17 00:00:00.0000000,3,4"];
    const expected = [
      { arrivalNs: 0, inputTokens: 374, outputTokens: 44 },
      { arrivalNs: 100, inputTokens: 1, outputTokens: 2 },
      { arrivalNs: 20_653_319_410_000, inputTokens: 3, outputTokens: 4 },
    ];
    expect(parseAzureTrace([header, ...rows].join("\r\n"), "x")).toEqual(expected);
    expect(parseAzureTrace(`\uFEFF${[header, ...rows].join("\n")}\n\n`, "x")).toEqual(expected);
  });

  test("quoted fields, as spreadsheets write them", () => {
    const quoted = `"TIMESTAMP","ContextTokens","GeneratedTokens"\n"2023-11-16 18:15:46","374","44"`;
    expect(parseAzureTrace(quoted, "x")).toEqual([{ arrivalNs: 0, inputTokens: 374, outputTokens: 44 }]);
  });

  test("fractions of any length up to nanoseconds, or none", () => {
    const rows = ["2023-11-16 18:15:46,1,1", "2023-11-16 18:15:46.5,1,1", "2023-11-16 18:15:46.500000001,1,1"];
    expect(parseAzureTrace([header, ...rows].join("\n"), "x").map((row) => row.arrivalNs)).toEqual([0, 5e8, 500000001]);
  });

  test.each([
    ["a missing column", "2023-11-16 18:15:47,374", /2 field\(s\) instead of 3/],
    ["a column too many", "2023-11-16 18:15:47,374,44,5", /4 field\(s\) instead of 3/],
    ["a negative length", "2023-11-16 18:15:47,-374,44", /ContextTokens "-374"/],
    ["a length of 0", "2023-11-16 18:15:47,374,0", /GeneratedTokens "0"/],
    ["a fractional length", "2023-11-16 18:15:47,374,4.5", /GeneratedTokens "4.5"/],
    ["an absurd length", "2023-11-16 18:15:47,99999999,4", /from 1 to 10000000/],
    ["a blank length", "2023-11-16 18:15:47,,4", /ContextTokens ""/],
    ["a word", "2023-11-16 18:15:47,NaN,4", /ContextTokens "NaN"/],
    ["no timestamp", "now,374,44", /TIMESTAMP "now"/],
    ["a day that is not", "2023-02-30 18:15:47,374,44", /TIMESTAMP "2023-02-30/],
    ["an hour that is not", "2023-11-16 24:15:47,374,44", /TIMESTAMP/],
    ["years later", "2025-11-16 18:15:47,374,44", /more than 100 days/],
    ["an open quote", '2023-11-16 18:15:47,"374,44', /ContextTokens "\\"374"/],
  ])("refuses %s on its line", (_, row, reason) => {
    const error = errorOf([header, first, row, first].join("\r\n"));
    expect(error.code).toBe("TRACE_MALFORMED_ROW");
    expect(error.reason).toMatch(reason);
    expect(error.message).not.toContain("\n");
    expect(error.line).toBe(3);
    expect(error.message).toBe(`some/trace.csv:3: ${error.reason}`);
  });

  test("refuses rows out of order, naming the second", () => {
    const error = errorOf([header, first, "2023-11-16 18:15:46.6805899,1,1"].join("\n"));
    expect(error).toMatchObject({ code: "TRACE_OUT_OF_ORDER", line: 3 });
  });

  test("refuses a wrong header and quotes it", () => {
    const error = errorOf(`timestamp,input,output\n${first}`);
    expect(error).toMatchObject({ code: "TRACE_WRONG_HEADER", line: 1 });
    expect(error.message).toContain("timestamp,input,output");
    expect(error.message).toContain(header);
  });

  test("refuses a file with a header only, and one with nothing", () => {
    expect(errorOf(`${header}\r\n`).code).toBe("TRACE_EMPTY");
    expect(errorOf("").code).toBe("TRACE_EMPTY");
  });
});
