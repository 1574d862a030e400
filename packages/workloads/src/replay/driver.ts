/**
 * Replays a workload on SliceScheduler and its virtual executor, in simulated time: the one file that knows the master.
 * The baselines run on the same engine; only admission, partitions and options of the master differ.
 */
import { SimulatedTime, type VirtualOperator, virtualExecutor } from "@slicescheduler/executor";
import { type ClusterSpec, compileCluster, compileTemplate } from "@slicescheduler/gmg";
import { SliceScheduler } from "slicescheduler";
import {
  type ColocationDurations,
  colocationDurations,
  colocationTransferNs,
  operatorNoiseCv,
  transferNoiseCv,
} from "../colocation/durations.ts";
import { llama3_8b } from "../llama/shape.ts";
import type { Workload, WorkloadRequest } from "../recipes/types.ts";
import { Books } from "./books.ts";
import { ChainedRequest, type PassHandles, requestLimits } from "./chained-request.ts";
import { assertReplaySound } from "./checks.ts";
import { type Disturbance, disturbanceFactor } from "./disturbance.ts";
import type { EngineListener, EngineRequest, EngineRequestOptions, ReplayEngine } from "./engine.ts";
import { assertModelFits, largestRequestBytes, weightBytesPerAccelerator } from "./fit.ts";
import type { ReplayOutcome } from "./outcome.ts";
import { layersPerOperatorOf, type PassSpecs, partitionNames, passSpecs, templatesOf } from "./passes.ts";
import { type ReplayPolicy, type ReplayScheduling, replayPolicy } from "./policy.ts";
import type { RequestRecord } from "./records.ts";
import { type ReplayProgress, runReplay } from "./runner.ts";

export interface ReplayOptions {
  readonly cluster: ClusterSpec;
  /** Name of the policy, or one of one's own. */
  readonly policy: string | ReplayPolicy;
  readonly online: Workload;
  /** Ascending by arrival. */
  readonly offline: readonly WorkloadRequest[];
  /** Seed of the executor's noise, a whole number from 0. */
  readonly seed: number;
  /** Decode steps submitted beyond the running one. Default 1. */
  readonly lookahead?: number;
  /** Coefficients of variation of the noise. Default 0.62 % and 1.63 %. */
  readonly noise?: { readonly operatorCv: number; readonly transferCv: number };
  /** What makes true durations differ from the model's. Default nothing. */
  readonly disturbance?: Disturbance;
  /** Options of the master, over those of the policy. */
  readonly scheduling?: ReplayScheduling;
  readonly onProgress?: (progress: ReplayProgress) => void;
  /** Nanoseconds on this host, to measure what a round costs; without it that is not measured. */
  readonly hostNowNs?: () => number;
}

/**
 * Replays the workload to its last operator and checks the run.
 * Errors: UNKNOWN_POLICY, INVALID_OPTION, MODEL_DOES_NOT_FIT, REPLAY_CHECK_FAILED.
 */
export function replay(options: ReplayOptions): ReplayOutcome {
  const { cluster, online, offline } = options;
  const terms = { partitions: partitionNames(cluster), tenants: online.tenants.length };
  const policy = typeof options.policy === "string" ? replayPolicy(options.policy, terms) : options.policy;
  const specs = passSpecs(cluster, policy);
  assertFits(options, policy, specs);
  const engine = new SliceSchedulerEngine(options, policy, specs);
  try {
    const records = runReplay(engine, {
      policy,
      online,
      offline,
      ...(options.lookahead === undefined ? {} : { lookahead: options.lookahead }),
      ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
    });
    const outcome = engine.outcome(records);
    assertReplaySound(outcome);
    return outcome;
  } finally {
    engine.close();
  }
}

function assertFits(
  { cluster, online, offline }: ReplayOptions,
  policy: ReplayPolicy,
  specs: readonly PassSpecs[],
): void {
  const bytes = specs.map(({ layersPerOperator, prefill }) => {
    const uses = (group: ReplayPolicy["offline"]) => group !== null && layersPerOperatorOf(group) === layersPerOperator;
    const requests = [...(uses(policy.online) ? online.tenants.flat() : []), ...(uses(policy.offline) ? offline : [])];
    const fewest = Math.min(...prefill.partitions.map((partition) => new Set(partition.layout).size));
    return largestRequestBytes(llama3_8b, layersPerOperator, prefill.operators.length / fewest, requests);
  });
  const demand = { model: llama3_8b.name, requestBytes: Math.max(...bytes) };
  assertModelFits(cluster, specs.flatMap(templatesOf), demand);
}

class SliceSchedulerEngine implements ReplayEngine {
  listener: EngineListener | undefined;
  readonly #options: ReplayOptions;
  readonly #policy: ReplayPolicy;
  readonly #specs: readonly PassSpecs[];
  readonly #time = new SimulatedTime();
  readonly #scheduler: SliceScheduler;
  readonly #books: Books<ChainedRequest>;
  /** By layers per operator. */
  readonly #passes: ReadonlyMap<number, PassHandles>;
  readonly #listenerErrors: unknown[] = [];
  #scheduled = 0;

  constructor(options: ReplayOptions, policy: ReplayPolicy, specs: readonly PassSpecs[]) {
    const { cluster, seed, noise } = options;
    this.#options = options;
    this.#policy = policy;
    this.#specs = specs;
    const compiled = compileCluster(cluster);
    const templates = specs.flatMap(templatesOf).map((spec) => compileTemplate(spec, compiled));
    this.#books = new Books(
      compiled.accelerators.length,
      options.online.windowNs,
      new Map(templates.map((template) => [template.name, template])),
    );
    const truths = truthsOf(specs);
    this.#scheduler = new SliceScheduler({
      cluster,
      executor: virtualExecutor({
        seed,
        time: this.#time,
        operatorNs: trueOperatorNs(options, truths, () => this.#time.nowNs()),
        transferNs: ({ bytes }) => colocationTransferNs(bytes),
        operatorCv: noise?.operatorCv ?? operatorNoiseCv,
        transferCv: noise?.transferCv ?? transferNoiseCv,
      }),
      priorities: ["online", "offline"],
      scheduling: { ...policy.scheduling, ...options.scheduling },
      // A listener that throws must stop the replay, not the process.
      onListenerError: (error) => {
        this.#listenerErrors.push(error);
      },
      ...(options.hostNowNs === undefined ? {} : { hostNowNs: options.hostNowNs }),
    });
    this.#passes = new Map(
      specs.map(({ layersPerOperator, prefill, extend, decode }) => [
        layersPerOperator,
        {
          prefill: this.#scheduler.register(prefill),
          extend: extend === null ? null : this.#scheduler.register(extend),
          decode: this.#scheduler.register(decode),
        },
      ]),
    );
    this.#listen();
  }

  at(atNs: number, callback: () => void): void {
    // After everything the executor does at that instant.
    this.#time.at(atNs, { kind: 9, number: this.#scheduled++ }, callback);
  }

  openRequest(options: EngineRequestOptions): EngineRequest {
    const passes = this.#passes.get(options.layersPerOperator);
    if (passes === undefined) throw new TypeError(`no templates of ${options.layersPerOperator} layers per operator`);
    const { class: priority, partitions } = options;
    const limits = requestLimits(passes, options);
    const concurrentInstances = Math.max(2, options.lookahead + 1);
    const request = this.#scheduler.openRequest({ priority, partitions, limits, concurrentInstances });
    const host = { scheduler: this.#scheduler, books: this.#books, passes };
    return new ChainedRequest(host, options, request);
  }

  run(): void {
    this.#time.run();
    if (this.#listenerErrors.length > 0) throw this.#listenerErrors[0];
  }

  close(): void {
    this.#scheduler.close();
  }

  /** What the run left behind, by the books and by the master's own statistics. */
  outcome(records: readonly RequestRecord[]): ReplayOutcome {
    const { cluster, online, offline } = this.#options;
    const books = this.#books;
    const stats = this.#scheduler.stats();
    const weights = weightBytesPerAccelerator(cluster, this.#specs.flatMap(templatesOf));
    const busy = { online: books.busy.online.utilization(), offline: books.busy.offline.utilization() };
    return {
      policy: this.#policy.name,
      windowNs: online.windowNs,
      endNs: books.lastEndNs,
      records,
      offlineOffered: offline.length,
      accelerators: cluster.accelerators.map((accelerator, index) => ({
        name: accelerator.name,
        capacityBytes: accelerator.hbmBytes - (accelerator.marginBytes ?? 0),
        fixedBytes: (accelerator.externalBaselineBytes ?? 0) + (weights.get(accelerator.name) ?? 0),
        usedBytesAtEnd: stats.accelerators[index]?.usedHbmBytes ?? Number.NaN,
        peakHbmBytes: stats.accelerators[index]?.peakHbmBytes ?? Number.NaN,
        utilization: (busy.online[index] ?? 0) + (busy.offline[index] ?? 0),
      })),
      busy,
      operatorsDone: books.audit.operatorsDone,
      rounds: stats.rounds,
      simulatedOperators: stats.simulatedOperators,
      hostNsPerRound: stats.hostNsInRounds === null ? null : stats.hostNsInRounds / Math.max(1, stats.rounds),
      leftInGraph: stats.instances + stats.requests,
      standstills: stats.standstills,
      audit: books.audit.failures(),
    };
  }

  #listen(): void {
    const scheduler = this.#scheduler;
    const books = this.#books;
    scheduler.on("operatorStarted", ({ instance, operator, accelerator, atNs }) =>
      books.started(instance, operator, accelerator, atNs),
    );
    scheduler.on("operatorDone", ({ instance, operator, accelerator, atNs }) =>
      books.ended(instance, operator, accelerator, atNs),
    );
    scheduler.on("instanceDone", ({ instance, atNs }) => {
      const request = books.settle(instance);
      if (request?.instanceDone() === true) this.listener?.passDone(request, atNs);
    });
    scheduler.on("instanceFailed", ({ instance, error }) => {
      const request = books.settle(instance);
      if (request !== undefined) this.listener?.passFailed(request, error.message);
    });
  }
}

/** By template. */
function truthsOf(specs: readonly PassSpecs[]): Map<string, ColocationDurations> {
  return new Map(
    specs.flatMap((set) => {
      const { layersPerOperator, prefill, extend, decode } = set;
      const names = { prefill: prefill.name, decode: decode.name, ...(extend === null ? {} : { extend: extend.name }) };
      const truth = colocationDurations({ ...names, layersPerOperator });
      return templatesOf(set).map((spec): [string, ColocationDurations] => [spec.name, truth]);
    }),
  );
}

function trueOperatorNs(
  { disturbance, seed }: ReplayOptions,
  truths: ReadonlyMap<string, ColocationDurations>,
  nowNs: () => number,
): (work: VirtualOperator) => number {
  const modelNs = ({ template, symbols }: VirtualOperator): number =>
    truths.get(template)?.operatorNs(template, symbols) ?? Number.NaN;
  if (disturbance === undefined) return modelNs;
  const factorOf = disturbanceFactor(disturbance, seed);
  return (work) => {
    const { instance, operator, accelerator, symbols } = work;
    const pass = symbols["tokens"] === undefined ? "decode" : "prefill";
    const factor = factorOf({ pass, accelerator: accelerator.name, instance, operator, atNs: nowNs() });
    return Math.round(factor * modelNs(work));
  };
}
