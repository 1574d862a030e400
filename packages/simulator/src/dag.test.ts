import { expect, test } from "vitest";
import { type Dag, simulateDag } from "./index.ts";

const accelerators = [{ name: "a", hbmBytes: 100 }, { name: "b" }];
const link = { latencyNs: 10, bytesPerSecond: 1e9 };

test("operators, the transfer between them and memory are timed", () => {
  const timeline = simulateDag({
    accelerators,
    link,
    operators: [
      { name: "second", accelerator: "b", durationNs: 5, inputs: ["first"] },
      { name: "first", accelerator: "a", durationNs: 7, outputBytes: 40, workspaceBytes: 60 },
    ],
  });
  expect(timeline).toMatchObject({ outcome: "finished", makespanNs: 62 });
  expect(timeline.operators.map(({ startNs, doneNs }) => [startNs, doneNs])).toEqual([
    [57, 62],
    [0, 7],
  ]);
  expect(timeline.transfers).toMatchObject([{ source: 0, destination: 1, bytes: 40, startNs: 7, doneNs: 57 }]);
  expect(timeline.accelerators[0]).toEqual({
    name: "a",
    busyNs: 7,
    peakBytes: 100,
    hbm: [
      { atNs: 0, usedBytes: 0 },
      { atNs: 0, usedBytes: 100 },
      { atNs: 7, usedBytes: 40 },
      { atNs: 57, usedBytes: 0 },
    ],
  });
});

test("out of memory says where, when and by how much", () => {
  const operators = [
    { name: "x", accelerator: "a", durationNs: 3, outputBytes: 80 },
    { name: "y", accelerator: "a", durationNs: 3, inputs: ["x"], outputBytes: 50 },
  ];
  const { outcome, outOfMemory } = simulateDag({ accelerators, operators });
  expect(outcome).toBe("outOfMemory");
  expect(outOfMemory).toEqual({ accelerator: 0, atNs: 3, operator: 1, transfer: -1, bytesOver: 30 });
});

const operator = { name: "x", accelerator: "a", durationNs: 1 };
const bad: [string, string, Partial<Dag>][] = [
  ["a name given twice", "DAG_INVALID", { operators: [operator, operator] }],
  ["an unknown input", "DAG_INVALID", { operators: [{ ...operator, inputs: ["z"] }] }],
  ["an unknown accelerator", "UNKNOWN_ACCELERATOR", { operators: [{ ...operator, accelerator: "c" }] }],
  ["a negative duration", "INVALID_DURATION", { operators: [{ ...operator, durationNs: -1 }] }],
  ["a NaN duration", "INVALID_DURATION", { operators: [{ ...operator, durationNs: Number.NaN }] }],
  ["bytes past 2^53", "BYTES_OVERFLOW", { operators: [{ ...operator, outputBytes: 2 ** 54 }] }],
  ["negative bytes", "INVALID_BYTES", { operators: [{ ...operator, outputBytes: -1 }] }],
  ["a rate of 0", "INVALID_OPTION", { link: { latencyNs: 0, bytesPerSecond: 0 } }],
];
test.each(bad)("%s is refused", (_, code, change) => {
  expect(() => simulateDag({ accelerators, operators: [operator], ...change })).toThrow(
    expect.objectContaining({ name: "SimulatorError", code }),
  );
});

test("a cycle is refused, naming its operators and no others", () => {
  const named = (name: string, ...inputs: string[]) => ({ ...operator, name, inputs });
  const operators = [named("start"), named("b", "a"), named("behind", "a"), named("a", "start", "b")];
  expect(() => simulateDag({ accelerators, operators })).toThrow(
    expect.objectContaining({ code: "CYCLE", details: { operators: ["a", "b", "a"] } }),
  );
});
