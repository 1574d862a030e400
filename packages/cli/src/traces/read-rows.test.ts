/** How much of a trace a replay reads. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect } from "vitest";
import { readRows } from "./read-rows.ts";

const dir = mkdtempSync(join(tmpdir(), "rows-"));
afterAll(() => rmSync(dir, { recursive: true }));

const header = "arrivalNs,inputTokens,outputTokens,tenant,class,session";
const rowsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i * 1e9},5,7,,,`);
const put = (name: string, lines: readonly string[]): string => {
  const path = join(dir, name);
  writeFileSync(path, gzipSync(`${[header, ...lines].join("\n")}\n`));
  return path;
};

describe("readRows", () => {
  const file = put("twenty.csv.gz", rowsOf(20));

  test.prop([fc.integer({ min: 1, max: 25 }), fc.integer({ min: 1, max: 25 })])(
    "takes what arrives in the window, and no more than the limit",
    async (seconds, rowsMax) => {
      const within = Math.min(seconds, 20);
      const reading = readRows(file, { windowNs: seconds * 1e9, rowsMax });
      if (within <= rowsMax)
        expect((await reading).map((row) => row.arrivalNs / 1e9)).toEqual([...Array(within).keys()]);
      else await expect(reading).rejects.toMatchObject({ code: "TRACE_TOO_LARGE", file });
    },
  );

  test("without a window it takes the whole trace, or says what to do", async () => {
    expect(await readRows(file)).toHaveLength(20);
    await expect(readRows(file, { rowsMax: 19 })).rejects.toThrow(/has more than 19 requests to replay; .*--minutes/);
  });

  test("reads no further than it has to, be the rest broken", async () => {
    // More than what is read ahead in one piece.
    const long = put("long.csv.gz", [...rowsOf(40_000), "broken"]);
    expect(await readRows(long, { windowNs: 5e9 })).toHaveLength(5);
    await expect(readRows(long, { rowsMax: 5 })).rejects.toMatchObject({ code: "TRACE_TOO_LARGE" });
    await expect(readRows(long)).rejects.toMatchObject({ code: "TRACE_FAULTY" });
  });
});
