import { describe, expect, test } from "vitest";
import { readStg, type StgOptions, simulateDag } from "../index.ts";
import { refusal } from "./testing/refusals.ts";

const options: StgOptions = { accelerators: 2, layout: "roundRobin", timeUnitNs: 10 };
const plain = ["  3", "  0 0 0", "  1 5 1 0", "  2 7 1 0", "  3 2 2 1 2", "  4 0 1 3", "# information", "1 2 3 x"].join(
  "\n",
);

describe("STG", () => {
  test("without costs: dummies are left out, times are in the unit", () => {
    const dag = readStg(plain, options);
    expect(
      dag.operators.map(({ name, accelerator, durationNs, inputs }) => [name, accelerator, durationNs, inputs]),
    ).toEqual([
      ["1", "0", 50, []],
      ["2", "1", 70, []],
      ["3", "0", 20, ["1", "2"]],
    ]);
    expect(dag.link).toBeUndefined();
    // The output of 2 has no bytes; its transfer takes the least of 1 ns.
    expect(simulateDag(dag).makespanNs).toBe(91);
  });

  test("without dummies, and with the last one only and a number of processors, as in the prototype set", () => {
    const bare = "3\n1 5 0\n2 7 0\n3 2 2 1 2\n";
    expect(readStg(bare, options)).toEqual(readStg(plain, options));
    expect(readStg(`3 8\n${bare.slice(2)}4 0 1 3\n`, options)).toEqual(readStg(plain, options));
  });

  test("predecessors may stand on lines of their own, with their costs", () => {
    const costs = "2\n0 0 0\n1 5 1\n0 0\n2 7 1\n1 61\n3 0 1\n2 0\n";
    const inline = "2\n0 0 0\n1 5 1 0 0\n2 7 1 1 61\n3 0 1 2 0\n";
    const dag = readStg(costs, { ...options, timeUnitNs: 1, communication: "uniform" });
    expect(dag).toEqual(readStg(inline, { ...options, timeUnitNs: 1, communication: "uniform" }));
    // 61 is where floating point would make it 62.
    expect(simulateDag(dag)).toMatchObject({ makespanNs: 5 + 61 + 7, transfers: [{ startNs: 5, doneNs: 66 }] });
  });

  test("every whole number of nanoseconds is communicated in that time", () => {
    for (const cost of [1, 2, 61, 122, 999_999_937, 123_456_789_012, 2 ** 49 - 1]) {
      const dag = readStg(`2\n1 1 0\n2 1 1 1 ${cost}\n`, { ...options, timeUnitNs: 1, communication: "uniform" });
      expect(simulateDag(dag).makespanNs).toBe(2 + cost);
    }
  });

  test("costs that differ are refused, or the largest is taken", () => {
    const differing = "3\n1 5 0\n2 7 1 1 3\n3 7 1 1 4\n";
    expect(refusal(() => readStg(differing, { ...options, communication: "uniform" }))).toBe("NOT_EXPRESSIBLE 4:7");
    const dag = readStg(differing, { ...options, communication: "largest" });
    expect(dag.operators.map(({ outputBytes }) => outputBytes)).toEqual([40, 0, 0]);
  });

  test("a dummy stays, for 1 ns, where it communicates or lies in between", () => {
    const dummies = "2\n0 0 0\n1 5 1 0 3\n2 0 1 1 0\n3 0 1 2 0\n";
    const dag = readStg(dummies, { ...options, communication: "uniform" });
    expect(dag.operators.map(({ name, durationNs }) => [name, durationNs])).toEqual([
      ["0", 1],
      ["1", 50],
      ["2", 1],
    ]);
  });

  test("a time in decimals is rounded to nanoseconds", () => {
    expect(readStg("1\n1 2.34 0\n", options).operators[0]?.durationNs).toBe(23);
  });

  test.each([
    ["TRUNCATED 1:1", ""],
    ["TRUNCATED 1:1", "# only information"],
    ["TRUNCATED 2:1", "9\n"],
    ["TRUNCATED 2:3", "1\n1 "],
    ["TRUNCATED 3:1", "1\n1 5 3 1 1\n"],
    ["TRUNCATED 2:8", "2\n1 5 0  "],
    ["TRUNCATED 2:21", "1\n1 5 9007199254740991"],
    ["TRUNCATED 3:6", "1\n0 0 0\n1 5 0"],
    ["SYNTAX 3:1", "1\n1 5 0\n2 0 0\n3 5 0\n"],
    ["SYNTAX 3:1", "1\n1 5 0\n2 5 0\n"],
    ["SYNTAX 2:3", "1\n1 five 0"],
    ["SYNTAX 2:7", "1\n1 5 0 # information begins a line"],
    ["SYNTAX 1:1", "tasks 3"],
    ["INVALID_NUMBER 2:3", "1\n1 -5 0"],
    ["INVALID_NUMBER 2:3", "1\n1 NaN 0"],
    ["INVALID_NUMBER 2:5", "1\n1 5 1.5 0"],
    ["INVALID_NUMBER 1:1", "99999999999999999999"],
    ["INVALID_DURATION 2:3", "1\n1 99999999999999999 0"],
    ["INVALID_DURATION 2:3", "1\n1 0.01 0"],
    ["DUPLICATE_NAME 3:1", "2\n1 5 0\n1 5 0"],
    ["UNKNOWN_OPERATOR 2:7", "1\n1 5 1 7"],
    ["CYCLE 2:1", "2\n1 5 1 2\n2 5 1 1"],
    ["CYCLE 3:1", "2\n1 5 0\n2 5 1 2"],
  ])("%s: %j", (expected, content) => {
    expect(refusal(() => readStg(content, options))).toBe(expected);
  });

  test("communication past 2^53 bytes is refused", () => {
    const content = "2\n1 5 0\n2 5 1 1 9007199254740991\n";
    expect(refusal(() => readStg(content, { ...options, communication: "uniform" }))).toBe("BYTES_OVERFLOW 3:9");
  });

  test.each<Partial<StgOptions>>([
    { timeUnitNs: 0 },
    { timeUnitNs: Number.NaN },
    { communication: "some" as "none" },
    { accelerators: 0 },
  ])("the option %j is refused", (change) => {
    expect(refusal(() => readStg(plain, { ...options, ...change }))).toBe("INVALID_OPTION");
  });
});
