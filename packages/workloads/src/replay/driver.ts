/**
 * Replays a workload on SliceScheduler and its virtual executor, in simulated time: the one file that knows the master.
 * The baselines run on the same engine; only admission, partitions and options of the master differ.
 */
import { SimulatedTime, type VirtualOperator, type VirtualTransfer, virtualExecutor } from "@slicescheduler/executor";
import { type ClusterSpec, compileCluster, compileTemplate } from "@slicescheduler/gmg";
import { type MasterEvent, SliceScheduler, type SliceSchedulerOptions } from "slicescheduler";
import {
  type ColocationDurations,
  colocationDurations,
  colocationTransferNs,
  operatorNoiseCv,
  transferNoiseCv,
} from "../colocation/durations.ts";
import type { Workload, WorkloadRequest } from "../recipes/types.ts";
import { Books } from "./books.ts";
import { ChainedRequest, type PassHandles, requestLimits } from "./chained-request.ts";
import { assertReplaySound } from "./checks.ts";
import { type Disturbance, disturbanceFactor } from "./disturbance.ts";
import type { EngineListener, EngineRequest, EngineRequestOptions, ReplayEngine } from "./engine.ts";
import { weightBytesPerAccelerator } from "./fit.ts";
import { assertPolicyFits } from "./instance-size.ts";
import { assertPolicyLinked } from "./links.ts";
import type { ReplayOutcome } from "./outcome.ts";
import { type PassSpecs, partitionNames, passSpecs, templatesOf } from "./passes.ts";
import { type ReplayPolicy, type ReplayScheduling, replayPolicy } from "./policy.ts";
import type { RequestRecord } from "./records.ts";
import { type ReplayProgress, scheduleReplay } from "./runner.ts";

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
  /** Accelerators of one model instance: 1, 2 or 4. Policies lay their lanes by it. Default 2. */
  readonly instanceAccelerators?: number;
  /** What operators and transfers really take, before noise. Default: the colocation model's, whatever the cluster. */
  readonly durations?: ReplayDurations;
  /** What makes true durations differ from the model's. Default nothing. */
  readonly disturbance?: Disturbance;
  /** Names of tenants, for people: requests are labelled by them. Default: their numbers. Nothing is scheduled by them. */
  readonly tenantNames?: TenantNames;
  /** Options of the master, over those of the policy. */
  readonly scheduling?: ReplayScheduling;
  readonly onProgress?: (progress: ReplayProgress) => void;
  /** Called with what the master is about to be made of; an event log begins with it. */
  readonly onOptions?: (options: SliceSchedulerOptions) => void;
  /** Called with the master before anything is registered, so that a recorder or a metric can listen from the start. */
  readonly onScheduler?: (scheduler: SliceScheduler) => void;
  /** Gets every event of the master with its time, in order: what an event log is made of. */
  readonly onEvent?: (event: MasterEvent, nowNs: number) => void;
  /** An output token came out of a request, by its number in the master. */
  readonly onToken?: (request: number, atNs: number) => void;
  /** Nanoseconds on this host, to measure what a round costs; without it that is not measured. */
  readonly hostNowNs?: () => number;
}

/** By the tenant's index in `online` and in `offline`; an index beyond them has none. */
export interface TenantNames {
  readonly online: readonly string[];
  readonly offline: readonly string[];
}

/** True durations in nanoseconds, before noise. */
export interface ReplayDurations {
  operatorNs(work: VirtualOperator): number;
  transferNs(work: VirtualTransfer): number;
}

/** A replay under way, for who wants to look at it or to set its pace; `replay` runs it through at once. */
export interface OpenReplay {
  readonly scheduler: SliceScheduler;
  /** Simulated time. */
  nowNs(): number;
  /** Lets everything up to and including `untilNs` happen. Returns whether anything is left to happen. */
  advance(untilNs: number): boolean;
  /** After the last `advance`: what the run left behind, checked. Errors: REPLAY_CHECK_FAILED. */
  outcome(): ReplayOutcome;
  close(): void;
}

/**
 * Replays the workload to its last operator and checks the run.
 * Errors: UNKNOWN_POLICY, INVALID_OPTION, MODEL_DOES_NOT_FIT, LINKS_MISSING, REPLAY_CHECK_FAILED.
 */
export function replay(options: ReplayOptions): ReplayOutcome {
  const opened = openReplay(options);
  try {
    opened.advance(Number.POSITIVE_INFINITY);
    return opened.outcome();
  } finally {
    opened.close();
  }
}

/** Makes everything ready for a replay and stops before its first event. Errors: those of `replay`. */
export function openReplay(options: ReplayOptions): OpenReplay {
  const { cluster, online, offline, instanceAccelerators = 2 } = options;
  const terms = { partitions: partitionNames(cluster), tenants: online.tenants.length, instanceAccelerators };
  const policy = typeof options.policy === "string" ? replayPolicy(options.policy, terms) : options.policy;
  const specs = passSpecs(cluster, policy);
  assertPolicyFits(cluster, policy, { online, offline }, specs);
  assertPolicyLinked(cluster, policy, specs);
  const engine = new SliceSchedulerEngine(options, policy, specs);
  const records = scheduleReplay(engine, {
    policy,
    online,
    offline,
    ...(options.lookahead === undefined ? {} : { lookahead: options.lookahead }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  return {
    scheduler: engine.scheduler,
    nowNs: () => engine.nowNs(),
    advance: (untilNs) => engine.advance(untilNs),
    outcome: () => {
      const outcome = engine.outcome(records);
      assertReplaySound(outcome);
      return outcome;
    },
    close: () => engine.close(),
  };
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
    const masterOptions: SliceSchedulerOptions = {
      cluster,
      executor: virtualExecutor({
        seed,
        time: this.#time,
        operatorNs: trueOperatorNs(options, truths, () => this.#time.nowNs()),
        transferNs: options.durations?.transferNs ?? (({ bytes }) => colocationTransferNs(bytes)),
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
      ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
    };
    options.onOptions?.(masterOptions);
    this.#scheduler = new SliceScheduler(masterOptions);
    options.onScheduler?.(this.#scheduler);
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
    const label = labelOf(options, this.#options.tenantNames);
    const request = this.#scheduler.openRequest({ priority, partitions, limits, concurrentInstances, label });
    const host = { scheduler: this.#scheduler, books: this.#books, passes };
    return new ChainedRequest(host, options, request);
  }

  get scheduler(): SliceScheduler {
    return this.#scheduler;
  }

  nowNs(): number {
    return this.#time.nowNs();
  }

  run(): void {
    this.advance(Number.POSITIVE_INFINITY);
  }

  advance(untilNs: number): boolean {
    this.#time.run(untilNs === Number.POSITIVE_INFINITY ? undefined : Math.max(untilNs, this.#time.nowNs()));
    if (this.#listenerErrors.length > 0) throw this.#listenerErrors[0];
    return this.#time.pending > 0;
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
      if (request?.instanceDone() !== true) return;
      this.#options.onToken?.(request.number, atNs);
      this.listener?.passDone(request, atNs);
    });
    const failed = (instance: number, reason: string, atNs: number): void => {
      const request = books.settle(instance);
      if (request !== undefined) this.listener?.passFailed(request, reason, atNs);
    };
    scheduler.on("instanceFailed", ({ instance, error, atNs }) => failed(instance, error.message, atNs));
    scheduler.on("instanceCancelled", ({ instance, atNs }) => failed(instance, "it was cancelled", atNs));
  }
}

/** `online chat` of a tenant with a name, `online instance 0` of one without; `offline batch`, `offline`. */
function labelOf({ class: priority, tenant }: EngineRequestOptions, names: TenantNames | undefined): string {
  const name = names?.[priority][tenant];
  if (name !== undefined) return `${priority} ${name}`;
  return priority === "online" ? `online instance ${tenant}` : "offline";
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
  { disturbance, seed, durations }: ReplayOptions,
  truths: ReadonlyMap<string, ColocationDurations>,
  nowNs: () => number,
): (work: VirtualOperator) => number {
  const modelNs =
    durations?.operatorNs ??
    (({ template, symbols }: VirtualOperator): number =>
      truths.get(template)?.operatorNs(template, symbols) ?? Number.NaN);
  if (disturbance === undefined) return modelNs;
  const factorOf = disturbanceFactor(disturbance, seed);
  return (work) => {
    const { instance, operator, accelerator, symbols } = work;
    const pass = symbols["tokens"] === undefined ? "decode" : "prefill";
    const factor = factorOf({ pass, accelerator: accelerator.name, instance, operator, atNs: nowNs() });
    return Math.round(factor * modelNs(work));
  };
}
