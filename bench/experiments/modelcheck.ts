/**
 * Exhaustive search of small worlds: the real master, arbiter, executor core and ledgers through every order in which things can happen, for up to
 * three accelerators and four transfers; and planted faults, each of which must be found. Exits with 1 when a world breaks or a fault is missed.
 * `--seconds N` (default 170) and `--configurations N` end it early, and it says so; `--set few|default|all`; `--workers N`.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Arbiter } from "@slicescheduler/arbitration";
import {
  type Exploration,
  explore,
  MODEL_PLANTS,
  modelPlants,
  plantedWorld,
  smallWorldOf,
  type WorldSet,
  worldChoices,
} from "@slicescheduler/testing";
import type { Measure } from "../measurement.ts";

const SECONDS = 170;
/** Worlds that break: told in full, and listed. */
const TOLD_MAX = 5;
const VIOLATED_MAX = 100;
/** Milliseconds between two lines on stderr. */
const TELL_EVERY_MS = 5_000;

interface Share {
  readonly kind: "modelcheck";
  readonly set: WorldSet;
  readonly configurations: number;
  /** By the clock of this host, in milliseconds. */
  readonly untilMs: number;
  /** One number: the next world. Threads take from it in turn, so that none waits for another. */
  readonly next: SharedArrayBuffer;
}

await serve();

export const measure: Measure = async (args) => {
  const { seconds: secondsMax, set, workers, ...options } = readOptions(args);
  const total = worldChoices(set).length;
  const configurations = Math.min(total, options.configurations ?? total);
  const beginNs = process.hrtime.bigint();
  const untilMs = Date.now() + 1000 * secondsMax;
  const planted = modelPlants().map((plant) => ({ plant, ...explore(plantedWorld(plant), { newArbiter }) }));
  const share = { kind: "modelcheck" as const, set, configurations, untilMs, next: new SharedArrayBuffer(4) };
  const explored: Exploration[] = [];
  const threads = Array.from({ length: workers }, () => runThread(share, (it) => explored.push(it)));
  const timer = setInterval(() => tellProgress(explored, configurations), TELL_EVERY_MS);
  await Promise.all(threads).finally(() => clearInterval(timer));
  const seconds = Number(process.hrtime.bigint() - beginNs) / 1e9;
  const { user, system } = process.cpuUsage();
  const json = summary(explored, planted, { set, total, seconds, cpuSeconds: (user + system) / 1e6, workers });
  if (json.violations > 0 || json.plantedFound < json.plantedTotal) process.exitCode = 1;
  return { text: textOf(json, explored, planted), json };
};

function newArbiter(...[topology, options]: ConstructorParameters<typeof Arbiter>): Arbiter {
  return new Arbiter(topology, options);
}

/** In a thread that `runThread` started, searches one world after the other; anywhere else, nothing. */
async function serve(): Promise<void> {
  const share: Share | null = workerData;
  if (isMainThread || parentPort === null || share?.kind !== "modelcheck") return;
  const choices = worldChoices(share.set);
  const next = new Int32Array(share.next);
  const isTimeUp = () => Date.now() >= share.untilMs;
  for (let at = Atomics.add(next, 0, 1); at < share.configurations && !isTimeUp(); at = Atomics.add(next, 0, 1)) {
    const choice = choices[at];
    if (choice !== undefined) parentPort.postMessage(explore(smallWorldOf(choice), { newArbiter, isTimeUp }));
  }
}

function runThread(share: Share, onExplored: (exploration: Exploration) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: share });
    worker.on("message", onExplored);
    worker.once("error", reject);
    worker.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`a thread ended with ${code}`))));
  });
}

function tellProgress(explored: readonly Exploration[], configurations: number): void {
  const states = sumOf(explored, "states");
  process.stderr.write(`${explored.length} of ${configurations} worlds, ${states} states\n`);
}

type Planted = Exploration & { readonly plant: keyof typeof MODEL_PLANTS };

interface Run {
  readonly set: WorldSet;
  readonly total: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly workers: number;
}

function summary(explored: readonly Exploration[], planted: readonly Planted[], run: Run) {
  const { set, total, seconds, cpuSeconds, workers } = run;
  const finished = explored.filter(({ complete, found }) => complete && found === null);
  const violated = explored.flatMap(({ world, found }) => (found === null ? [] : [{ world, ...found.violation }]));
  const states = sumOf(explored, "states");
  return {
    set,
    /** Searched to the end without finding anything. */
    configurations: finished.length,
    configurationsOfSet: total,
    /** Not reached, or cut off, within the time. Worlds that break are told under `violated`. */
    notSearched: total - finished.length - violated.length,
    /** Every state of every world of the set was looked at, and nothing was found. */
    complete: finished.length === total,
    states,
    transitions: sumOf(explored, "transitions"),
    ends: sumOf(explored, "ends"),
    movesMax: explored.reduce((most, { depth }) => Math.max(most, depth), 0),
    statesMax: explored.reduce((most, it) => Math.max(most, it.states), 0),
    machineStates: sumOf(explored, "machineStates"),
    machineSteps: sumOf(explored, "machineSteps"),
    machineInputs: sumOf(explored, "machineInputs"),
    statesCompared: sumOf(explored, "compared"),
    violations: violated.length,
    violated: violated.slice(0, VIOLATED_MAX),
    plantedFound: planted.filter(({ found }) => found !== null).length,
    plantedTotal: planted.length,
    planted: planted.map(({ plant, world, found, states: looked, moves }) => ({
      plant,
      world,
      kind: found?.violation.kind ?? null,
      words: found?.violation.words ?? null,
      moves,
      states: looked,
    })),
    seconds: round(seconds),
    cpuSeconds: round(cpuSeconds),
    statesPerSecond: Math.round(states / seconds),
    statesPerCpuSecond: Math.round(states / cpuSeconds),
    workers,
  };
}

function textOf(
  json: ReturnType<typeof summary>,
  explored: readonly Exploration[],
  planted: readonly Planted[],
): string {
  const lines = [
    `${json.configurations} of ${json.configurationsOfSet} worlds searched to the end in ${json.seconds} s (${json.cpuSeconds} s of processor, ${json.workers} threads): ` +
      `${json.notSearched === 0 ? "none" : json.notSearched} left out (--seconds, --configurations)`,
    `states ${json.states}, transitions ${json.transitions}, ends ${json.ends}; at most ${json.statesMax} states in a world, ${json.movesMax} moves deep`,
    `the real machines: ${json.machineStates} states, ${json.machineSteps} moves, ${json.machineInputs} inputs given; ${json.statesCompared} second ways compared`,
    `violations ${json.violations}; planted faults found ${json.plantedFound} of ${json.plantedTotal}`,
  ];
  for (const { world, found } of explored.filter((it) => it.found !== null).slice(0, TOLD_MAX))
    lines.push("", `FOUND in ${world}`, ...(found?.story ?? []));
  for (const { plant, world, found, moves } of planted) {
    lines.push("", `planted: ${MODEL_PLANTS[plant]} (${world})`);
    lines.push(
      ...(found === null ? ["NOT FOUND"] : [`found after ${moves} moves, and no fewer lead to it:`, ...found.story]),
    );
  }
  return lines.join("\n");
}

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string" },
      configurations: { type: "string" },
      set: { type: "string" },
      workers: { type: "string" },
    },
  });
  const { set = "default" } = values;
  if (set !== "few" && set !== "default" && set !== "all")
    throw new RangeError(`--set ${set}: there is no such set; there are few, default, all`);
  return {
    set: set as WorldSet,
    seconds: whole("seconds", values.seconds) ?? SECONDS,
    configurations: whole("configurations", values.configurations),
    workers: Math.max(1, whole("workers", values.workers) ?? availableParallelism()),
  };
}

function whole(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`--${name} ${text}: give a whole number from 0`);
  return value;
}

function sumOf(
  explored: readonly Exploration[],
  field: "states" | "transitions" | "ends" | "machineStates" | "machineSteps" | "machineInputs" | "compared",
): number {
  return explored.reduce((sum, it) => sum + it[field], 0);
}

function round(value: number): number {
  return Math.round(100 * value) / 100;
}
