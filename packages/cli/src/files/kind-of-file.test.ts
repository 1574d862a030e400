/** Commands that were given a file for another command say what it is; and what was said of it names the file. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { fc, test as propertyTest } from "@fast-check/vitest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tinyReplay, tinyWorkload } from "../tiny-workload.fixture.ts";
import { kindOfFile } from "./kind-of-file.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
const put = (name: string, content: string | Uint8Array): void => writeFileSync(join(dir, name), content);

beforeAll(async () => {
  const outputs = ["--record", "s.run", "--timeline", "t.json", "--report", "r.html", "--event-log", "e.jsonl"];
  const { code, out } = await run([...tinyReplay, "--policy", "slicescheduler", ...outputs, "--json"]);
  expect(code).toBe(0);
  put("result.json", out);
  put("p.json", (await run(["profile", "tiny.csv"])).out);
  await run(["convert", "tiny.csv", "--to", "tiny.jsonl"]);
  put("tiny.csv.gz", gzipSync("arrivalNs"));
  put("graph.json", '{"format":"slicescheduler.graph","version":99}');
  put("log.jsonl", `${JSON.stringify({ format: "slicescheduler.events" })}\n`);
});

describe("a file for another command", () => {
  const told: readonly (readonly [file: string, is: RegExp])[] = [
    ["e.jsonl", /^an event log, for `inspect`$/],
    ["t.json", /^a timeline of the Chrome trace format, /],
    ["r.html", /^an HTML page, for a browser$/],
    ["result.json", /^a result of `replay --json`, for `compare`$/],
    ["p.json", /^a profile of a trace, for `replay --profile`$/],
    ["tiny.csv", /^a trace of requests, for `replay --trace`$/],
    ["tiny.jsonl", /^a trace of requests, for `replay --trace`$/],
    ["tiny.csv.gz", /^packed by gzip; unpack it$/],
    ["graph.json", /^a snapshot of a graph, for `inspect`$/],
  ];
  const rest = (err: string, start: string): string => {
    expect(err.startsWith(start)).toBe(true);
    return err.slice(start.length).trimEnd();
  };

  test.each(told.filter(([file]) => file !== "result.json"))("compare and report: %s", async (file, is) => {
    for (const args of [
      ["compare", file],
      ["report", file, "-o", "out.html"],
    ]) {
      const { code, err } = await run(args);
      expect(code).toBe(2);
      expect(rest(err, `error: ${file}: holds no result; it is `)).toMatch(is);
    }
  });

  test.each(told.filter(([file]) => !["e.jsonl", "graph.json"].includes(file)))("inspect: %s", async (file, is) => {
    const { code, err } = await run(["inspect", file]);
    expect(code).toBe(2);
    expect(rest(err, `error: ${file}: cannot be looked into; it is `)).toMatch(is);
  });

  test("what inspect cannot read of a snapshot or of a log names the file, in one line", async () => {
    put("any.json", '{"some": "object"}');
    for (const file of ["graph.json", "any.json", "log.jsonl"]) {
      const { code, err } = await run(["inspect", file]);
      expect(code).toBe(2);
      expect(err).toMatch(new RegExp(`^error: ${file}: [^\\n]+\\n$`));
    }
    expect((await run(["inspect", "any.json"])).err).toMatch(/saved graph has 1 fault: format: must be/);
  });

  test("an event log that cannot be replayed names the file", async () => {
    const lines = readFileSync(join(dir, "e.jsonl"), "utf8").split("\n");
    const header = JSON.parse(lines[0] ?? "");
    put("other.jsonl", [JSON.stringify({ ...header, policy: "mine" }), ...lines.slice(1)].join("\n"));
    for (const args of [
      ["inspect", "other.jsonl"],
      ["inspect", "other.jsonl", "--gantt"],
    ]) {
      const { code, err } = await run(args);
      expect([code, err]).toEqual([2, expect.stringMatching(/^error: other\.jsonl: [^\n]*mine[^\n]*\n$/)]);
    }
  });
});

describe("kindOfFile", () => {
  propertyTest.prop([fc.uint8Array({ maxLength: 100 })])("of any bytes is a kind or none", (bytes) => {
    const kind = kindOfFile(bytes);
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) expect(kind).toBe("gzip");
    else expect(kind).toBe(null);
  });

  test("a byte-order mark hides nothing", () => {
    const encoder = new TextEncoder();
    expect(kindOfFile(encoder.encode("\ufeffarrivalNs,inputTokens,outputTokens\n"))).toBe("trace");
  });
});
