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
  ["no copy engine", "INVALID_OPTION", { accelerators: [{ name: "a", copyEngines: 0 }] }],
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
    expect.objectContaining({ code: "CYCLE", details: { operators: ["a", "b", "a"], count: 2 } }),
  );
});

test("of a long cycle eight operators are named", () => {
  const operators = Array.from({ length: 1000 }, (_, at) => ({
    ...operator,
    name: `x${at}`,
    inputs: [`x${(at + 1) % 1000}`],
  }));
  let message = "";
  try {
    simulateDag({ accelerators, operators });
  } catch (error) {
    message = String(error);
  }
  expect(message.match(/x\d+/g)).toHaveLength(8);
  expect(message).toContain("1000 in all");
});

test("errors of an operator or an accelerator name it", () => {
  const operators = [operator, { ...operator, name: "late", durationNs: -1 }];
  expect(() => simulateDag({ accelerators, operators })).toThrow(
    expect.objectContaining({
      code: "INVALID_DURATION",
      message: expect.stringContaining('operator "late"'),
      details: expect.objectContaining({ operator: "late" }),
    }),
  );
  expect(() => simulateDag({ accelerators: [{ name: "a", hbmBytes: -1 }], operators })).toThrow('accelerator "a"');
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["no accelerators", { operators: [] }],
  ["no operators", { accelerators }],
  ["a null operator", { accelerators, operators: [null] }],
  ["an operator without a name", { accelerators, operators: [{ accelerator: "a", durationNs: 1 }] }],
  ["null inputs", { accelerators, operators: [{ ...operator, inputs: null }] }],
  ["a null link", { accelerators, operators: [operator], link: null }],
])("%s is refused", (_, dag) => {
  expect(() => simulateDag(dag as unknown as Dag)).toThrow(expect.objectContaining({ code: "DAG_INVALID" }));
});

test("times past 2^53 ns are refused, also where only what runs at the end goes past", () => {
  const half = { accelerator: "a", durationNs: 2 ** 52 };
  const operators = [
    { ...half, name: "x" },
    { ...half, name: "y", inputs: ["x"] },
  ];
  expect(() => simulateDag({ accelerators, operators })).toThrow(expect.objectContaining({ code: "TIME_OVERFLOW" }));
  const apart = [operators[0], { ...half, name: "y", accelerator: "b" }] as Dag["operators"];
  expect(simulateDag({ accelerators, operators: apart }).makespanNs).toBe(2 ** 52);
});

test("bytes past 2^53 on an accelerator are refused, not told inexactly", () => {
  const most = Number.MAX_SAFE_INTEGER;
  const operators = [{ ...operator, outputBytes: most, workspaceBytes: most }];
  expect(() => simulateDag({ accelerators: [{ name: "a" }], operators })).toThrow(
    expect.objectContaining({ code: "BYTES_OVERFLOW" }),
  );
});
