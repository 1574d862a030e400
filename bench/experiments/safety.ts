/**
 * Memory safety by swarm: thousands of small worlds that try to break it, counts of what broke, and how often the guarantee
 * refuses what an exhaustive search proves safe. Exits with 1 when anything broke; `--plant NAME` breaks it on purpose.
 */
import { PLANTS, runSafety, safetyWorld } from "@slicescheduler/testing";
import type { Measure } from "../measurement.ts";
import { describeWorld } from "./safety/describe-world.ts";
import { readOptions, type SafetyOptions } from "./safety/options.ts";
import { runSwarm, serveSwarm, type Tally } from "./safety/swarm.ts";

const SCENARIOS_TOLD_MAX = 5;

await serveSwarm();

export const measure: Measure = async (args) => {
  const options = readOptions(args);
  if (options.seed !== null) return replay(options.seed, options);
  const beginNs = process.hrtime.bigint();
  const tally = await runSwarm({ ...options, file: new URL(import.meta.url) });
  const seconds = Number(process.hrtime.bigint() - beginNs) / 1e9;
  const { user, system } = process.cpuUsage();
  const cpuSeconds = (user + system) / 1e6;
  const { counts, violated, cases, ...rest } = tally;
  const failed = cases.unsafe > 0 || Object.values(counts).some((count) => count > 0);
  if (failed) process.exitCode = 1;
  const { plant, workers } = options;
  const refusedFeasible = refusedFeasibleOf(tally);
  return {
    text: textOf(tally, options, { seconds, cpuSeconds }),
    json: {
      ...counts,
      ...rest,
      plant,
      workers,
      seconds: round(seconds),
      cpuSeconds: round(cpuSeconds),
      refusedFeasible,
      cases,
      violated,
    },
  };
};

/** Of what was refused, how much no order could have taken over a capacity or kept from its end. */
function refusedFeasibleOf({ cases }: Tally) {
  const of = cases.refusedAtBorder + cases.refusedToStart;
  const count = cases.feasibleAtBorder + cases.feasibleToStart;
  return { count, of, rate: round(count / Math.max(1, of)), ofRequests: cases.requests, undecided: cases.undecided };
}

async function replay(seed: number, { plant, predicted }: SafetyOptions): Promise<Awaited<ReturnType<Measure>>> {
  const world = safetyWorld(seed);
  const report = await runSafety({
    ...world,
    plant,
    memorySafety: predicted ? "predicted" : "guaranteed",
    validate: true,
  });
  const failed = report.violations.length > 0;
  if (failed) process.exitCode = 1;
  const found = failed ? report.violations.map((violation) => `  ${violation}`) : ["  nothing broke"];
  const text = [`seed ${seed}${plantWords(plant)}`, describeWorld(world), "found:", ...found].join("\n");
  return { text, json: { seed, plant, ...report, world: { ...world } } };
}

interface Took {
  readonly seconds: number;
  /** Of all threads; what a machine takes that has other things to do as well. */
  readonly cpuSeconds: number;
}

function textOf(tally: Tally, options: SafetyOptions, took: Took): string {
  const { counts, outcomes, scenarios, violated } = tally;
  const each = (record: Readonly<Record<string, number>>) =>
    Object.entries(record)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  const share = (count: number) => `${Math.round((100 * count) / Math.max(1, scenarios))} %`;
  const lines = [
    `${scenarios} scenarios in ${took.seconds.toFixed(1)} s (${took.cpuSeconds.toFixed(1)} s of processor) on ${options.workers} threads${plantWords(options.plant)}, digest ${tally.digest}`,
    `broken promises: ${each(counts)}`,
    `instances: ${each(outcomes)}; operators done ${tally.operatorsDone}, transfers ${tally.transfersDone}, accelerators lost ${tally.acceleratorsLost}, standstills told ${tally.standstillsTold}`,
    `somebody waited for memory in ${share(tally.waitedForMemory)} of them, an accelerator was nearly full in ${share(tally.nearlyFull)}`,
  ];
  if (options.cases > 0) {
    const { count, of, rate, ofRequests, undecided } = refusedFeasibleOf(tally);
    lines.push(
      `small cases: ${of} of ${ofRequests} requests refused, ${count} of them (${rate}) although no order is unsafe; ${undecided} undecided; ` +
        `${tally.cases.unsafe} started although an order is unsafe${tally.cases.unsafeSeeds.map((seed) => `, seed ${seed}`).join("")}`,
    );
  }
  for (const { seed, violations } of violated.slice(0, SCENARIOS_TOLD_MAX)) {
    lines.push("", `seed ${seed}: ${violations.length} violations`, ...violations.slice(0, 4).map((it) => `  ${it}`));
    lines.push(describeWorld(safetyWorld(seed)));
    const planted = `${options.plant === null ? "" : ` --plant ${options.plant}`}${options.predicted ? " --predicted" : ""}`;
    lines.push(`  replay: npm run experiment -- safety --seed ${seed}${planted}`);
  }
  if (violated.length > SCENARIOS_TOLD_MAX) lines.push("", `and ${violated.length - SCENARIOS_TOLD_MAX} further seeds`);
  return lines.join("\n");
}

function plantWords(plant: SafetyOptions["plant"]): string {
  return plant === null ? "" : ` with a planted fault (${PLANTS[plant]})`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
