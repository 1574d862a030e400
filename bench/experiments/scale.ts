/**
 * Real rounds of the real master on ever larger clusters (paper §5.5). Simulated time, the host's time of each round measured.
 * Timeliness is what an accelerator executes during a round ÷ what the round schedules, with the paper's g = 10.575 ms.
 */
import { parseArgs } from "node:util";
import { colocationCluster, percentiles, replay } from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";
import { loadFor } from "./scale/load.ts";
import { RoundClock } from "./scale/round-clock.ts";

const SIZES = [8, 64, 256, 1024];
/** Of a decode operator: the shortest there are. */
const OPERATOR_MS = 10.575;
/** Accelerator-seconds replayed at each size, so that all have about as many rounds; at least so many seconds. */
const ACCELERATOR_SECONDS = 3072;
const SECONDS_MIN = 4;

export const measure: Measure = (args) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sizes: { type: "string", default: SIZES.join(",") },
      seed: { type: "string", default: "1" },
      seconds: { type: "string" },
    },
  });
  const seed = whole("seed", values.seed);
  const seconds = values.seconds === undefined ? null : whole("seconds", values.seconds);
  const points = values.sizes.split(",").map((size) => {
    const point = pointOf(whole("sizes", size), seconds, seed);
    // The large sizes take their time: what is known is told at once.
    process.stderr.write(`${HEADER}\n${line(point)}\n`);
    return point;
  });
  const text = [
    HEADER,
    ...points.map(line),
    `paper: t = (N·l + 1)/(s·g) = 0.1 at N = 62 accelerators; wanted t ≤ 0.1 up to 1024`,
  ].join("\n");
  return { text, json: { seed, points } };
};

const HEADER =
  "accelerators  candidates  rounds   round µs p50 / p99 / mean   placing µs p50 / p99   simulated/round  timeliness  scheduler busy";

function line(it: ReturnType<typeof pointOf>): string {
  const of = (time: { p50: number; p99: number }): string => `${time.p50.toFixed(0)} / ${time.p99.toFixed(0)}`;
  const round = `${of(it.roundUs)} / ${it.roundUs.mean.toFixed(0)}`;
  const share = `${(100 * it.schedulerBusy).toFixed(1)} %`;
  return (
    `${it.accelerators}`.padStart(12) +
    `${it.candidates}`.padStart(12) +
    `${it.rounds}`.padStart(8) +
    round.padStart(28) +
    of(it.placingUs).padStart(23) +
    it.operatorsSimulated.toFixed(1).padStart(18) +
    it.timeliness.toFixed(4).padStart(12) +
    share.padStart(16)
  );
}

function pointOf(accelerators: number, seconds: number | null, seed: number) {
  const windowNs = (seconds ?? Math.max(SECONDS_MIN, ACCELERATOR_SECONDS / accelerators)) * 1e9;
  const { online, offline } = loadFor(accelerators, windowNs, seed);
  // A third to fill the cluster; the drain does not count either.
  const clock = new RoundClock(windowNs / 3, windowNs, () => Number(process.hrtime.bigint()));
  const outcome = replay({
    cluster: colocationCluster({ accelerators }),
    policy: "slicescheduler",
    online,
    offline,
    seed,
    scheduling: { policy: clock.policy },
    hostNowNs: clock.hostNowNs,
  });
  const rounds = sum(clock.timed.map((it) => it.rounds));
  const hostNs = sum(clock.timed.map((it) => it.hostNs));
  const operatorsPerRound = sum(clock.timed.map((it) => it.operators)) / rounds;
  const meanUs = hostNs / rounds / 1e3;
  const perRoundUs = clock.timed.map((it) => it.hostNs / it.rounds / 1e3);
  const placing = clock.timed.filter((it) => it.candidates > 1).map((it) => it.hostNs / it.rounds / 1e3);
  const none = { p50: 0, p90: 0, p99: 0 };
  return {
    accelerators,
    candidates: Math.max(...clock.timed.map((it) => it.candidates)),
    rounds,
    roundUs: { ...(percentiles(perRoundUs) ?? none), mean: meanUs },
    /** Of events with a choice among candidates: a request gets its place. */
    placingUs: percentiles(placing) ?? none,
    timeliness: meanUs / 1e3 / OPERATOR_MS / operatorsPerRound,
    /** As if each round scheduled one operator, as the paper's formula has it. */
    timelinessOneOperator: meanUs / 1e3 / OPERATOR_MS,
    operatorsPerRound,
    operatorsSimulated: outcome.simulatedOperators / Math.max(1, outcome.rounds),
    /** Time in rounds ÷ simulated time: above 1 the scheduler would fall behind a real cluster. */
    schedulerBusy: hostNs / ((windowNs * 2) / 3),
    utilization: sum(outcome.accelerators.map((it) => it.utilization)) / accelerators,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 1)
    throw new RangeError(`--${name} ${text}: give whole numbers from 1`);
  return value;
}
