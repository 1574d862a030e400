/** `convert` and `profile` write where they are told, and never over what they read. */
import { existsSync, linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { neverReplay } from "../main.fixture.ts";
import { tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run: runTiny, remove } = tinyWorkload();
afterAll(remove);
const run = (args: readonly string[]) => runTiny(args, { replay: neverReplay });
const at = (name: string): string => join(dir, name);

const log = "when,prompt,answer\n10,5,7\n12.5,6,8\n";
const columns = ["--columns", "arrival=when,input=prompt,output=answer"];
beforeEach(() => writeFileSync(at("log.csv"), log));
symlinkSync("log.csv", at("soft.csv"));
writeFileSync(at("log.csv"), log);
linkSync(at("log.csv"), at("hard.csv"));

describe("an output that is the input", () => {
  test.each([
    ["log.csv", ["convert", "log.csv", "--to", "log.csv", ...columns]],
    ["./log.csv", ["convert", "log.csv", "--to", "./log.csv", ...columns]],
    ["soft.csv", ["convert", "log.csv", "--to", "soft.csv", ...columns]],
    ["log.csv", ["convert", "soft.csv", "--to", "log.csv", ...columns]],
    ["hard.csv", ["convert", "log.csv", "--to", "hard.csv", ...columns]],
    ["log.csv", ["profile", "log.csv", "-o", "log.csv", ...columns]],
    ["soft.csv", ["profile", "log.csv", "-o", "soft.csv", ...columns]],
  ])("%s is refused: %j", async (output, args) => {
    const { code, out, err } = await run(args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^error: (--to|--output) \S+ is the file that is read as the trace \S+; name another\n$/);
    expect(err).toContain(` ${output} is the file`);
    expect(readFileSync(at("log.csv"), "utf8")).toBe(log);
  });

  test("of ServeGen, of which two files are read", async () => {
    writeFileSync(at("c-trace.csv"), "0,2,1,Gamma,0.5,1\n");
    writeFileSync(at("c-dataset.csv"), "{}");
    const files = ["c-trace.csv", "c-dataset.csv", "--format", "servegen"];
    const { code, err } = await run(["convert", ...files, "--to", "c-dataset.csv"]);
    expect([code, err]).toEqual([2, expect.stringMatching(/--to c-dataset\.csv is the file that is read as file 2 /)]);
    expect(readFileSync(at("c-dataset.csv"), "utf8")).toBe("{}");
  });
});

describe("an output that cannot be written", () => {
  test.each([
    ["none/out.csv", /none\/out\.csv: cannot be written \(its folder does not exist\)/],
    [".", /\.: cannot be written \(it is a folder\)/],
  ])("%s is told before the trace is read", async (output, expected) => {
    writeFileSync(at("broken.csv"), "nothing");
    for (const args of [
      ["convert", "broken.csv", "--to", output, "--output", "csv"],
      ["profile", "broken.csv", "-o", output],
    ]) {
      const { code, err } = await run(args);
      expect([code, err]).toEqual([2, expect.stringMatching(expected)]);
    }
  });
});

describe("--json", () => {
  test("has names with which a script finds the files", async () => {
    const given = ["convert", at("log.csv"), "--to", at("deep.csv"), ...columns, "--json"];
    const { from, to } = JSON.parse((await run(given)).out);
    expect([from, to]).toEqual([[at("log.csv")], at("deep.csv")]);
    expect(existsSync(to)).toBe(true);
    const relative = await run(["convert", "./log.csv", "--to", "./deep.csv", ...columns, "--json"]);
    expect(JSON.parse(relative.out)).toMatchObject({ from: ["./log.csv"], to: "./deep.csv" });
  });
});
