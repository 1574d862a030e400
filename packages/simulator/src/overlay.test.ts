import { expect, test } from "vitest";
import { type SimTensor, Simulator } from "./index.ts";

function simulatorOf(accelerators: number, calls: string[], links: number[] = []): Simulator {
  const simulator = new Simulator({
    topology: {
      accelerators,
      portCapacity: new Array<number>(accelerators).fill(1),
      linkCapacity: links,
      route: () => links.map((_, link) => link),
    },
    transferNs: (source, destination) => {
      calls.push(`${source}>${destination}`);
      return 10;
    },
  });
  simulator.begin(0, new Array(accelerators).fill({ capacityBytes: 1000, fixedBytes: 0 }));
  return simulator;
}

/** A chain over two accelerators that ends after 7 + 10 + 5 ns. */
function chain(simulator: Simulator, first: number, issueNumber: number): SimTensor {
  const a = simulator.addOperator(first, 7, 0, issueNumber, 0);
  const moved = simulator.addOutput(a, 100, false);
  const b = simulator.addOperator(first + 1, 5, 0, issueNumber + 1, 0);
  simulator.addInput(b, moved);
  return simulator.addOutput(b, 100, true);
}

test("the base is planned once, a candidate only what it adds", () => {
  const calls: string[] = [];
  const simulator = simulatorOf(4, calls);
  chain(simulator, 0, 0);
  const result = chain(simulator, 2, 2);
  simulator.mark();
  for (let candidate = 0; candidate < 3; candidate++) {
    simulator.rewind();
    const reader = simulator.addOperator(2, 1, 0, 10, 0);
    simulator.addInput(reader, result);
    expect(simulator.run()).toMatchObject({ outcome: "finished", makespanNs: 33, simulatedOperators: 5, scoreNs: 33 });
    simulator.run();
  }
  expect(calls).toEqual(["0>1", "2>3", "3>2", "3>2", "3>2"]);
});

test("a candidate that is more than an overlay is planned apart, and costs the others nothing", () => {
  const calls: string[] = [];
  const simulator = simulatorOf(4, calls);
  chain(simulator, 0, 5);
  const result = chain(simulator, 2, 7);
  simulator.mark();
  const lay = (issueNumber: number) => {
    simulator.rewind();
    const reader = simulator.addOperator(2, 1, 0, issueNumber, 0);
    simulator.addInput(reader, result);
    return simulator.run().scoreNs;
  };
  // The second comes before the base in order: everything is planned for it, but for the others nothing again.
  expect([9, 1, 9, 9].map(lay)).toEqual([33, 33, 33, 33]);
  expect(calls).toEqual(["0>1", "2>3", "3>2", "3>2", "0>1", "2>3", "3>2", "3>2"]);
  simulator.rewind();
  expect(simulator.run().makespanNs).toBe(22);
  expect(calls).toHaveLength(8);
});

test("a hold of the base that a candidate drops frees memory at begin, and is there again for the next", () => {
  const calls: string[] = [];
  const simulator = simulatorOf(2, calls);
  const read = simulator.addTensor(0, 700, true);
  const spare = simulator.addTensor(1, 900, true);
  chain(simulator, 0, 0);
  simulator.mark();
  const peaks = [false, true, false].map((isDropped) => {
    simulator.rewind();
    const reader = simulator.addOperator(0, 1, 0, 9, 0);
    simulator.addInput(reader, read);
    simulator.addOutput(reader, 150, true);
    if (isDropped) for (const [at, tensor] of [read, spare].entries()) simulator.setHeld(tensor, at, false);
    return [simulator.run().outcome, simulator.peakBytes(0), simulator.peakBytes(1)];
  });
  // Beside 900 bytes on accelerator 1 there is room for what the chain sends there, not for what comes of it.
  expect(peaks[1]).toEqual(["finished", 950, 200]);
  expect(peaks[0]).toEqual(["outOfMemory", 950, 1000]);
  expect(peaks[2]).toEqual(peaks[0]);
  // All are overlays: the base was planned once.
  expect(calls).toEqual(["0>1"]);
});

test("what an earlier candidate touched is as in the base again", () => {
  const simulator = simulatorOf(4, []);
  const rank = 1;
  const [left, right] = [0, 2].map((accelerator) => simulator.addOperator(accelerator, 10, rank, accelerator, 0));
  simulator.addOperator(0, 10, rank, 4, 0);
  simulator.mark();
  simulator.addOperator(0, 5, 0, 8, 0);
  simulator.run();
  expect([simulator.doneNs(left as never), simulator.busyNs(0)]).toEqual([15, 25]);
  simulator.rewind();
  simulator.addOperator(2, 5, 0, 8, 0);
  simulator.run();
  expect([simulator.doneNs(left as never), simulator.busyNs(0)]).toEqual([10, 20]);
  expect([simulator.doneNs(right as never), simulator.busyNs(2)]).toEqual([15, 15]);
});

test("one that comes before the base in order is planned with it", () => {
  const calls: string[] = [];
  const simulator = simulatorOf(2, calls);
  chain(simulator, 0, 5);
  simulator.mark();
  const first = simulator.addOperator(0, 3, 0, 0, 0);
  expect(simulator.run()).toMatchObject({ outcome: "finished", makespanNs: 25, scoreNs: 3 });
  expect(simulator.doneNs(first)).toBe(3);
  simulator.rewind();
  simulator.addOperator(1, 2, 0, 9, 0);
  expect(simulator.run()).toMatchObject({ makespanNs: 22, scoreNs: 2 });
});

test("out of memory on an accelerator far away stops the candidate at that time", () => {
  const simulator = simulatorOf(4, []);
  chain(simulator, 0, 0);
  const late = simulator.addOperator(2, 9, 0, 2, 0);
  const large = simulator.addOperator(3, 1, 0, 3, 0);
  simulator.addInput(large, simulator.addOutput(late, 1, false));
  simulator.addOutput(large, 2000, false);
  simulator.mark();
  const quick = simulator.addOperator(0, 1, 0, 4, 0);
  const slow = simulator.addOperator(0, 50, 0, 5, 0);
  expect(simulator.run()).toMatchObject({ outcome: "outOfMemory", makespanNs: 19, simulatedOperators: 3 });
  expect(simulator.outOfMemory()).toEqual({ accelerator: 3, atNs: 19, operator: 3, transfer: -1, bytesOver: 1001 });
  expect([simulator.doneNs(quick), simulator.startNs(slow), simulator.doneNs(slow)]).toEqual([8, 8, Number.NaN]);
});

test("transfers of a candidate that take a link wait for those of the base on it", () => {
  const simulator = simulatorOf(4, [], [1]);
  chain(simulator, 0, 0);
  const far = simulator.addTensor(2, 1, true);
  simulator.mark();
  const reader = simulator.addOperator(3, 1, 0, 9, 0);
  simulator.addInput(reader, far);
  simulator.run();
  // 2 > 3 from 0 to 10, then 0 > 1, which was an intent at 7.
  expect(simulator.transfers().map(({ startNs, doneNs }) => [startNs, doneNs])).toEqual([
    [10, 20],
    [0, 10],
  ]);
});

test("after a run that stopped early, times and bytes are those up to there", () => {
  const simulator = simulatorOf(2, []);
  chain(simulator, 0, 0);
  simulator.mark();
  const first = simulator.addOperator(0, 3, 0, 8, 0);
  const second = simulator.addOperator(0, 30, 0, 9, 0);
  expect(simulator.run({ abandonAboveScore: 11 }).outcome).toBe("abandoned");
  expect(simulator.doneNs(first)).toBe(10);
  expect(simulator.startNs(second)).toBe(10);
  expect(simulator.doneNs(second)).toBeNaN();
  expect(simulator.run()).toMatchObject({ outcome: "finished", scoreNs: 25 });
});

test("hundreds run at once, with a thousand waiting, and many become ready at one instant", () => {
  for (const accelerators of [40, 300]) {
    const simulator = simulatorOf(accelerators, []);
    const source = simulator.addOperator(0, 1, 0, 0, 0);
    const shared = simulator.addOutput(source, 1, false);
    for (let each = 1; each <= 2 * accelerators; each++) {
      const operator = simulator.addOperator(each % accelerators, 100 + ((each * 37) % 11), 0, 5000 - each, 0);
      if (each % accelerators === 0) simulator.addInput(operator, shared);
    }
    expect(simulator.run()).toMatchObject({ outcome: "finished", simulatedOperators: 2 * accelerators + 1 });
    for (let each = 1; each < accelerators; each++) {
      // The higher number was issued first.
      const [later, first] = [each, each + accelerators] as Parameters<Simulator["startNs"]>[0][];
      expect(simulator.startNs(first as never)).toBe(0);
      expect(simulator.startNs(later as never)).toBe(simulator.doneNs(first as never));
    }
  }
});

test("what never ends is abandoned by what else lasts, whether planned alone or with the base", () => {
  const outcomes = [false, true].flatMap((isMore) => {
    const simulator = simulatorOf(2, []);
    simulator.addOperator(1, 100, 0, 0, 0);
    simulator.mark();
    const operator = simulator.addOperator(0, 5, 0, 8, 0);
    // It waits for its own output.
    simulator.addInput(operator, simulator.addOutput(operator, 1, false));
    // Said of one that misses an input it has no effect, but makes it more than an overlay.
    if (isMore) simulator.setReadySince(operator, 0);
    return [99, 100].map((abandonAboveScore) => simulator.run({ abandonAboveScore }).outcome);
  });
  expect(outcomes).toEqual(["abandoned", "standstill", "abandoned", "standstill"]);
});
