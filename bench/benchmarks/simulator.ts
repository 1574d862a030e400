/**
 * Operators simulated per millisecond on W1, all rules on and planned before, beside the yardstick's C++ programs run in the
 * same minute on the same files; that the results are theirs, to the bit; and what an operator costs at other sizes.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Simulator } from "@slicescheduler/simulator";
import type { Measure } from "../measurement.ts";
import { declareW1, OPERATORS_PER_REQUEST, type W1, type W1Options, w1, w1Simulator } from "../w1.ts";
import { hashesOf, Yardstick, type YardstickRun } from "../yardstick.ts";

/** One small input in a row flatters: the processor learns its branches by heart. */
const SEEDS = [1, 2, 3];
const OPERATORS_MEASURED = 2_000_000;

interface Case {
  readonly name: string;
  readonly accelerators: number;
  readonly operators: number;
  readonly options: W1Options;
}

const CASES: readonly Case[] = [
  { name: "w1-8-10k", accelerators: 8, operators: 10_000, options: {} },
  { name: "w1-8-100k", accelerators: 8, operators: 100_000, options: {} },
  { name: "w1-64-10k", accelerators: 64, operators: 10_000, options: {} },
  { name: "w1-64-100k", accelerators: 64, operators: 100_000, options: {} },
  { name: "w1-64-100k-kv", accelerators: 64, operators: 100_000, options: { kv: true } },
  { name: "w1-64-100k-het", accelerators: 64, operators: 100_000, options: { het: true } },
  { name: "w1-8-1M", accelerators: 8, operators: 1_000_000, options: {} },
];

export const measure: Measure = (args) => {
  const yardstick = Yardstick.build();
  const cases: Record<string, ReturnType<typeof measureCase>> = {};
  try {
    for (const it of CASES) {
      progress(it.name);
      cases[it.name] = measureCase(it, yardstick);
    }
  } finally {
    yardstick?.close();
  }
  const cost = args.includes("--no-cost") ? [] : costs();
  progress("the same workload");
  const sameWorkload = sameAsGenerated();
  const lines = Object.entries(cases).map(([name, it]) => lineOf(name, it));
  lines.push(
    ...cost.map(
      (it) =>
        `${it.accelerators} accelerators × ${it.operators} operators: ${it.nsPerOperator} ns per operator at best, ` +
        `${it.cpuNsPerOperator} ns of processor time on average`,
    ),
  );
  if (yardstick === null) lines.push(WHY_NO_RATIOS);
  lines.push("For comparison, the paper: 177 operators/ms, on its machine and its workload.");
  return {
    text: lines.join("\n"),
    json: {
      cases,
      whyNoRatios: yardstick === null ? WHY_NO_RATIOS : null,
      cost,
      sameWorkload,
      allocatedBytesPerOperator: allocation(),
    },
  };
};

function lineOf(name: string, it: ReturnType<typeof measureCase>): string {
  const ratios = [
    `straightforward C++ ${it.ratioToStraightforward} | ${it.bestRatioToStraightforward} | ${it.cpuRatioToStraightforward}`,
    `the C++ limit ${it.ratioToLimit} | ${it.bestRatioToLimit} | ${it.cpuRatioToLimit}`,
    `the limit with components apart ${it.ratioToLimitApart} | ${it.bestRatioToLimitApart} | ${it.cpuRatioToLimitApart}`,
  ];
  const compared =
    it.sameFinishes === null
      ? ""
      : ` × (median | best | processor time) ${ratios.join(", ")}; ends ${same(it.sameFinishes)}, peaks ${same(it.samePeaks)};`;
  return (
    `${name}: ${it.opsPerMs} operators/ms in the median, ${it.bestOpsPerMs} at best, ${it.opsPerCpuMs} by processor time;${compared} ` +
    `declaring and planning ${it.declaredPerMs} operators/ms`
  );
}

/** On stderr, so that stdout stays the result. */
const progress = (what: string) => process.stderr.write(`measuring ${what} …\n`);

const WHY_NO_RATIOS =
  "There are no ratios: the C++ programs were not built. They need ../shared/yardstick/limit.cpp and straightforward.cpp, seen from here, " +
  "and clang++ or g++ that compiles them with -O3 -march=native.";

const same = (it: boolean | null) => (it === true ? "as theirs" : "DIFFERENT");

function measureCase({ accelerators, operators, options }: Case, yardstick: Yardstick | null) {
  const requests = Math.ceil(operators / OPERATORS_PER_REQUEST);
  const seeds = operators >= 1e6 ? SEEDS.slice(0, 1) : SEEDS;
  const workloads = seeds.map((seed) => w1(accelerators, requests, seed, options));
  const count = workloads.length * requests * OPERATORS_PER_REQUEST;
  const simulators = workloads.map(() => w1Simulator(accelerators, false));
  const begun = performance.now();
  for (const [index, simulator] of simulators.entries()) {
    declareW1(simulator, workloads[index] as W1);
    simulator.run();
  }
  const declaredPerMs = Math.round(count / (performance.now() - begun));
  const repetitions = Math.max(7, Math.ceil(OPERATORS_MEASURED / count));
  const ours = () => timeRuns(simulators, repetitions);
  if (yardstick === null) {
    return { ...ratesOf(count, ours()), ...NOTHING_TO_COMPARE, declaredPerMs };
  }
  const files = workloads.map((it) => yardstick.write(it));
  // Before and after, so that a machine that gets busier or calmer on the way counts for both.
  const before = ours();
  const limit = yardstick.limit(files, repetitions);
  const limitApart = yardstick.limit(files, repetitions, true);
  const straightforward = meanOf(files.map((file) => yardstick.straightforward(file, repetitions)));
  const after = ours();
  const medianMs = Math.min(before.medianMs, after.medianMs);
  const bestMs = Math.min(before.bestMs, after.bestMs);
  const cpuMs = Math.min(before.cpuMs, after.cpuMs);
  const rates = ratesOf(count, { medianMs, bestMs, cpuMs });
  const { opsPerMs, bestOpsPerMs } = rates;
  return {
    ...rates,
    ratioToStraightforward: ratio(opsPerMs, straightforward.opsPerMs),
    ratioToLimit: ratio(opsPerMs, limit.opsPerMs),
    /** Over the limit with components apart, as they are here. */
    ratioToLimitApart: ratio(opsPerMs, limitApart.opsPerMs),
    bestRatioToStraightforward: ratio(bestOpsPerMs, straightforward.bestOpsPerMs),
    bestRatioToLimit: ratio(bestOpsPerMs, limit.bestOpsPerMs),
    bestRatioToLimitApart: ratio(bestOpsPerMs, limitApart.bestOpsPerMs),
    /** The same by processor time: the measure for a machine with other work. */
    cpuRatioToStraightforward: ratio(straightforward.cpuMs, cpuMs),
    cpuRatioToLimit: ratio(limit.cpuMs, cpuMs),
    cpuRatioToLimitApart: ratio(limitApart.cpuMs, cpuMs),
    ...sameResults(workloads[0] as W1, yardstick, files[0] as string),
    declaredPerMs,
  };
}

function ratesOf(operators: number, { medianMs, bestMs, cpuMs }: ReturnType<typeof timeRuns>) {
  const rate = (ms: number) => Math.round(operators / ms);
  return { opsPerMs: rate(medianMs), bestOpsPerMs: rate(bestMs), opsPerCpuMs: rate(cpuMs) };
}

/** Of a program that takes one file at a time: mean rates, and processor time for all of them. */
function meanOf(runs: readonly YardstickRun[]): Pick<YardstickRun, "opsPerMs" | "bestOpsPerMs" | "cpuMs"> {
  const sum = (each: (run: YardstickRun) => number) => runs.reduce((total, run) => total + each(run), 0);
  return {
    opsPerMs: sum((run) => run.opsPerMs) / runs.length,
    bestOpsPerMs: sum((run) => run.bestOpsPerMs) / runs.length,
    cpuMs: sum((run) => run.cpuMs),
  };
}

/** Without a compiler or the yardstick. */
const NOTHING_TO_COMPARE = {
  ratioToStraightforward: null,
  ratioToLimit: null,
  ratioToLimitApart: null,
  bestRatioToStraightforward: null,
  bestRatioToLimit: null,
  bestRatioToLimitApart: null,
  cpuRatioToStraightforward: null,
  cpuRatioToLimit: null,
  cpuRatioToLimitApart: null,
  sameFinishes: null,
  samePeaks: null,
};

const ratio = (a: number, b: number) => Math.round((100 * a) / b) / 100;

/** `cpuMs` is the mean time on the processor, which others on the machine lengthen through its caches only. */
function timeRuns(simulators: readonly Simulator[], repetitions: number) {
  const times: number[] = [];
  let cpu = process.cpuUsage();
  for (let repetition = 0; repetition < repetitions + 2; repetition++) {
    if (repetition === 2) cpu = process.cpuUsage();
    const begun = performance.now();
    for (const simulator of simulators) simulator.run();
    if (repetition >= 2) times.push(performance.now() - begun);
  }
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  return {
    medianMs: times[times.length >> 1] as number,
    bestMs: times[0] as number,
    cpuMs: (user + system) / 1000 / repetitions,
  };
}

/** Under W1's plain rules, on durations rounded to whole ns for both. */
function sameResults(workload: W1, yardstick: Yardstick, file: string) {
  const simulator = w1Simulator(workload.accelerators, true);
  const outputs = declareW1(simulator, workload);
  simulator.run();
  const ours = hashesOf(simulator, workload, outputs);
  const theirs = yardstick.straightforward(file, 1);
  return { sameFinishes: ours.finishHash === theirs.finishHash, samePeaks: ours.peakHash === theirs.peakHash };
}

/** From 1,000 to 1,000,000 operators, and from 8 to 1,024 accelerators. */
function costs() {
  const sizes: [number, number][] = [1e3, 1e4, 1e5, 1e6].map((operators) => [64, operators]);
  sizes.push(...[8, 256, 1024].map((accelerators): [number, number] => [accelerators, 1e5]));
  return sizes.map(([accelerators, operators]) => {
    progress(`${accelerators} accelerators × ${operators} operators`);
    const requests = Math.ceil(operators / OPERATORS_PER_REQUEST);
    const simulator = w1Simulator(accelerators, false);
    declareW1(simulator, w1(accelerators, requests, 1));
    const repetitions = Math.max(5, Math.ceil(OPERATORS_MEASURED / 2 / operators));
    const { bestMs, cpuMs } = timeRuns([simulator], repetitions);
    const count = requests * OPERATORS_PER_REQUEST;
    const perOperator = (ms: number) => Math.round((1e6 * ms) / count);
    return { accelerators, operators: count, nsPerOperator: perOperator(bestMs), cpuNsPerOperator: perOperator(cpuMs) };
  });
}

/**
 * Heap per operator of runs that are planned, the least of several, so that a collection in between does not count. The event loop takes
 * none: what is left is the results of the runs.
 */
function allocation(): number {
  const workload = w1(64, 1600, 1);
  const simulator = w1Simulator(64, false);
  declareW1(simulator, workload);
  const runs = 10;
  const grown: number[] = [];
  for (let sample = 0; sample < 9; sample++) {
    const before = process.memoryUsage().heapUsed;
    for (let run = 0; run < runs; run++) simulator.run();
    grown.push(process.memoryUsage().heapUsed - before);
  }
  const least = Math.min(...grown.filter((it) => it >= 0));
  return Math.round((10_000 * least) / runs / workload.operators.length) / 10_000;
}

/** Whether w1.mjs of the yardstick makes the same workload, durations rounded; null where it is not there. */
function sameAsGenerated(): boolean | null {
  const generator = resolve("..", "shared", "yardstick", "w1.mjs");
  if (!existsSync(generator)) return null;
  const folder = mkdtempSync(join(tmpdir(), "w1-"));
  try {
    return [[], ["--kv"], ["--het"]].every((flags) => {
      const path = join(folder, "generated.w1");
      spawnSync(process.execPath, [generator, "8", "40", path, "--seed=7", ...flags], { stdio: "ignore" });
      return durationsAgree(readFileSync(path), w1(8, 40, 7, { kv: flags[0] === "--kv", het: flags[0] === "--het" }));
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Durations and accelerators of the operators in a file, transfers left out. */
function durationsAgree(file: Buffer, { accelerators, operators }: W1): boolean {
  const bytes = new Uint8Array(file).buffer;
  const header = new Int32Array(bytes, 0, 16);
  const [, , , nodes = 0, edges = 0, models = 0] = header;
  const ints = 16 + 3 * nodes + 2 * (nodes + 1) + 2 * edges;
  const resource = new Int32Array(bytes, 64, nodes);
  const model = new Int32Array(bytes, 64 + 4 * nodes, nodes);
  const floats = new Float64Array(bytes, 4 * (ints + (ints & 1)));
  const found: string[] = [];
  for (let node = 0; node < nodes; node++) {
    if ((resource[node] as number) >= accelerators) continue;
    const at = 2 * nodes + (model[node] as number);
    const ms = (floats[at] as number) + (floats[at + models] as number) * (floats[node] as number);
    found.push(`${resource[node]} ${Math.round(1e6 * ms)} ${floats[nodes + node]}`);
  }
  const expected = operators.map((it) => `${it.accelerator} ${it.durationNs} ${it.outputBytes + it.cacheBytes}`);
  return found.length === expected.length && found.every((line, index) => line === expected[index]);
}
