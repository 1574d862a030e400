/** Logs that are not read as they are: what they are is told, with the option that reads them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { neverReplay } from "../main.fixture.ts";
import { tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
const replayed = ["replay", "--recipe", "plain", "--trace"];
const converted = ["convert", "--to", "out.jsonl"];
const columns = ["--columns", "arrival=ts,input=prompt,output=answer"];
const utf16 = (text: string): Buffer => Buffer.from(text, "utf16le");

test.each<[string, string | Buffer, string[], RegExp]>([
  ["unknown columns", "ts,prompt,answer\n0,1,2\n", replayed, /`slicescheduler convert --columns arrival=…,/],
  ["unknown columns", "ts,prompt,answer\n0,1,2\n", converted, /`slicescheduler convert --columns arrival=…,/],
  ["semicolons", "ts;prompt;answer\n0;1;2\n", replayed, /parted by ";", which --delimiter ';' reads/],
  ["semicolons, named", "ts;prompt;answer\n0;1;2\n", [...converted, ...columns], /which --delimiter ';' reads/],
  ["tabs, named", "ts\tprompt\tanswer\n0\t1\t2\n", [...converted, ...columns], /which --delimiter '\\t' reads/],
  ["dates", "ts,prompt,answer\n2024-05-01T10:00:00Z,1,2\n", [...converted, ...columns], /read with --arrival-unit iso/],
  ["unsorted", "ts,prompt,answer\n5,1,2\n1,1,2\n", [...converted, ...columns], /`convert --reorder-rows` say/],
  ["UTF-16 with its mark", utf16("\uFEFFts,prompt,answer\n0,1,2\n"), replayed, /:1: is UTF-16 text; save it as UTF-8/],
  ["UTF-16 without", utf16("ts,prompt,answer\n0,1,2\n"), [...converted, ...columns], /:1: is UTF-16 text/],
  [
    "a JSON array",
    '[\n  {"ts": 0, "prompt": 1, "answer": 2}\n]\n',
    replayed,
    /is a JSON array; one object a line is read/,
  ],
  [
    "the same, named",
    '[{"ts":0,"prompt":1,"answer":2}]',
    [...converted, ...columns],
    /is a JSON array; one object a line/,
  ],
])("%s (%#)", async (_, content, command, reason) => {
  writeFileSync(join(dir, "log"), content);
  const { code, err } = await run([command[0] ?? "", ...command.slice(1), "log"], { replay: neverReplay });
  expect([code, err]).toEqual([2, expect.stringMatching(reason)]);
});
