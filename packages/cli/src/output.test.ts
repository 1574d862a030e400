/** Outputs that would be written over what is read, or over each other, are refused before any work. */
import { spawnSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect } from "vitest";
import { checkOutputs, type NamedFile } from "./output.ts";

const dir = realpathSync(mkdtempSync(join(tmpdir(), "output-")));
afterAll(() => rmSync(dir, { recursive: true }));
const named = (option: string, shown: string): NamedFile => ({ option, shown, path: join(dir, shown) });

mkdirSync(join(dir, "folder"));
writeFileSync(join(dir, "a"), "a");
writeFileSync(join(dir, "b"), "b");
linkSync(join(dir, "a"), join(dir, "a-hard"));
symlinkSync("a", join(dir, "a-soft"));
symlinkSync("folder", join(dir, "folder-soft"));
symlinkSync("folder/new", join(dir, "new-soft"));
symlinkSync("loop", join(dir, "loop"));

/** Of each name, the file it leads to. */
const files = new Map([
  ["a", "a"],
  ["./a", "a"],
  ["folder/../a", "a"],
  ["a-hard", "a"],
  ["a-soft", "a"],
  ["b", "b"],
  ["new", "new"],
  ["./new", "new"],
  ["folder/new", "folder/new"],
  ["folder-soft/new", "folder/new"],
  ["new-soft", "folder/new"],
]);
const anyName = fc.constantFrom(...files.keys());

describe("checkOutputs", () => {
  test.prop([fc.array(anyName, { maxLength: 3 }), fc.array(anyName, { maxLength: 4 })])(
    "refuses exactly the names that lead to a file which was named before as an input or an output",
    (inputs, outputs) => {
      const taken = new Set(inputs.map((name) => files.get(name)));
      const wrong = outputs.filter((name) => {
        const file = files.get(name);
        if (taken.has(file)) return true;
        taken.add(file);
        return false;
      });
      let message = "";
      try {
        checkOutputs(
          outputs.map((name) => named("--out", name)),
          inputs.map((name) => named("--in", name)),
        );
      } catch (error) {
        expect(error).toMatchObject({ code: "USAGE" });
        message = (error as Error).message;
      }
      const lines = message === "" ? [] : message.split("\n");
      expect(lines.map((line) => /^--out (\S+) is the file that /.exec(line)?.[1])).toEqual(wrong);
      expect(readFileSync(join(dir, "a"), "utf8")).toBe("a");
    },
  );

  test("says what the output is in the way of", () => {
    const input = [named("--trace", "a")];
    expect(() => checkOutputs([named("--record", "a-soft")], input)).toThrow(
      "--record a-soft is the file that is read as --trace a; name another",
    );
    expect(() => checkOutputs([named("--record", "x"), named("--report", "./x")])).toThrow(
      "--report ./x is the file that --record x is written to; name another",
    );
  });

  test.each([
    ["folder", /^folder: cannot be written \(it is a folder\)$/],
    ["none/x", /^none\/x: cannot be written \(its folder does not exist\)$/],
    ["a/x", /^a\/x: cannot be written \(its folder does not exist\)$/],
  ])("%s cannot be written, and that is told before", (name, message) => {
    expect(() => checkOutputs([named("--record", name)])).toThrowError(
      expect.objectContaining({ code: "FILE_UNWRITABLE", message: expect.stringMatching(message) }),
    );
  });

  test("a link that leads to itself ends", () => {
    checkOutputs([named("--record", "loop")]);
  });

  test.skipIf(spawnSync("mkfifo", [join(dir, "pipe")]).status !== 0)("a pipe may take several outputs", () => {
    checkOutputs([named("--record", "pipe"), named("--report", "pipe")]);
  });
});
