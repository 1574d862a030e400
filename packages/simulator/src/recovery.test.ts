import { ArbitrationError, IntentQueue } from "@slicescheduler/arbitration";
import { afterEach, expect, test, vi } from "vitest";
import { type SimOperator, Simulator } from "./index.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** One accelerator makes three tensors at once; three others read them, over its one port. */
function fanOut(): Simulator {
  const simulator = new Simulator({
    topology: { accelerators: 5, portCapacity: [1, 1, 1, 1, 1], linkCapacity: [], route: () => [] },
    transferNs: () => 10,
  });
  simulator.begin(0, new Array(5).fill({ capacityBytes: 1000, fixedBytes: 0 }));
  const maker = simulator.addOperator(0, 7, 0, 0, 0);
  for (let reader = 1; reader <= 3; reader++) {
    const made = simulator.addOutput(maker, 10, false);
    simulator.addInput(simulator.addOperator(reader, 5, 0, reader, 0), made);
  }
  return simulator;
}

function candidate(simulator: Simulator): void {
  const first = simulator.addOperator(1, 2, 0, 10, 0);
  simulator.addInput(simulator.addOperator(4, 3, 0, 11, 0), simulator.addOutput(first, 5, false));
}

function all(simulator: Simulator, operators: number) {
  const result = simulator.run();
  const handles = Array.from({ length: operators }, (_, index) => index as SimOperator);
  return { result, doneNs: handles.map((it) => simulator.doneNs(it)), transfers: simulator.transfers() };
}

/** The queue refuses the n-th intent added from now on. */
function refuse(nth: number): void {
  const add = IntentQueue.prototype.add;
  let added = 0;
  vi.spyOn(IntentQueue.prototype, "add").mockImplementation(function (this: IntentQueue, ...args) {
    if (++added === nth) throw new ArbitrationError("TOO_MANY_INTENTS", "too many", {});
    return add.apply(this, args);
  });
}

const failed = expect.objectContaining({ name: "SimulatorError", code: "RUN_FAILED" });

test.each([1, 2, 3])("after a run that fails at intent %i, the next one is right", (nth) => {
  const expected = all(fanOut(), 4);
  const simulator = fanOut();
  refuse(nth);
  expect(() => simulator.run()).toThrow(failed);
  expect(() => simulator.score()).toThrow(expect.objectContaining({ code: "NO_RESULT" }));
  expect(all(simulator, 4)).toEqual(expected);
});

test.each([1, 2, 3])("also under a candidate, and after it is dropped (%i)", (nth) => {
  const expectedBase = all(fanOut(), 4);
  const fresh = fanOut();
  fresh.mark();
  candidate(fresh);
  const expected = all(fresh, 6);
  const simulator = fanOut();
  simulator.mark();
  simulator.run();
  candidate(simulator);
  refuse(nth);
  expect(() => {
    // The base is known: the first intents are the candidate's.
    for (let run = 0; run < 2; run++) simulator.run();
  }).toThrow(failed);
  expect(all(simulator, 6)).toEqual(expected);
  simulator.rewind();
  expect(all(simulator, 4).doneNs).toEqual(expectedBase.doneNs);
});

test("an operator with more left than it lasts counts as started at begin", () => {
  const simulator = fanOut();
  const late = simulator.addOperator(4, 3, 0, 9, 0);
  simulator.setRunning(late, 8);
  simulator.run();
  expect([simulator.startNs(late), simulator.doneNs(late), simulator.busyNs(4)]).toEqual([0, 8, 8]);
});

test("a time past 2^53 ns is refused, and the state can be changed and run again", () => {
  const simulator = fanOut();
  const expected = all(simulator, 4);
  simulator.mark();
  simulator.addOperator(4, Number.MAX_SAFE_INTEGER, 0, 10, 0);
  simulator.addOperator(4, 1, 0, 11, 0);
  expect(() => simulator.run()).toThrow(expect.objectContaining({ code: "TIME_OVERFLOW" }));
  simulator.rewind();
  expect(all(simulator, 4).doneNs).toEqual(expected.doneNs);
});

test("bytes in use at begin past 2^53 are refused, of a candidate too", () => {
  const simulator = fanOut();
  simulator.mark();
  for (let tensor = 0; tensor < 2; tensor++) {
    const reader = simulator.addOperator(4, 1, 0, 10 + tensor, 0);
    simulator.addInput(reader, simulator.addTensor(4, Number.MAX_SAFE_INTEGER, false));
  }
  expect(() => simulator.run()).toThrow(expect.objectContaining({ code: "BYTES_OVERFLOW" }));
  simulator.rewind();
  expect(simulator.run().outcome).toBe("finished");
});

test("sizes are rounded up exactly where a quotient is not", () => {
  const simulator = fanOut();
  const capacityBytes = Number.MAX_SAFE_INTEGER;
  simulator.begin(0, new Array(5).fill({ capacityBytes, fixedBytes: 0, granularityBytes: 3 }));
  const bytes = 3 * Math.floor(capacityBytes / 9 / 3) + 1;
  simulator.addTensor(0, bytes, true);
  simulator.run();
  expect(simulator.peakBytes(0)).toBe(bytes + 2);
});
