import { describe, expect, test } from "vitest";
import { type SimOperator, type SimTensor, Simulator } from "./index.ts";

const GIB = 2 ** 30;

function simulatorOf(accelerators: number, changes: { route?: undefined; transferNs?: number } = {}): Simulator {
  const simulator = new Simulator({
    topology: {
      accelerators,
      portCapacity: new Array<number>(accelerators).fill(1),
      linkCapacity: [],
      route: () => ("route" in changes ? undefined : []),
    },
    transferNs: () => changes.transferNs ?? 10,
  });
  simulator.begin(100, new Array(accelerators).fill({ capacityBytes: 10 * GIB, fixedBytes: 0 }));
  return simulator;
}

function codeOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return "nothing thrown";
}

test("a cache growing in place is counted once, and freed with its last reader", () => {
  const simulator = simulatorOf(1);
  const cache = simulator.addTensor(0, 4 * GIB, false);
  const decode = simulator.addOperator(0, 20, 0, 0, GIB);
  simulator.addInput(decode, cache);
  simulator.addOutput(decode, 5 * GIB, false, cache);
  const result = simulator.run({ timeline: true });
  expect(result).toEqual({ outcome: "finished", makespanNs: 20, simulatedOperators: 1, scoreNs: 120 });
  expect(simulator.peakBytes(0)).toBe(6 * GIB);
  expect(simulator.hbmTimeline(0).map(({ usedBytes }) => usedBytes / GIB)).toEqual([4, 6, 0]);
});

test("a standstill names every waiter and what it waits for", () => {
  const simulator = simulatorOf(2);
  const first = simulator.addOperator(0, 1, 0, 0, 0);
  const second = simulator.addOperator(1, 1, 0, 1, 0);
  const a = simulator.addOutput(first, 1, false);
  const b = simulator.addOutput(second, 1, false);
  simulator.addInput(first, b);
  simulator.addInput(second, a);
  expect(simulator.run()).toMatchObject({ outcome: "standstill", simulatedOperators: 0 });
  expect(simulator.score()).toBe(Number.POSITIVE_INFINITY);
  expect(simulator.waiters().map(({ words }) => words)).toEqual([
    "operator 0 on accelerator 0 waits for tensor 1 (brought by transfer 0)",
    "operator 1 on accelerator 1 waits for tensor 0 (brought by transfer 1)",
    "transfer 0 from accelerator 1 to 0 waits until tensor 1 is produced",
    "transfer 1 from accelerator 0 to 1 waits until tensor 0 is produced",
  ]);
});

test("a score equal to the bound is not abandoned, one above it is", () => {
  const simulator = simulatorOf(1);
  simulator.mark();
  for (const durationNs of [1, 1, 1]) simulator.addOperator(0, durationNs, 0, durationNs, 0);
  const { scoreNs } = simulator.run();
  expect(scoreNs).toBe(102);
  expect(simulator.run({ abandonAboveScore: scoreNs }).outcome).toBe("finished");
  expect(simulator.run({ abandonAboveScore: scoreNs - 0.1 }).outcome).toBe("abandoned");
  expect(simulator.score()).toBeGreaterThan(scoreNs - 0.1);
});

test("transfers that are declared come before those that operators ask for, with their own rank, read or not", () => {
  const simulator = simulatorOf(2);
  const [asked, unread, urgent] = [1, 1, 1].map((bytes) => simulator.addTensor(0, bytes, true)) as SimTensor[];
  simulator.addInput(simulator.addOperator(1, 1, 1, 0, 0), asked as SimTensor);
  simulator.addTransfer(unread as SimTensor, 0, 1, 2);
  simulator.addTransfer(urgent as SimTensor, 0, 1, 0);
  simulator.run();
  const order = simulator.transfers().map(({ tensor, startNs }) => ({ tensor, startNs }));
  const [first = 0, second = 0, third = 0] = order.map(({ startNs }) => startNs).sort((a, b) => a - b);
  // By number: the two declared ones, then the one asked for. By rank: 0, 1, 2.
  expect(order).toEqual([
    { tensor: unread, startNs: third },
    { tensor: urgent, startNs: first },
    { tensor: asked, startNs: second },
  ]);
});

describe("misuse is refused", () => {
  const operator = (simulator: Simulator) => simulator.addOperator(0, 1, 0, 0, 0);
  const twice = (simulator: Simulator) => {
    const tensor = simulator.addTensor(0, 1, false);
    for (const rank of [0, 1]) simulator.addTransfer(tensor, 0, 1, rank);
  };
  const cases: [string, string, (simulator: Simulator) => unknown][] = [
    ["an accelerator too many", "UNKNOWN_ACCELERATOR", (it) => it.addTensor(2, 1, false)],
    ["accelerator NaN", "UNKNOWN_ACCELERATOR", (it) => it.addOperator(Number.NaN, 1, 0, 0, 0)],
    ["too few accelerator states", "UNKNOWN_ACCELERATOR", (it) => it.begin(0, [])],
    ["a duration of 0", "INVALID_DURATION", (it) => it.addOperator(0, 0, 0, 0, 0)],
    ["a broken duration", "INVALID_DURATION", (it) => it.addOperator(0, 1.5, 0, 0, 0)],
    ["a negative rank", "INVALID_RANK", (it) => it.addOperator(0, 1, -1, 0, 0)],
    ["a negative issue number", "INVALID_ISSUE_NUMBER", (it) => it.addOperator(0, 1, 0, -1, 0)],
    ["negative bytes", "INVALID_BYTES", (it) => it.addTensor(0, -1, false)],
    ["bytes past 2^53", "BYTES_OVERFLOW", (it) => it.addOperator(0, 1, 0, 0, 2 ** 53)],
    ["an unknown tensor", "UNKNOWN_TENSOR", (it) => it.addInput(operator(it), 7 as SimTensor)],
    ["an unknown operator", "UNKNOWN_OPERATOR", (it) => it.addOutput(0 as SimOperator, 1, false)],
    ["a copy declared twice", "COPY_EXISTS", (it) => it.addCopy(it.addTensor(0, 1, false), 0, false)],
    ["an alias of no input", "INVALID_ALIAS", (it) => it.addOutput(operator(it), 1, false, it.addTensor(0, 1, false))],
    ["an alias of an absent tensor", "INVALID_ALIAS", (it) => it.addTensor(1, 1, false, it.addTensor(0, 1, false))],
    ["ready in the future", "INVALID_TIME", (it) => it.setReadySince(operator(it), 101)],
    ["sending what is not there", "INVALID_SOURCE", (it) => it.setTransferring(it.addTensor(0, 1, false), 1, 0, 5)],
    [
      "a transfer of what is neither there nor made there",
      "INVALID_SOURCE",
      (it) => it.addTransfer(it.addTensor(0, 1, false), 1, 0, 0),
    ],
    ["a transfer to where it is", "COPY_EXISTS", (it) => it.addTransfer(it.addTensor(0, 1, false), 0, 0, 0)],
    ["a transfer declared twice", "COPY_EXISTS", twice],
    ["a transfer of a negative rank", "INVALID_RANK", (it) => it.addTransfer(it.addTensor(0, 1, false), 0, 1, -1)],
    ["rewinding without a mark", "NOT_MARKED", (it) => it.rewind()],
    ["a NaN bound", "INVALID_OPTION", (it) => it.run({ abandonAboveScore: Number.NaN })],
    ["results before a run", "NO_RESULT", (it) => it.score()],
  ];
  test.each(cases)("%s", (_, code, action) => {
    expect(codeOf(() => action(simulatorOf(2)))).toBe(code);
  });

  test("an operator of the base after mark, and a dropped one after rewind", () => {
    const simulator = simulatorOf(1);
    const base = simulator.addOperator(0, 1, 0, 0, 0);
    simulator.mark();
    expect(codeOf(() => simulator.setRunning(base, 1))).toBe("FROZEN");
    const dropped = simulator.addOperator(0, 1, 0, 1, 0);
    simulator.rewind();
    expect(codeOf(() => simulator.addOutput(dropped, 1, false))).toBe("UNKNOWN_OPERATOR");
    simulator.run();
    simulator.addTensor(0, 1, false);
    expect(codeOf(() => simulator.doneNs(base))).toBe("NO_RESULT");
  });

  test("what only shows at the run: no way, nothing at the source, running without its input", () => {
    const needs = (simulator: Simulator, source?: number) => {
      const reader = simulator.addOperator(1, 1, 0, 0, 0);
      simulator.addInput(reader, simulator.addTensor(0, 1, false), source);
      return reader;
    };
    const noWay = simulatorOf(2, { route: undefined });
    needs(noWay);
    expect(codeOf(() => noWay.run())).toBe("NO_ROUTE");
    const noSource = simulatorOf(3);
    needs(noSource, 2);
    expect(codeOf(() => noSource.run())).toBe("INVALID_SOURCE");
    const tooEarly = simulatorOf(2);
    tooEarly.setRunning(needs(tooEarly), 1);
    expect(codeOf(() => tooEarly.run())).toBe("INVALID_RUNNING");
    const noTime = simulatorOf(2, { transferNs: 0 });
    needs(noTime);
    expect(codeOf(() => noTime.run())).toBe("INVALID_DURATION");
    expect(codeOf(() => new Simulator({ ...simulatorOptions, agingNs: 0 }))).toBe("INVALID_OPTIONS");
  });
});

const simulatorOptions = {
  topology: { accelerators: 1, portCapacity: [1], linkCapacity: [], route: () => [] },
  transferNs: () => 1,
};
