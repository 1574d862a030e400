/** What is wrong on a command line is told at once, and what is unclear about a word where the word stands. */
import { afterAll, describe, expect, test } from "vitest";
import { neverReplay } from "./main.fixture.ts";
import { tinyReplay, tinyWorkload } from "./tiny-workload.fixture.ts";

const { run, remove } = tinyWorkload();
afterAll(remove);
const told = async (...args: string[]): Promise<string[]> => {
  const { code, out, err } = await run(args, { replay: neverReplay });
  expect([code, out]).toEqual([2, ""]);
  return err.trimEnd().split("\n");
};

describe("unknown words", () => {
  test("all unknown options, each with what was probably meant", async () => {
    expect(await told("--minuts", "2", "--polcy", "x", "--cluter=y", "-q")).toEqual([
      "error: unknown option '--minuts' (did you mean --minutes?)",
      "error: unknown option '--polcy' (did you mean --policy?)",
      "error: unknown option '--cluter' (did you mean --cluster?)",
      expect.stringContaining("error: unknown option '-q'"),
    ]);
    expect(await told("inspect", "x.run", "--decison", "1", "--lst", "3")).toHaveLength(2);
  });

  test("a value that looks like an option is the value of the one before it", async () => {
    const [line, ...more] = await told("replay", "--seed", "--polcy", "--cluster", "--nowhere");
    expect(line).toContain("--seed must be");
    expect(more).toEqual([]);
    expect((await run(["report", "--help"])).code).toBe(0);
    expect((await run(["profile", "tiny.csv", "-op.json"])).code).toBe(0);
  });

  test("help for what is no command", async () => {
    expect(await told("help", "rep")).toEqual([
      expect.stringMatching(/^error: unknown command "rep"; did you mean "(replay|report)"\? known: replay, /),
    ]);
    expect((await run(["help", "report"])).out).toContain("Usage: slicescheduler report");
    expect((await run(["help"])).code).toBe(0);
  });
});

describe("outputs", () => {
  test("all that cannot be written, and all that are in the way", async () => {
    const lines = await told(...tinyReplay, "--report", "no/x.html", "--timeline", "no/y.json", "--record", "tiny.csv");
    expect(lines).toEqual([
      expect.stringContaining("no/x.html: cannot be written"),
      expect.stringContaining("no/y.static-online.json: cannot be written"),
      expect.stringContaining("no/y.slicescheduler.json: cannot be written"),
      expect.stringContaining("--record tiny.csv is the file that is read"),
    ]);
  });

  test.each([
    [["convert", "tiny.csv", "--to", "-", "--output", "jsonl"]],
    [["profile", "tiny.csv", "-o", "-"]],
    [[...tinyReplay, "--event-log", "-"]],
  ])("- is no file: %j", async (args) => {
    for (const line of await told(...args)) expect(line).toMatch(/^error: --\S+ -: takes a file, and - is not stdout/);
  });
});

test("an empty name is no folder", async () => {
  expect(await told(...tinyReplay, "--cluster", "")).toEqual([
    expect.stringMatching(/--cluster needs a name.*l4-node/),
  ]);
  expect(await told("replay", "--workload", "")).toEqual([expect.stringContaining("--workload needs a file")]);
});
