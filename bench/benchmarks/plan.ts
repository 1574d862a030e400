/**
 * What looking ahead costs on 8 accelerators with `--requests N` live ones (default 100), half of them offline, each a prefill and two decode steps: CPU
 * milliseconds of this process, the least of nine, for the copy alone, for `plan()` and for `whatIf()`, to the end and with a horizon.
 */
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { colocationCluster, llamaDecode, llamaPrefill } from "@slicescheduler/workloads";
import { SliceScheduler } from "slicescheduler";
import type { Measure } from "../measurement.ts";

const STEPS = 2;
const WARM_UP_ROUNDS = 3;
const ROUNDS = 9;
/** When it is looked ahead: so that something runs, moves and waits. */
const LOOK_NS = 200e6;
const HORIZON_NS = 100e6;

export const measure: Measure = (args) => {
  const requests = Number(args[args.indexOf("--requests") + 1] ?? 100) || 100;
  const { scheduler, prefill } = busy(requests);
  const { instances, issuedOperators } = scheduler.stats();
  const submission = { symbols: { tokens: 256 }, priority: "online" };
  for (let warmUp = 0; warmUp < WARM_UP_ROUNDS; warmUp++) scheduler.whatIf(prefill, submission);
  const { decisions, untilNs, atNs } = scheduler.plan();
  const costs = {
    copyMs: leastCpuMs(() => scheduler.plan({ horizonNs: 1 })),
    planMs: leastCpuMs(() => scheduler.plan()),
    planWithHorizonMs: leastCpuMs(() => scheduler.plan({ horizonNs: HORIZON_NS })),
    whatIfMs: leastCpuMs(() => scheduler.whatIf(prefill, submission)),
    whatIfWithHorizonMs: leastCpuMs(() => scheduler.whatIf(prefill, submission, { horizonNs: HORIZON_NS })),
  };
  const aheadMs = (untilNs - atNs) / 1e6;
  const json = { requests, instances, issuedOperators, decisions: decisions.length, aheadMs, ...costs };
  const found = `${requests} requests, ${instances} instances, ${issuedOperators} operators issued`;
  const lines = [
    `${found}; ${decisions.length} decisions and ${aheadMs.toFixed(0)} ms to the end`,
    `the copy alone: ${costs.copyMs} ms`,
    `plan: ${costs.planMs} ms; ${HORIZON_NS / 1e6} ms ahead: ${costs.planWithHorizonMs} ms`,
    `what-if: ${costs.whatIfMs} ms; ${HORIZON_NS / 1e6} ms ahead: ${costs.whatIfWithHorizonMs} ms`,
  ];
  return { text: lines.join("\n"), json };
};

function busy(requests: number) {
  const cluster = colocationCluster();
  const time = new SimulatedTime();
  const scheduler = new SliceScheduler({ cluster, executor: virtualExecutor({ seed: 1, operatorCv: 0.006, time }) });
  const prefill = scheduler.register(llamaPrefill({ cluster, layersPerOperator: 8 }));
  const decode = scheduler.register(llamaDecode({ cluster, layersPerOperator: 8 }));
  const retain = ["kv", "token"] as const;
  for (let index = 0; index < requests; index++) {
    const tokens = 100 + ((index * 37) % 400);
    const limits = [
      { template: prefill, symbols: { tokens } },
      { template: decode, symbols: { past: tokens + STEPS } },
    ];
    const request = scheduler.openRequest({ priority: index % 2 === 0 ? "online" : "offline", limits });
    const first = scheduler.submit(prefill, { request, symbols: { tokens }, retain });
    let before: Pick<typeof first, "output"> = first;
    for (let step = 0; step < STEPS; step++) {
      const inputs = { kv: before.output("kv"), token: before.output("token") };
      before = scheduler.submit(decode, { request, symbols: { past: tokens + step }, inputs, retain });
    }
    request.close();
  }
  time.run(LOOK_NS);
  return { scheduler, prefill };
}

/** Of CPU time, and the least of several: others may run on this host. */
function leastCpuMs(look: () => unknown): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    look();
    const { user, system } = process.cpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1000);
  }
  return Math.round(leastMs * 10) / 10;
}
