/**
 * How long the master keeps the event loop to itself: every call of the application and every event of the executor is timed alone,
 * with many operators in the graph, most of them waiting for memory. Milliseconds of processor time.
 */
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate, type PartitionSpec } from "@slicescheduler/gmg";
import { SliceScheduler } from "slicescheduler";
import type { Measure } from "../measurement.ts";

const ACCELERATORS = 64;
const OPERATORS = 10_000;
const OPERATORS_PER_INSTANCE = 8;
/** Of the memory of an accelerator, what a request claims on each that it lies on: few fit at a time. */
const CLAIM_SHARE = 0.06;
const HBM_BYTES = 64e9;
/** The master is idle again after so long at the latest, and the loop has its turn. */
const BOUND_MS = 50;

export const measure: Measure = () => {
  const cold = timedRun();
  const warm = timedRun();
  const words = (name: string, { p50, p99, max }: Quantiles) =>
    `${name}: p50 ${p50.toFixed(3)}, p99 ${p99.toFixed(3)}, longest ${max.toFixed(2)} ms`;
  return {
    text: [
      `${ACCELERATORS} accelerators, ${OPERATORS} operators in the graph, ${warm.partitions} partitions`,
      words("one submission", warm.submitMs),
      words("one event of the executor", warm.eventMs),
      `the longest of a first, cold run: ${Math.max(cold.submitMs.max, cold.eventMs.max).toFixed(2)} ms (bound: ${BOUND_MS} ms)`,
    ].join("\n"),
    json: { accelerators: ACCELERATORS, operators: OPERATORS, boundMs: BOUND_MS, cold, warm },
  };
};

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

function timedRun() {
  const time = new SimulatedTime();
  const names = Array.from({ length: ACCELERATORS }, (_, i) => `a${i}`);
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 10e6, operatorCv: 0.01 });
  const accelerators = names.map((name) => ({ name, kind: "demo", hbmBytes: HBM_BYTES }));
  const scheduler = new SliceScheduler({
    cluster: { accelerators, defaultLink: { latencyNs: 20_000, bytesPerSecond: 12e9 } },
    executor,
  });
  const spec = pass(names);
  const template = scheduler.register(spec);
  const submitMs: number[] = [];
  const eventMs: number[] = [];
  for (let i = 0; i < OPERATORS / OPERATORS_PER_INSTANCE; i++) {
    const priority = i % 4 === 0 ? "online" : "offline";
    submitMs.push(
      msOf(() => scheduler.submit(template, { symbols: { n: Math.round(CLAIM_SHARE * HBM_BYTES) }, priority })),
    );
  }
  for (let more = true; more; ) eventMs.push(msOf(() => (more = time.step())));
  const { operatorsDone, rounds } = scheduler.stats();
  scheduler.close();
  return {
    partitions: spec.partitions.length,
    operatorsDone,
    rounds,
    submitMs: quantiles(submitMs),
    eventMs: quantiles(eventMs),
  };
}

/** Pairs and quads of consecutive accelerators. */
function pass(names: readonly string[]) {
  const operators = Array.from({ length: OPERATORS_PER_INSTANCE }, (_, i) => ({
    name: `layers${i}`,
    inputs: i === 0 ? [] : [`layers${i - 1}.hidden`],
    outputs: {
      hidden: { shape: [8192], dtype: "uint8" as const },
      kv: { shape: ["n"], dtype: "uint8" as const },
    },
  }));
  const groups = (size: number): PartitionSpec[] =>
    Array.from({ length: ACCELERATORS / size }, (_, group) => ({
      name: `group${size}-${group}`,
      accelerators: names.slice(group * size, (group + 1) * size),
      layout: operators.map((_operator, i) => Math.floor((i * size) / OPERATORS_PER_INSTANCE)),
    }));
  return defineTemplate({
    name: "pass",
    symbols: ["n"],
    operators,
    outputs: { kv: operators.map(({ name }) => `${name}.kv`) },
    partitions: [...groups(2), ...groups(4)],
  });
}

/** Processor time, so that what else runs on the machine does not count; collecting garbage on other threads does. */
function msOf(work: () => void): number {
  const since = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

function quantiles(samples: readonly number[]): Quantiles {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? Number.NaN };
}
