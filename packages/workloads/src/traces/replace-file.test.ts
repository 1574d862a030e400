/** What `convertTraceFile` does to the file system, by what its target is. */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { convertTraceFile } from "./convert.ts";

const root = mkdtempSync(join(tmpdir(), "replace-"));
afterAll(() => rmSync(root, { recursive: true }));
let dir = "";
let from = "";
let count = 0;
const at = (name: string): string => join(dir, name);
const csv = "arrivalNs,inputTokens,outputTokens,tenant,class,session\n0,5,7,a,,\n";

beforeEach(() => {
  dir = join(root, `${count++}`);
  mkdirSync(dir);
  from = at("from.csv");
  writeFileSync(from, csv);
});

describe("the target of a conversion", () => {
  test("is a link: it stays one, and what it leads to is replaced, whether that exists or not", async () => {
    mkdirSync(at("elsewhere"));
    writeFileSync(at("elsewhere/old.csv"), "before");
    symlinkSync("elsewhere/old.csv", at("old-link.csv"));
    symlinkSync("elsewhere/new.csv", at("new-link.csv"));
    for (const name of ["old", "new"]) {
      await convertTraceFile({ from, to: at(`${name}-link.csv`) });
      expect(readlinkSync(at(`${name}-link.csv`))).toBe(`elsewhere/${name}.csv`);
      expect(readFileSync(at(`elsewhere/${name}.csv`), "utf8")).toBe(csv);
    }
    expect(readdirSync(at("elsewhere")).sort()).toEqual(["new.csv", "old.csv"]);
  });

  test("has unfinished files of others beside it: they stay, written or failed", async () => {
    writeFileSync(at("out.csv.partial"), "mine");
    writeFileSync(at("out.csv.1.partial"), "mine as well");
    await convertTraceFile({ from, to: at("out.csv") });
    writeFileSync(at("broken.csv"), `${csv}x,1,1,,,\n`);
    await expect(convertTraceFile({ from: at("broken.csv"), to: at("out.csv") })).rejects.toThrow(/line 3/);
    expect(readFileSync(at("out.csv"), "utf8")).toBe(csv);
    expect(readFileSync(at("out.csv.partial"), "utf8")).toBe("mine");
    expect(readFileSync(at("out.csv.1.partial"), "utf8")).toBe("mine as well");
    expect(readdirSync(dir).sort()).toEqual([
      "broken.csv",
      "from.csv",
      "out.csv",
      "out.csv.1.partial",
      "out.csv.partial",
    ]);
  });

  test("keeps its permissions", async () => {
    writeFileSync(at("out.csv"), "before");
    chmodSync(at("out.csv"), 0o600);
    await convertTraceFile({ from, to: at("out.csv") });
    expect(statSync(at("out.csv")).mode & 0o777).toBe(statSync(at("out.csv")).mode & 0o600);
  });

  test("is a link to itself, or beneath a file: told, and nothing is left behind", async () => {
    symlinkSync("loop.csv", at("loop.csv"));
    for (const to of [at("loop.csv"), at("from.csv/out.csv")]) {
      await expect(convertTraceFile({ from, to })).rejects.toEqual(
        expect.objectContaining({ code: "TRACE_UNWRITABLE", file: to }),
      );
    }
    expect(readdirSync(dir).sort()).toEqual(["from.csv", "loop.csv"]);
    expect(lstatSync(at("loop.csv")).isSymbolicLink()).toBe(true);
  });

  test.skipIf(process.platform === "win32")("is a pipe: the trace goes through it, and it stays a pipe", async () => {
    expect(spawnSync("mkfifo", [at("real-pipe")]).status).toBe(0);
    symlinkSync("real-pipe", at("pipe"));
    const script = 'process.stdout.write(require("fs").readFileSync(process.argv[1]))';
    const reader = spawn(process.execPath, ["-e", script, at("pipe")], { stdio: ["ignore", "pipe", "inherit"] });
    let read = "";
    reader.stdout.on("data", (piece) => {
      read += String(piece);
    });
    const ended = new Promise((resolve) => reader.on("close", resolve));
    try {
      await convertTraceFile({ from, to: at("pipe"), output: "csv" });
      // The reader of a pipe that was replaced would wait for ever.
      if (statSync(at("pipe")).isFIFO()) await ended;
    } finally {
      reader.kill();
    }
    expect(statSync(at("pipe")).isFIFO()).toBe(true);
    expect(read).toBe(csv);
    expect(readdirSync(dir).sort()).toEqual(["from.csv", "pipe", "real-pipe"]);
  });
});
