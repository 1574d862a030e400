/** What reaches the terminal holds no control characters but those that this program writes itself. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect } from "vitest";
import { runMain } from "./main.fixture.ts";
import { printable } from "./printable.ts";

const dir = mkdtempSync(join(tmpdir(), "printable-"));
afterAll(() => rmSync(dir, { recursive: true }));
const title = "\u001b]0;pwned\u0007";
const overrides = "\u009b2J\u202eevil\u2066\u007f\r\u0008";
/** Of control characters only line feeds and tabs. */
const isPlain = (text: string): boolean => !/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/u.test(text);

const ownLine = "\r\u001b[K";
/** Without the colours and the progress bars of this program. */
const withoutOwn = (text: string): string => text.replace(/\p{Cc}\[\d+m/gu, "").replaceAll(ownLine, "");

describe("printable", () => {
  test.prop([fc.string({ unit: "binary", maxLength: 40 })])(
    "leaves the rest as it is, and JSON what it was",
    (text) => {
      const printed = printable(text);
      expect(isPlain(printed)).toBe(true);
      if (isPlain(text) && !/[\u2028\u2029]/.test(text)) expect(printed).toBe(text);
      expect(JSON.parse(printable(JSON.stringify({ text })))).toEqual({ text });
    },
  );
});

describe("a command", () => {
  writeFileSync(join(dir, "esc"), `${title}${overrides}`);
  writeFileSync(join(dir, "esc.yaml"), `"${"\\e]0;pwned\\a"}": 1\n`);
  writeFileSync(join(dir, "esc.csv"), `${title},ContextTokens,GeneratedTokens\n1,2,3\n`);
  mkdirSync(join(dir, `folder${title}`));
  const commands: readonly (readonly [string, readonly string[]])[] = [
    ["a file that is no JSON", ["inspect", "esc"]],
    ["a profile that is no JSON", ["replay", "--profile", "esc"]],
    ["a trace with a strange header", ["convert", "esc.csv", "--to", "x.csv"]],
    ["a cluster file with a strange key", ["validate", "esc.yaml", "--kind", "cluster"]],
    ["a strange name of a file", ["inspect", `none${title}`]],
    ["a folder of a strange name", ["compare", `folder${title}`]],
    ["a strange command", [`x${title}`]],
    ["a strange option", ["replay", `--x${title}`]],
  ];

  test.each(commands)("%s: nothing of it moves the cursor or sets the title", async (_, args) => {
    for (const look of [{}, { useColor: true, errIsTerminal: true }]) {
      const { code, out, err } = await runMain(args, { cwd: dir, ...look });
      expect(code).toBe(2);
      expect(isPlain(withoutOwn(`${out}${err}`))).toBe(true);
      expect(err).toMatch(/pwned|no JSON|JSON/);
    }
  });
});
