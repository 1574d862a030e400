import { describe, expect, test } from "vitest";
import { readW1, readW1Json, simulateDag } from "../index.ts";
import { refusal } from "./testing/refusals.ts";
import { type W1Node, type W1Parts, writeW1, writeW1Json } from "./testing/w1-writer.ts";

/** Accelerator 0 hands 100 of 140 bytes to accelerator 1, and reads what it kept itself. */
const nodes: readonly W1Node[] = [
  { resource: 0, model: 0, memory: 0, x: 2, bytes: 140, preds: [] },
  { resource: 2, model: 1, memory: 1, x: 100, bytes: 100, preds: [0] },
  { resource: 1, model: 0, memory: 1, x: 1, bytes: 8, preds: [1] },
  { resource: 0, model: 0, memory: 0, x: 1, bytes: 8, preds: [0] },
];
const parts: W1Parts = { accelerators: 2, requests: 1, groups: 3, passes: 1, nodes, a: [1, 0.001], b: [0.5, 0.001] };
const changed = (index: number, change: Partial<W1Node>): W1Parts => ({
  ...parts,
  nodes: nodes.map((node, at) => (at === index ? { ...node, ...change } : node)),
});

describe("W1", () => {
  test("nodes become operators, nodes of links become transfers, and what stays is apart from what moves", () => {
    const dag = readW1(writeW1(parts));
    expect(dag).toEqual({
      accelerators: [{ name: "0" }, { name: "1" }],
      link: { latencyNs: 1000, bytesPerSecond: 1e6 },
      operators: [
        {
          name: "op0",
          accelerator: "0",
          durationNs: 1_999_999,
          inputs: [],
          outputBytes: 40,
          workspaceBytes: 100,
          rank: 1,
        },
        { name: "op0:moved", accelerator: "0", durationNs: 1, inputs: ["op0"], outputBytes: 100, rank: 0 },
        { name: "op2", accelerator: "1", durationNs: 1_500_000, inputs: ["op0:moved"], outputBytes: 8, rank: 1 },
        { name: "op3", accelerator: "0", durationNs: 1_500_000, inputs: ["op0", "op0:moved"], outputBytes: 8, rank: 1 },
      ],
    });
    const { operators, transfers, accelerators } = simulateDag(dag);
    expect(operators.map(({ startNs }) => startNs)).toEqual([0, 1_999_999, 2_101_000, 2_000_000]);
    expect(transfers).toMatchObject([{ bytes: 100, startNs: 2_000_000, doneNs: 2_101_000 }]);
    expect(accelerators.map(({ peakBytes }) => peakBytes)).toEqual([148, 108]);
  });

  test("where everything moves, no operator is split", () => {
    const dag = readW1(writeW1(changed(0, { bytes: 100 })));
    expect(dag.operators.map(({ name, rank }) => [name, rank])).toEqual([
      ["op0", undefined],
      ["op2", undefined],
      ["op3", undefined],
    ]);
  });

  test("both parts of an operator keep its inputs until its end", () => {
    const before: W1Node = { resource: 0, model: 0, memory: 0, x: 1, bytes: 7, preds: [] };
    const after = nodes.map((node) => ({ ...node, preds: node.preds.map((pred) => pred + 1) }));
    const all = [before, ...after.map((node, at) => (at === 0 ? { ...node, preds: [0] } : node))];
    const { operators } = readW1(writeW1({ ...parts, groups: 4, nodes: all }));
    expect(operators.slice(1, 3).map(({ name, inputs }) => [name, inputs])).toEqual([
      ["op1", ["op0"]],
      ["op1:moved", ["op0", "op1"]],
    ]);
  });

  test("a file may lie anywhere in a buffer", () => {
    const content = writeW1(parts);
    const shifted = new Uint8Array(content.length + 3);
    shifted.set(content, 3);
    expect(readW1(shifted.subarray(3))).toEqual(readW1(content));
  });

  /** Res at 64, est 80, memAcc 96, succPtr 112, succ 132, predPtr 144, pred 164, x 176, bytes 208, a 240, b 256, end 272. */
  const written = (byteOffset: number, value: number) => {
    const content = writeW1(parts);
    const view = new DataView(content.buffer);
    if (byteOffset < 176) view.setInt32(byteOffset, value, true);
    else view.setFloat64(byteOffset, value, true);
    return content;
  };
  test.each([
    ["SYNTAX @0", "another magic", written(0, 7)],
    ["INVALID_NUMBER @4", "no accelerators", written(4, 0)],
    ["INVALID_NUMBER @4", "more accelerators than are simulated", written(4, 2 ** 31 - 1)],
    ["INVALID_NUMBER @8", "resources that are not twice as many", written(8, 5)],
    ["INVALID_NUMBER @12", "a negative count", written(12, -1)],
    ["TRUNCATED @272", "a count that promises more", written(12, 2 ** 31 - 1)],
    ["TRUNCATED @272", "edges that promise more", written(16, 2 ** 31 - 1)],
    ["SYNTAX @256", "models that promise less", written(20, 1)],
    ["INVALID_NUMBER @24", "operators that are not there", written(24, 2)],
    ["INVALID_NUMBER @68", "a resource past the last", written(68, 4)],
    ["INVALID_NUMBER @84", "a model past the last", written(84, 2)],
    ["INVALID_NUMBER @100", "memory of no accelerator", written(100, -1)],
    ["INVALID_NUMBER @112", "offsets that begin later", written(112, 1)],
    ["INVALID_NUMBER @124", "offsets that fall", written(124, 1)],
    ["INVALID_NUMBER @128", "offsets that end early", written(128, 2)],
    ["INVALID_NUMBER @136", "an edge to no node", written(136, 4)],
    ["INVALID_NUMBER @152", "predecessors of another node", written(156, 1)],
    ["INVALID_NUMBER @168", "a predecessor that is none", written(168, 3)],
    ["INVALID_NUMBER @176", "a NaN load", written(176, Number.NaN)],
    ["INVALID_NUMBER @184", "a negative load", written(184, -1)],
    ["INVALID_BYTES @208", "half a byte", written(208, 0.5)],
    ["BYTES_OVERFLOW @216", "bytes past 2^53", written(216, 2 ** 53)],
    ["INVALID_NUMBER @240", "an infinite constant", written(240, Number.POSITIVE_INFINITY)],
    ["INVALID_NUMBER @264", "a link that takes no time per byte", written(264, 0)],
    ["INVALID_DURATION @176", "a duration past 2^53", written(176, 1e300)],
    ["TRUNCATED @271", "the last byte cut off", writeW1(parts).slice(0, -1)],
    ["TRUNCATED @63", "half a header", writeW1(parts).slice(0, 63)],
    ["TRUNCATED @0", "nothing", new Uint8Array()],
    ["SYNTAX @272", "a byte more", Uint8Array.from([...writeW1(parts), 0])],
    ["NOT_EXPRESSIBLE @216", "a transfer of more than there is", writeW1(changed(1, { bytes: 141, x: 141 }))],
    ["NOT_EXPRESSIBLE @184", "a transfer that lasts as for other bytes", writeW1(changed(1, { x: 5 }))],
    ["NOT_EXPRESSIBLE @68", "a transfer to its source", writeW1(changed(1, { memory: 0 }))],
    ["NOT_EXPRESSIBLE @76", "an edge between accelerators", writeW1({ ...changed(3, { resource: 1, memory: 1 }) })],
    ["NOT_EXPRESSIBLE @108", "an output held elsewhere", writeW1(changed(3, { memory: 1 }))],
    ["NOT_EXPRESSIBLE @116", "a transfer that nobody reads", writeW1(changed(2, { preds: [] }))],
    ["NOT_EXPRESSIBLE @176", "a split that has no time", writeW1({ ...changed(0, { x: 0 }), a: [0.000001, 0.001] })],
    ["CYCLE @112", "a cycle", writeW1(changed(0, { preds: [3] }))],
  ])("%s: %s", (expected, _, content) => {
    expect(refusal(() => readW1(content))).toBe(expected);
  });

  test("a string is no W1 file", () => {
    expect(refusal(() => readW1("W1V1" as unknown as Uint8Array))).toBe("INVALID_OPTION");
  });
});

describe("W1 in JSON", () => {
  const json = writeW1Json(parts);
  const column = (text: string) => json.indexOf(text) + 1;
  test.each([
    [`INVALID_BYTES 1:${column("140,100,8,8")}`, json.replace("140,100", "-40,100")],
    [`BYTES_OVERFLOW 1:${column("140,100") + 4}`, json.replace("140,100", "140,9007199254740992")],
    [`INVALID_NUMBER 1:${column('"res":[0,2') + 9}`, json.replace('"res":[0,2', '"res":[0,9')],
    [`TRUNCATED 1:${column('"x":[') + 4}`, json.replace('"x":[2,', '"x":[')],
    [`SYNTAX 1:${column('"x":[') + 4}`, json.replace('"x":[2,', '"x":[2,2,')],
    ["INVALID_NUMBER 1:6", json.replace('"N":2', '"N":0')],
    ["INVALID_NUMBER 1:12", json.replace('"R":1', '"R":7')],
    ["MISSING_FIELD 1:1", json.replace('"n":4,', "")],
    ["MISSING_FIELD 1:1", json.replace('"est":[0,1,0,0],', "")],
    ["UNKNOWN_FIELD 1:2", json.replace('"N"', '"__proto__"')],
    [`WRONG_TYPE 1:${column('"kv":') + 5}`, json.replace("false", "0")],
    [`WRONG_TYPE 1:${column('"x":[') + 5}`, json.replace('"x":[2', '"x":[null')],
    [`TRUNCATED 1:${json.length}`, json.slice(0, -1)],
  ])("%s", (expected, content) => {
    expect(refusal(() => readW1Json(content))).toBe(expected);
  });
});
