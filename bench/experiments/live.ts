/**
 * The whole thing in real time: a model on four CPU accelerators, an online and an offline stream of requests, SliceScheduler against Static-Online on the same
 * arrivals. Rounds alternate which goes first; loads follow from what a request takes alone, so that they mean the same on any machine.
 */
import type { LlamaShape } from "@slicescheduler/executor-libtorch/llama";
import { LlamaService } from "../../examples/llama-libtorch/llama-service.ts";
import type { Measure } from "../measurement.ts";
import { cpuCluster, requireBackend } from "./live/backend.ts";
import { figuresOf } from "./live/figures.ts";
import { checkPlacement } from "./live/placement.ts";
import { type LivePolicy, sliceScheduler, staticOnline } from "./live/policies.ts";
import { type LiveRecord, replayLive } from "./live/replay.ts";
import { report, type Side } from "./live/report.ts";
import { median } from "./live/statistics.ts";
import { drawRequests, type LiveLoad, type LiveRequest, OFFLINE, ONLINE } from "./live/workload.ts";

const ACCELERATORS = 4;
const PAIRS = ["cpu0+cpu1", "cpu2+cpu3"];
const HBM_BYTES = 80e6;
/** Of the time of each pair. */
const ONLINE_UTILIZATION = 0.35;
/** Of the time of one core: with the online work and the thread that schedules, less than what two cores have. */
const OFFLINE_UTILIZATION = 0.4;
const WARM_UPS = 12;
const LAYERS_PER_OPERATOR = 2;
const shape: LlamaShape = {
  name: "live",
  layers: 8,
  hidden: 384,
  heads: 12,
  kvHeads: 4,
  headDim: 32,
  intermediate: 1024,
  vocabulary: 2048,
};

export const measure: Measure = async (args) => {
  requireBackend();
  const numberOf = (name: string, fallback: number) => {
    const at = args.indexOf(name);
    return at < 0 ? fallback : Number(args[at + 1]);
  };
  const windowNs = numberOf("--seconds", 16) * 1e9;
  const base = sideOf(staticOnline(PAIRS));
  const ours = sideOf(sliceScheduler());
  try {
    await warmUp(ours);
    const aloneNs = await warmUp(base);
    const load: LiveLoad = {
      windowNs,
      tenants: PAIRS.length,
      onlinePerTenantPerSecond: (ONLINE_UTILIZATION * 1e9) / aloneNs.online,
      offlinePerSecond: (OFFLINE_UTILIZATION * 1e9) / aloneNs.offline,
      vocabulary: shape.vocabulary,
    };
    let differing = 0;
    for (let round = 0; round < numberOf("--rounds", 3); round++) {
      const requests = drawRequests(load, numberOf("--seed", 1) + round);
      const played: (readonly LiveRecord[])[] = [];
      for (const side of round % 2 === 0 ? [base, ours] : [ours, base]) {
        const before = performance.eventLoopUtilization();
        const play = await replayLive(side.service, side.policy, requests);
        const { utilization } = performance.eventLoopUtilization(before);
        played.push(play.records);
        side.rounds.push({ ...figuresOf(play, windowNs), threadBusy: utilization });
      }
      differing += differingTokens(played);
    }
    const cluster = cpuCluster(ACCELERATORS, HBM_BYTES);
    const placement = await checkPlacement(ours.service, { shape, cluster, layersPerOperator: LAYERS_PER_OPERATOR });
    return report({ base, ours, load, aloneNs, hbmBytes: HBM_BYTES, differing, placement });
  } finally {
    base.service.close();
    ours.service.close();
  }
};

function sideOf(policy: LivePolicy): Side {
  const service = new LlamaService({
    cluster: cpuCluster(ACCELERATORS, HBM_BYTES),
    shape,
    layersPerOperator: LAYERS_PER_OPERATOR,
    scheduling: policy.scheduling,
  });
  return { policy, service, rounds: [] };
}

/** Teaches the estimators, and finds out what a request of average size takes when it is alone. */
async function warmUp({ policy, service }: Side): Promise<{ online: number; offline: number }> {
  const alone = async (kind: "online" | "offline"): Promise<number> => {
    const { promptTokens, outputTokens } = kind === "online" ? ONLINE : OFFLINE;
    const prompt = Array.from({ length: middle(promptTokens) }, (_, i) => (31 * i) % shape.vocabulary);
    const request: LiveRequest = { tenant: 0, class: kind, arrivalNs: 0, prompt, count: middle(outputTokens) };
    const { records } = await replayLive(service, { ...policy, takesOffline: true }, [request]);
    return records[0]?.tokenNs.at(-1) ?? Number.NaN;
  };
  const times = { online: [] as number[], offline: [] as number[] };
  for (let i = 0; i < WARM_UPS; i++) {
    for (const kind of ["online", "offline"] as const) times[kind].push(await alone(kind));
  }
  return { online: median(times.online), offline: median(times.offline) };
}

function middle([least, most]: readonly [number, number]): number {
  return Math.round((least + most) / 2);
}

/** Online requests whose tokens are not the same under all policies. */
function differingTokens(played: readonly (readonly LiveRecord[])[]): number {
  const byRequest = new Map<LiveRequest, Set<string>>();
  for (const { request, tokens } of played.flat()) {
    const seen = byRequest.get(request) ?? new Set();
    byRequest.set(request, seen.add(tokens.join()));
  }
  return [...byRequest.values()].filter(({ size }) => size > 1).length;
}
