import { describe, expect, test } from "vitest";
import { readOperatorsJson, readOperatorsJsonl, simulateDag } from "../index.ts";
import { refusal } from "./testing/refusals.ts";

describe("a list of operators in JSON", () => {
  test("is a graph with the defaults of simulateDag", () => {
    const dag = readOperatorsJson(`{
      "accelerators": [{ "name": "a", "hbmBytes": 100, "fixedBytes": 1, "copyEngines": 2 }, { "name": "b" }],
      "link": { "latencyNs": 10, "bytesPerSecond": 1e9 },
      "operators": [
        { "name": "second", "durationNs": 5, "inputs": ["first", "first"], "accelerator": "b", "rank": 3 },
        { "name": "first", "durationNs": 7, "outputBytes": 40, "workspaceBytes": 5, "accelerator": "a" }
      ]
    }`);
    expect(dag).toEqual({
      accelerators: [{ name: "a", hbmBytes: 100, fixedBytes: 1, copyEngines: 2 }, { name: "b" }],
      link: { latencyNs: 10, bytesPerSecond: 1e9 },
      operators: [
        {
          name: "second",
          accelerator: "b",
          durationNs: 5,
          inputs: ["first"],
          outputBytes: 0,
          workspaceBytes: 0,
          rank: 3,
        },
        { name: "first", accelerator: "a", durationNs: 7, inputs: [], outputBytes: 40, workspaceBytes: 5, rank: 0 },
      ],
    });
    expect(simulateDag(dag).makespanNs).toBe(62);
  });

  test("takes names from the prototype of objects as names", () => {
    const dag = readOperatorsJson(
      '[{"name":"__proto__","durationNs":1,"accelerator":"constructor"},{"name":"toString","durationNs":1,"accelerator":"constructor","inputs":["__proto__"]}]',
    );
    expect(dag.accelerators).toEqual([{ name: "constructor" }]);
    expect(dag.operators.map(({ name, inputs }) => [name, inputs])).toEqual([
      ["__proto__", []],
      ["toString", ["__proto__"]],
    ]);
    expect(simulateDag(dag).makespanNs).toBe(2);
  });

  test("may begin with a byte order mark, and takes null for no accelerator", () => {
    const bytes = new TextEncoder().encode('\uFEFF[{"name":"é\\u0041","durationNs":1e3,"accelerator":null}]');
    expect(readOperatorsJson(bytes, { accelerators: 1, layout: "roundRobin" }).operators).toMatchObject([
      { name: "éA", durationNs: 1000, accelerator: "0" },
    ]);
  });

  const operator = '"name":"x","accelerator":"a","durationNs":1';
  test.each([
    ["TRUNCATED 1:1", ""],
    ["TRUNCATED 1:3", " ["],
    ["TRUNCATED 2:15", `[{"name":"x",\n "durationNs":`],
    ["TRUNCATED 1:10", '[{"name":"x'],
    ["SYNTAX 1:48", `[{${operator}} {}]`],
    ["SYNTAX 1:49", `[{${operator}}] x`],
    ["SYNTAX 1:10", '[{"name":"\\x"}]'],
    ["SYNTAX 1:16", '[{"durationNs":NaN}]'],
    ["SYNTAX 1:17", '[{"durationNs":01}]'],
    ["SYNTAX 1:2", "[,]"],
    ["WRONG_TYPE 1:1", "7"],
    ["WRONG_TYPE 1:16", '[{"durationNs":"7"}]'],
    ["WRONG_TYPE 1:10", '[{"name":7}]'],
    ["WRONG_TYPE 1:16", '{"operators": [[1]]}'],
    ["UNKNOWN_FIELD 1:3", '[{"duration":1}]'],
    ["UNKNOWN_FIELD 1:3", '[{"__proto__":{"name":"x"}}]'],
    ["UNKNOWN_FIELD 1:2", '{"tasks":[]}'],
    ["DUPLICATE_FIELD 1:14", '[{"name":"x","name":"y"}]'],
    ["MISSING_FIELD 2:1", '[\n{"name":"x","accelerator":"a"}]'],
    ["MISSING_FIELD 1:2", '[{"durationNs":1}]'],
    ["MISSING_FIELD 1:1", '{"link":{"latencyNs":0,"bytesPerSecond":1}}'],
    ["MISSING_FIELD 1:9", '{"link":{"latencyNs":0}}'],
    ["INVALID_NAME 1:10", '[{"name":""}]'],
    ["INVALID_DURATION 1:16", '[{"durationNs":-1}]'],
    ["INVALID_DURATION 1:16", '[{"durationNs":0}]'],
    ["INVALID_DURATION 1:16", '[{"durationNs":1.5}]'],
    ["INVALID_DURATION 1:16", '[{"durationNs":1e999}]'],
    ["INVALID_BYTES 1:17", '[{"outputBytes":-1}]'],
    ["BYTES_OVERFLOW 1:17", '[{"outputBytes":9007199254740992}]'],
    ["BYTES_OVERFLOW 1:20", '[{"workspaceBytes":1e999}]'],
    ["INVALID_NUMBER 1:10", '[{"rank":-1}]'],
    ["INVALID_NUMBER 1:33", '{"accelerators":[{"copyEngines":0}]}'],
    ["INVALID_NUMBER 1:41", '{"link":{"latencyNs":0,"bytesPerSecond":0}}'],
    ["DUPLICATE_NAME 1:31", '{"accelerators":[{"name":"a"},{"name":"a"}],"operators":[]}'],
    ["DUPLICATE_NAME 2:1", `[{${operator}},\n{${operator}}]`],
    ["UNKNOWN_OPERATOR 1:57", `[{${operator},"inputs":["y"]}]`],
    ["UNKNOWN_ACCELERATOR 1:71", `{"accelerators":[{"name":"b"}],"operators":[{${operator}}]}`],
    ["CYCLE 1:2", `[{${operator},"inputs":["x"]}]`],
    ["NO_ACCELERATOR 1:2", '[{"name":"x","durationNs":1}]'],
    ["NO_ACCELERATOR 1:1", "[]"],
  ])("%s: %s", (expected, content) => {
    expect(refusal(() => readOperatorsJson(content))).toBe(expected);
  });

  test("a cycle names its operators in the order in which they wait", () => {
    const names = ["a", "b", "c", "d"];
    const list = names.map((name, index) => ({
      ...{ name, durationNs: 1, accelerator: "x" },
      inputs: name === "d" ? ["c"] : [names[(index + 2) % 3]],
    }));
    expect(() => readOperatorsJson(JSON.stringify(list))).toThrow(
      expect.objectContaining({ code: "CYCLE", details: { operators: ["a", "b", "c"] } }),
    );
  });

  test("a cycle of thousands names the first and counts the others", () => {
    const count = 5000;
    const list = Array.from({ length: count }, (_, index) => ({
      ...{ name: `o${index}`, durationNs: 1, accelerator: "x", inputs: [`o${(index + 1) % count}`] },
    }));
    expect(() => readOperatorsJson(JSON.stringify(list))).toThrow(
      /^line 1, .*"o\d+" → .*… \(4992 more\) wait for each other$/,
    );
  });

  test("bytes that are not UTF-8 are refused at the byte", () => {
    const bytes = new Uint8Array([0x5b, 0x22, 0xc3, 0xa9, 0xff, 0x22, 0x5d]);
    expect(refusal(() => readOperatorsJson(bytes))).toBe("ENCODING @4");
    expect(refusal(() => readOperatorsJson(bytes.slice(0, 3)))).toBe("ENCODING @2");
    expect(refusal(() => readOperatorsJson(7 as unknown as string))).toBe("INVALID_OPTION");
  });
});

describe("a list of operators in JSON Lines", () => {
  const line = (name: string) => `{"name":"${name}","accelerator":"a","durationNs":1}`;
  test("has one per line, and blank lines", () => {
    const dag = readOperatorsJsonl(`\n${line("x")}\r\n\n  ${line("y")}`);
    expect(dag.operators.map(({ name }) => name)).toEqual(["x", "y"]);
  });

  test.each([
    ["SYNTAX 1:47", `${line("x")} ${line("y")}`],
    ["SYNTAX 2:1", `\n${line("x").replace(",", ",\n")}`],
    ["WRONG_TYPE 1:1", `[${line("x")}]`],
    ["DUPLICATE_NAME 2:1", `${line("x")}\n${line("x")}`],
    ["TRUNCATED 1:13", '{"name":"x",'],
  ])("%s: %s", (expected, content) => {
    expect(refusal(() => readOperatorsJsonl(content))).toBe(expected);
  });
});
