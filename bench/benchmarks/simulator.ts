/** Operators simulated per millisecond on W1, all rules on: what `run` takes, and declaring the problem apart from it. */
import { type SimTensor, Simulator } from "@slicescheduler/simulator";
import { Bench } from "tinybench";
import type { Measure } from "../measurement.ts";
import { type W1, W1_LINK, w1 } from "../w1.ts";

/** One small input in a row flatters: the processor learns its branches by heart. */
const SEEDS = [1, 2, 3, 4, 5];
const OPERATORS_PER_REQUEST = 64;

export const measure: Measure = async (args) => {
  const operators = args.includes("--long") ? [10_000, 100_000] : [10_000];
  const cases: Record<string, unknown> = {};
  const lines: string[] = [];
  for (const accelerators of [8, 64]) {
    for (const count of operators) {
      const name = `${accelerators}x${count / 1000}k`;
      const result = await measureCase(accelerators, Math.ceil(count / OPERATORS_PER_REQUEST));
      cases[name] = result;
      lines.push(
        `W1 ${name}: ${result.opsPerMs} operators/ms (median), declaring ${result.declaredPerMs} operators/ms`,
      );
    }
  }
  lines.push("For comparison, the paper: 177 operators/ms, on its machine and its workload.");
  return { text: lines.join("\n"), json: { cases } };
};

async function measureCase(accelerators: number, requests: number) {
  const problems = SEEDS.map((seed) => w1(accelerators, requests, seed));
  const simulators = problems.map(() => newSimulator(accelerators));
  const operators = problems.reduce((sum, it) => sum + it.operators.length, 0);
  const declareAll = () => {
    for (const [index, simulator] of simulators.entries()) declare(simulator, problems[index] as W1);
  };
  declareAll();
  let makespanNs = 0;
  const bench = new Bench({ time: 1500, warmupTime: 500 });
  bench.add("run", () => {
    makespanNs = 0;
    for (const simulator of simulators) makespanNs += simulator.run().makespanNs;
  });
  bench.add("declare", declareAll);
  const [run, declared] = (await bench.run()).map(({ name, result }) => {
    if (result.state !== "completed") throw new Error(`${name} was not measured`);
    return Math.round(operators / result.latency.p50);
  });
  return { opsPerMs: run ?? 0, declaredPerMs: declared ?? 0, makespanNs };
}

function newSimulator(accelerators: number): Simulator {
  const { latencyNs, bytesPerSecond } = W1_LINK;
  return new Simulator({
    topology: {
      accelerators,
      portCapacity: new Array<number>(accelerators).fill(1),
      // W1 has one link per pair and direction, which is what the ports of its two accelerators amount to.
      linkCapacity: [],
      route: () => [],
    },
    transferNs: (_source, _destination, bytes) => latencyNs + Math.ceil((bytes / bytesPerSecond) * 1e9),
  });
}

function declare(simulator: Simulator, { accelerators, operators }: W1): void {
  simulator.begin(0, new Array(accelerators).fill({ capacityBytes: 141e9, fixedBytes: 0 }));
  const outputs: SimTensor[] = [];
  for (const [issueNumber, { accelerator, durationNs, outputBytes, input }] of operators.entries()) {
    const operator = simulator.addOperator(accelerator, durationNs, 0, issueNumber, 0);
    if (input >= 0) simulator.addInput(operator, outputs[input] as SimTensor);
    outputs.push(simulator.addOutput(operator, outputBytes, false));
  }
}
