/** Whatever a file holds: a value, or FILE_INVALID with places; in bounded time, and no object gets a prototype of the file's. */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { stringify } from "yaml";
import { FileInvalidError } from "../errors.ts";
import { parseClusterFile } from "./cluster-file.ts";
import { documentBytesMax, parseDocument } from "./document.ts";
import { parseTemplateFile } from "./template-file.ts";
import { parseWorkloadFile } from "./workload-file.ts";

const loaders: readonly ((text: string, file: string) => unknown)[] = [
  (text, file) => parseDocument(text, file).value,
  (text, file) => parseClusterFile(text, file),
  (text, file) => parseWorkloadFile(text, file),
  (text, file) => parseTemplateFile(text, file),
];

function survives(text: string): void {
  for (const load of loaders) {
    try {
      load(text, "f.yaml");
    } catch (error) {
      if (!(error instanceof FileInvalidError)) throw error;
      expect(error.faults.length).toBeGreaterThan(0);
      expect(error.faults.length).toBeLessThanOrEqual(201);
      for (const { line, column, message } of error.faults) {
        expect(Number.isInteger(line) && line >= 1 && Number.isInteger(column) && column >= 1).toBe(true);
        expect(message.length).toBeLessThan(1000);
      }
    }
  }
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
}

const hostileKey = fc.constantFrom(
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "<<",
  "",
  "0",
  "a b",
  "accelerators",
  "links",
  "operators",
  "partitions",
  "outputs",
  "inputs",
  "name",
  "hbm",
  "offline",
  "policies",
  "trace",
  "efficiency",
  "$schema",
);

const hostileValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<unknown>(
      "80GB",
      "20us",
      "*",
      "a*",
      -1,
      0,
      1,
      1.5,
      4096,
      4097,
      2 ** 53,
      1e300,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      null,
      true,
      "",
      "B48",
      "x.y",
      "tokens * 2",
    ),
    fc.string({ maxLength: 20 }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(hostileKey, tie("value")), { maxLength: 5 }).map((entries) => {
      const record = Object.create(null) as Record<string, unknown>;
      for (const [key, value] of entries) record[key] = value;
      return record;
    }),
  ),
})).value;

describe("loaders of files", () => {
  test.prop([fc.string({ unit: "binary", maxLength: 300 })])("arbitrary text", (text) => survives(text));

  test.prop([
    fc.array(
      fc.constantFrom(
        "accelerators:",
        "\n",
        "  ",
        "- ",
        "name: a",
        "&a ",
        "*a",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "? ",
        ": ",
        "|",
        ">",
        "'",
        '"',
        "#",
        "!!binary ",
        "!x ",
        "---\n",
        "...\n",
        "%YAML 9\n",
        "<<: *a",
        "\t",
        "\u0000",
        "__proto__: ",
      ),
      { maxLength: 60 },
    ),
  ])("scraps of YAML", (parts) => survives(parts.join("")));

  test.prop([hostileValue])("any value, as YAML and as JSON, with keys that objects have", (value) => {
    survives(stringify(value));
    survives(String(JSON.stringify(value)));
  });

  test.prop([fc.json({ maxDepth: 6 })])("any JSON", (text) => survives(text));

  test.prop([fc.nat(), fc.nat(), fc.string({ maxLength: 3 })])(
    "a good file with a piece of it replaced",
    (at, length, by) => {
      const good =
        "accelerators:\n  - { name: a, count: 2, kind: k, hbm: 80GB }\nlinks:\n  - { name: l, latency: 1us, bandwidth: 1GB/s, between: [a*] }\n";
      const start = at % good.length;
      survives(good.slice(0, start) + by + good.slice(start + (length % 8)));
    },
  );

  test("keys that objects have are plain fields", () => {
    const { value } = parseDocument('{"__proto__": {"polluted": 1}, "constructor": 2}', "f.json");
    expect(Object.keys(value as object)).toEqual(["__proto__", "constructor"]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(() =>
      parseClusterFile('{"__proto__": {"accelerators": [{"name":"a","kind":"k","hbmBytes":1}]}}', "f.json"),
    ).toThrowError(/lacks "accelerators"/);
  });

  test.each<[string, string, RegExp]>([
    ["deep brackets", "[".repeat(500_000), /nested deeper than 64/],
    ["deep dashes", "- ".repeat(400_000), /nested deeper than 64/],
    [
      "deep indentation",
      Array.from({ length: 1200 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"),
      /nested deeper than 64/,
    ],
    [
      "an alias bomb",
      [
        "a: &a [1,1,1,1,1,1,1,1,1]",
        ..."bcdefghij"
          .split("")
          .map((name, i) => `${name}: &${name} [${new Array(9).fill(`*${"abcdefghi"[i]}`).join()}]`),
      ].join("\n"),
      /stands for more than 200000 values/,
    ],
    ["a text too long", "a".repeat(documentBytesMax + 1), /has 1048577 characters, at most 1048576/],
    [
      "counts that multiply",
      `accelerators: [${"{ name: a, kind: k, hbm: 1GB, count: 4096 },".repeat(1000)}]`,
      /more than 4096/,
    ],
    [
      "patterns that multiply",
      `accelerators: [{ name: a, kind: k, hbm: 1GB, count: 4096 }]\nlinks:\n${'- { name: l, latency: 1us, bandwidth: 1GB/s, from: ["*"], to: ["*"] }\n'.repeat(300)}`,
      /makes more than 100000 pairs|so many patterns/,
    ],
  ])("%s is told, not run into", (_, text, expected) => {
    expect(() => parseClusterFile(text, "f.yaml")).toThrowError(expected);
  });
});
