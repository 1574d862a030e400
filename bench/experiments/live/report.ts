import type { LlamaService } from "../../../examples/llama-libtorch/llama-service.ts";
import { machine } from "./backend.ts";
import { type LiveFigures, overRounds } from "./figures.ts";
import type { PlacementCheck } from "./placement.ts";
import type { LivePolicy } from "./policies.ts";
import { median } from "./statistics.ts";
import type { LiveLoad } from "./workload.ts";

/** A policy, the service that runs it, and its figures round by round. */
export interface Side {
  readonly policy: LivePolicy;
  readonly service: LlamaService;
  readonly rounds: LiveFigures[];
}

export interface LiveRun {
  readonly base: Side;
  readonly ours: Side;
  readonly load: LiveLoad;
  /** What a request of average size takes alone on a pair. */
  readonly aloneNs: { readonly online: number; readonly offline: number };
  readonly hbmBytes: number;
  /** Online requests whose tokens were not the same under both policies. */
  readonly differing: number;
  readonly placement: PlacementCheck;
}

interface Ratio {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function report(run: LiveRun) {
  const sides = [run.base, run.ours];
  const policies = Object.fromEntries(sides.map((side) => [side.policy.name, resultOf(side, run.hbmBytes)]));
  const ratios = ratiosOf(run);
  const accelerators = run.ours.service.executor.stats().accelerators.length;
  const { load, aloneNs, placement, differing } = run;
  const ms = (ns: number) => `${(ns / 1e6).toFixed(0)} ms`;
  const text = [
    `${machine(accelerators)} of ${run.hbmBytes / 1e6} MB, and one thread that schedules; ${run.ours.rounds.length} rounds of ${load.windowNs / 1e9} s each way, in turns`,
    `online: ${load.tenants} instances, ${load.onlinePerTenantPerSecond.toFixed(2)} requests/s each (alone ${ms(aloneNs.online)}); ` +
      `offline: ${load.offlinePerSecond.toFixed(2)} requests/s (alone ${ms(aloneNs.offline)})`,
    "policy            requests/s   tokens/s   TTFT p50 / p99 ms   TPOT p50 / p99 ms   decode operator p50 / p99 ms   offline done   peak MB   out of memory   thread busy",
    ...sides.map(({ policy }) => rowOf(policy.name, policies[policy.name] as Result)),
    `slicescheduler ÷ static-online, median of rounds (least … most): ${Object.entries(ratios).map(ratioText).join(", ")}`,
    `online requests whose tokens differ between the two: ${differing}; ` +
      `${placement.prompts} prompts on ${placement.layouts} layouts, different from a loop without a scheduler: ${placement.differing}`,
  ].join("\n");
  const json = { policies, ratios, differing, placement, load, aloneNs, machine: machine(accelerators) };
  return { text, json };
}

type Result = ReturnType<typeof resultOf>;

function resultOf({ service, rounds }: Side, capacityBytes: number) {
  const { accelerators, overCapacityRefused, operatorsFailed } = service.executor.stats();
  const peakHbmBytes = accelerators.map((it) => it.peakHbmBytes);
  const figures = overRounds(rounds);
  return { ...figures, peakHbmBytes, capacityBytes, overCapacity: overCapacityRefused, operatorsFailed, rounds };
}

function rowOf(name: string, it: Result): string {
  const both = (of: LiveFigures["ttftMs"]) => `${of?.p50.toFixed(1)} / ${of?.p99.toFixed(1)}`.padStart(20);
  const throughput = `${it.requestsPerSecond.toFixed(2).padStart(12)}${it.tokensPerSecond.toFixed(1).padStart(11)}`;
  const offline = `${it.offlineCompleted} of ${it.offlineOffered}`.padStart(15);
  const peakMb = (Math.max(...it.peakHbmBytes) / 1e6).toFixed(1).padStart(10);
  const busy = `${(100 * it.threadBusy).toFixed(0)} %`.padStart(14);
  return `${name.padEnd(16)}${throughput}${both(it.ttftMs)}${both(it.tpotMs)}${both(it.decodeOperatorMs).padStart(31)}${offline}${peakMb}${String(it.overCapacity).padStart(16)}${busy}`;
}

/** Round by round, since both met the same arrivals and much the same machine. */
function ratiosOf({ base, ours }: LiveRun): Readonly<Record<string, Ratio>> {
  const ratio = (pick: (it: LiveFigures) => number | undefined): Ratio => {
    const each = ours.rounds.map((it, round) => {
      const other = base.rounds[round];
      return (pick(it) ?? Number.NaN) / ((other === undefined ? undefined : pick(other)) ?? Number.NaN);
    });
    return { median: median(each), least: Math.min(...each), most: Math.max(...each) };
  };
  return {
    requestsPerSecond: ratio((it) => it.requestsPerSecond),
    tokensPerSecond: ratio((it) => it.tokensPerSecond),
    ttftP50: ratio((it) => it.ttftMs?.p50),
    ttftP99: ratio((it) => it.ttftMs?.p99),
    tpotP50: ratio((it) => it.tpotMs?.p50),
    decodeOperatorP50: ratio((it) => it.decodeOperatorMs?.p50),
  };
}

function ratioText([name, { median: middle, least, most }]: [string, Ratio]): string {
  return `${name} ×${middle.toFixed(2)} (${least.toFixed(2)} … ${most.toFixed(2)})`;
}
