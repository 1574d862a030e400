/** The scenarios of a range of seeds, on several threads; what comes out does not depend on how many. */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import {
  judgeSmallCase,
  type Plant,
  runSafety,
  type SafetyCounts,
  type SafetyReport,
  type SmallCaseReport,
  safetyWorld,
} from "@slicescheduler/testing";

/** Every so many-th of the seeds from `from` on, beginning with the `offset`-th. */
interface Share {
  readonly kind: "safety";
  readonly offset: number;
  readonly every: number;
  readonly from: number;
  readonly scenarios: number;
  readonly cases: number;
  readonly plant: Plant | null;
  readonly predicted: boolean;
}

interface Done {
  readonly reports: readonly [number, SafetyReport][];
  readonly cases: readonly [number, SmallCaseReport][];
}

export interface Tally {
  readonly scenarios: number;
  readonly counts: Record<keyof SafetyCounts, number>;
  readonly outcomes: Record<keyof SafetyReport["outcomes"], number>;
  operatorsDone: number;
  transfersDone: number;
  acceleratorsLost: number;
  standstillsTold: number;
  /** Scenarios in which an instance waited for memory, and in which an accelerator was more than nine tenths full. */
  waitedForMemory: number;
  nearlyFull: number;
  /** By seed. */
  readonly violated: { readonly seed: number; readonly violations: readonly string[] }[];
  /** Equal for equal runs. */
  digest: number;
  /** Sums over the small cases that a search over all orders judged too, and the seeds of those it found unsafe. */
  readonly cases: Record<keyof SmallCaseReport, number> & { readonly unsafeSeeds: readonly number[] };
}

/** Violations told in full; a broken run breaks everywhere. */
const TOLD_MAX = 20;

interface Swarm {
  readonly from: number;
  readonly scenarios: number;
  readonly cases: number;
  readonly plant: Plant | null;
  /** Whether memory is only predicted to suffice. */
  readonly predicted: boolean;
  readonly workers: number;
  /** The file whose threads call `serveSwarm`. */
  readonly file: URL;
}

export async function runSwarm({ from, scenarios, cases, plant, predicted, workers, file }: Swarm): Promise<Tally> {
  const threads = Array.from({ length: workers }, (_, offset) =>
    runThread(file, { kind: "safety", offset, every: workers, from, scenarios, cases, plant, predicted }),
  );
  const done = await Promise.all(threads);
  const reports = new Map(done.flatMap((it) => it.reports));
  const judged = new Map(done.flatMap((it) => it.cases));
  return { ...tally(from, scenarios, reports), cases: casesOf(from, cases, judged) };
}

/** In a thread that `runSwarm` started, does its share; anywhere else, nothing. */
export async function serveSwarm(): Promise<void> {
  const share: Share | null = workerData;
  if (isMainThread || parentPort === null || share?.kind !== "safety") return;
  const { offset, every, from, scenarios, cases, plant, predicted } = share;
  const memorySafety = predicted ? "predicted" : "guaranteed";
  const reports: [number, SafetyReport][] = [];
  const judged: [number, SmallCaseReport][] = [];
  for (let seed = from + offset; seed < from + scenarios; seed += every) {
    reports.push([seed, await runSafety({ ...safetyWorld(seed), plant, memorySafety })]);
  }
  for (let seed = from + offset; seed < from + cases; seed += every) judged.push([seed, judgeSmallCase(seed)]);
  parentPort.postMessage({ reports, cases: judged } satisfies Done);
}

function runThread(file: URL, share: Share): Promise<Done> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(file, { workerData: share });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`a thread ended with ${code} before it had done its share`)));
  });
}

function casesOf(from: number, count: number, judged: ReadonlyMap<number, SmallCaseReport>): Tally["cases"] {
  const unsafeSeeds: number[] = [];
  const sum = {
    requests: 0,
    started: 0,
    refusedAtBorder: 0,
    refusedToStart: 0,
    feasibleAtBorder: 0,
    feasibleToStart: 0,
    undecided: 0,
    unsafe: 0,
  };
  for (let seed = from; seed < from + count; seed++) {
    const report = judged.get(seed);
    if (report === undefined) throw new Error(`nobody judged case ${seed}`);
    for (const key of keysOf(sum)) sum[key] += report[key];
    if (report.unsafe > 0) unsafeSeeds.push(seed);
  }
  return { ...sum, unsafeSeeds };
}

function tally(from: number, scenarios: number, reports: ReadonlyMap<number, SafetyReport>): Omit<Tally, "cases"> {
  const sum: Omit<Tally, "cases"> = {
    scenarios,
    counts: { overCapacity: 0, standstills: 0, lost: 0, doubled: 0, leakedBytes: 0, broken: 0 },
    outcomes: { done: 0, failed: 0, cancelled: 0, refused: 0 },
    operatorsDone: 0,
    transfersDone: 0,
    acceleratorsLost: 0,
    standstillsTold: 0,
    waitedForMemory: 0,
    nearlyFull: 0,
    violated: [],
    digest: 0,
  };
  for (let seed = from; seed < from + scenarios; seed++) {
    const report = reports.get(seed);
    if (report === undefined) throw new Error(`nobody ran seed ${seed}`);
    const { counts, outcomes, violations, digest } = report;
    for (const kind of keysOf(counts)) sum.counts[kind] += counts[kind];
    for (const outcome of keysOf(outcomes)) sum.outcomes[outcome] += outcomes[outcome];
    sum.operatorsDone += report.operatorsDone;
    sum.transfersDone += report.transfersDone;
    sum.acceleratorsLost += report.acceleratorsLost;
    sum.standstillsTold += report.standstillsTold;
    sum.waitedForMemory += report.waitedForMemory ? 1 : 0;
    sum.nearlyFull += report.fullest > 0.9 ? 1 : 0;
    sum.digest = (Math.imul(sum.digest, 31) + digest) >>> 0;
    if (violations.length > 0) sum.violated.push({ seed, violations: violations.slice(0, TOLD_MAX) });
  }
  return sum;
}

function keysOf<Key extends string>(record: Readonly<Record<Key, number>>): Key[] {
  return Object.keys(record) as Key[];
}
