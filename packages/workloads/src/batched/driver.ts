/** Replays a workload on batching engines over SliceScheduler and its virtual executor, in simulated time. */
import { SimulatedTime, type VirtualOperator, type VirtualTransfer, virtualExecutor } from "@slicescheduler/executor";
import type { ClusterSpec, PartitionSpec } from "@slicescheduler/gmg";
import { SliceScheduler } from "slicescheduler";
import { operatorNoiseCv, transferNoiseCv } from "../colocation/durations.ts";
import { type CheckFailure, EmptyWorkloadError, InvalidOptionError } from "../errors.ts";
import { pipelinePartitions, spreadPartitions } from "../llama/partitions.ts";
import { llama3_8b } from "../llama/shape.ts";
import { requestsByArrival, type Workload, type WorkloadRequest } from "../recipes/types.ts";
import { assertReplaySound } from "../replay/checks.ts";
import { weightBytesPerAccelerator } from "../replay/fit.ts";
import type { ReplayOutcome } from "../replay/outcome.ts";
import type { RequestClass } from "../replay/policy.ts";
import { newRecord, type RequestRecord } from "../replay/records.ts";
import { BatchedBooks } from "./books.ts";
import { batchedTransferNs, lightStepTokensMax, poolNs, stepOperatorNs } from "./durations.ts";
import { EngineLane, type RegisteredTemplates, registerTemplates } from "./lane.ts";
import type { BatchedLane, BatchedLaneGroup, BatchedPolicy } from "./policies.ts";
import { poolTokensFor } from "./pool-size.ts";
import type { SequenceLengths } from "./sequence.ts";
import { allTemplates, type BatchedTemplates, batchedTemplates } from "./templates.ts";

export interface BatchedReplayOptions {
  readonly cluster: ClusterSpec;
  readonly policy: BatchedPolicy;
  readonly online: Workload;
  /** Lengths of each offline request; there is always a further one until the window ends. */
  readonly offline: SequenceLengths;
  /** Seed of the executor's noise, a whole number from 0. */
  readonly seed: number;
  /** Tokens in the pool of each engine. Default: as many as fit beside the weights. */
  readonly poolTokens?: number;
  /** Coefficients of variation of the noise. Default 0.62 % and 1.63 %. */
  readonly noise?: { readonly operatorCv: number; readonly transferCv: number };
  /** Nanoseconds on this host, to measure what a round costs; without it that is not measured. */
  readonly hostNowNs?: () => number;
}

export interface BatchedOutcome extends ReplayOutcome {
  /** Per accelerator, the share of the window in which it ran operators of that class, 0…1. */
  readonly busy: Readonly<Record<RequestClass, readonly number[]>>;
  /** Of each engine. */
  readonly poolTokens: number;
}

/** As in serving engines that are widely used. */
const pageTokens = 16;
const sequencesMax = 256;
/** As in `colocation`. */
const layersPerOperator = 8;

/**
 * Replays the workload to its last operator and checks the run. Offline engines are never short of requests; at the window's end
 * those that wait are dropped, the others run to their end.
 * Errors: INVALID_OPTION, MODEL_DOES_NOT_FIT, WORKLOAD_EMPTY, REPLAY_CHECK_FAILED.
 */
export function replayBatched(options: BatchedReplayOptions): BatchedOutcome {
  if (options.online.tenants.every((requests) => requests.length === 0)) {
    throw new EmptyWorkloadError("the workload has no online request; batching is compared by what they see");
  }
  const replay = new BatchedReplay(options);
  try {
    const outcome = replay.run();
    assertReplaySound(outcome);
    return outcome;
  } finally {
    replay.close();
  }
}

class BatchedReplay {
  readonly #options: BatchedReplayOptions;
  readonly #time = new SimulatedTime();
  readonly #scheduler: SliceScheduler;
  readonly #templates: BatchedTemplates;
  readonly #poolTokens: number;
  readonly #books: BatchedBooks;
  readonly #records: RequestRecord[] = [];
  readonly #lanes: Readonly<Record<RequestClass, readonly EngineLane[]>>;
  readonly #failures: CheckFailure[] = [];
  readonly #listenerErrors: unknown[] = [];
  #scheduled = 0;

  constructor(options: BatchedReplayOptions) {
    const { cluster, policy, online, seed, noise } = options;
    this.#options = options;
    const groups = policy.offline === null ? [policy.online] : [policy.online, policy.offline];
    const lanes = groups.flatMap((group) => group.lanes);
    const smallest = templatesOf(cluster, lanes, pageTokens);
    this.#poolTokens = options.poolTokens ?? poolTokensFor(cluster, llama3_8b, lanes, smallest, pageTokens);
    this.#templates = templatesOf(cluster, lanes, this.#poolTokens);
    this.#books = new BatchedBooks(cluster.accelerators.length, online.windowNs);
    this.#scheduler = new SliceScheduler({
      cluster,
      executor: virtualExecutor({
        seed,
        time: this.#time,
        operatorNs: trueDurations(this.#templates.pool.name),
        transferNs: (work: VirtualTransfer) => batchedTransferNs(work.bytes),
        operatorCv: noise?.operatorCv ?? operatorNoiseCv,
        transferCv: noise?.transferCv ?? transferNoiseCv,
      }),
      priorities: ["online", "offline"],
      scheduling: policy.scheduling,
      // A listener that throws must stop the replay, not the process.
      onListenerError: (error) => {
        this.#listenerErrors.push(error);
      },
      ...(options.hostNowNs === undefined ? {} : { hostNowNs: options.hostNowNs }),
    });
    this.#listen();
    const registered = registerTemplates(this.#scheduler, this.#templates);
    this.#lanes = {
      online: this.#openLanes("online", policy.online, registered),
      offline: policy.offline === null ? [] : this.#openLanes("offline", policy.offline, registered),
    };
  }

  run(): BatchedOutcome {
    const { online, policy } = this.#options;
    const { windowNs } = online;
    for (const request of requestsByArrival(online)) this.#at(request.arrivalNs, () => this.#arrive(request));
    this.#at(0, () => {
      for (const lane of this.#lanes.offline) lane.submitSteps(0);
    });
    this.#at(windowNs, () => {
      for (const lane of this.#lanes.offline) lane.dropWaiting();
    });
    this.#runToEnd();
    for (const lane of [...this.#lanes.online, ...this.#lanes.offline]) lane.close();
    this.#runToEnd();
    return this.#outcome(policy.name);
  }

  close(): void {
    this.#scheduler.close();
  }

  #openLanes(priority: RequestClass, group: BatchedLaneGroup, templates: RegisteredTemplates): EngineLane[] {
    const { online } = this.#options;
    return group.lanes.map((lane) => {
      const batcher = {
        stepsUnderWayMax: group.stepsPerStage * lane.stages + 1,
        stepTokensMax: group.stepTokensMax,
        lightTokensMax: lightStepTokensMax,
        sequencesMax,
        poolTokens: this.#poolTokens,
        pageTokens,
      };
      return new EngineLane({
        scheduler: this.#scheduler,
        templates,
        lane,
        priority,
        batcher,
        windowNs: online.windowNs,
        books: this.#books,
        ...(priority === "offline" ? { supply: () => this.#nextOffline() } : {}),
      });
    });
  }

  #arrive(request: WorkloadRequest): void {
    const { assign } = this.#options.policy.online;
    const lanes = this.#lanes.online;
    const record = newRecord(this.#records.length, "online", request);
    this.#records.push(record);
    const lane = assign === "byTenant" ? lanes[request.tenant % lanes.length] : lanes.reduce(lessOutstanding);
    lane?.offer(record);
    lane?.submitSteps(request.arrivalNs);
  }

  /** It arrives as it is asked for, while the window lasts. */
  #nextOffline(): RequestRecord | null {
    const arrivalNs = this.#time.nowNs();
    if (arrivalNs >= this.#options.online.windowNs) return null;
    const record = newRecord(this.#records.length, "offline", { tenant: 0, arrivalNs, ...this.#options.offline });
    this.#records.push(record);
    return record;
  }

  #at(atNs: number, callback: () => void): void {
    // After everything the executor does at that instant.
    this.#time.at(atNs, { kind: 9, number: this.#scheduled++ }, callback);
  }

  #runToEnd(): void {
    this.#time.run();
    if (this.#listenerErrors.length > 0) throw this.#listenerErrors[0];
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
    scheduler.on("instanceDone", ({ instance, atNs }) => books.settle(instance)?.instanceDone(instance, atNs));
    scheduler.on("instanceFailed", ({ instance, error }) => {
      this.#failures.push({ check: "no instance fails", detail: `instance ${instance}: ${error.message}` });
    });
  }

  #outcome(policy: string): BatchedOutcome {
    const { cluster, online } = this.#options;
    const stats = this.#scheduler.stats();
    const weights = weightBytesPerAccelerator(cluster, allTemplates(this.#templates));
    const busy = { online: this.#books.busy.online.utilization(), offline: this.#books.busy.offline.utilization() };
    const lanes = [...this.#lanes.online, ...this.#lanes.offline];
    return {
      policy,
      windowNs: online.windowNs,
      endNs: this.#books.lastEndNs,
      records: this.#records,
      offlineOffered: this.#records.filter((record) => record.class === "offline").length,
      accelerators: cluster.accelerators.map((accelerator, index) => ({
        name: accelerator.name,
        capacityBytes: accelerator.hbmBytes - (accelerator.marginBytes ?? 0),
        fixedBytes: (accelerator.externalBaselineBytes ?? 0) + (weights.get(accelerator.name) ?? 0),
        usedBytesAtEnd: stats.accelerators[index]?.usedHbmBytes ?? Number.NaN,
        peakHbmBytes: stats.accelerators[index]?.peakHbmBytes ?? Number.NaN,
        utilization: (busy.online[index] ?? 0) + (busy.offline[index] ?? 0),
      })),
      operatorsDone: this.#books.audit.operatorsDone,
      rounds: stats.rounds,
      simulatedOperators: stats.simulatedOperators,
      hostNsPerRound: stats.hostNsInRounds === null ? null : stats.hostNsInRounds / Math.max(1, stats.rounds),
      leftInGraph: stats.instances + stats.requests,
      standstills: stats.standstills,
      audit: [...this.#failures, ...this.#books.audit.failures(), ...lanes.flatMap((lane) => lane.tokens.failures())],
      busy,
      poolTokens: this.#poolTokens,
    };
  }
}

function lessOutstanding(a: EngineLane, b: EngineLane): EngineLane {
  return b.outstandingTokens < a.outstandingTokens ? b : a;
}

function templatesOf(cluster: ClusterSpec, lanes: readonly BatchedLane[], poolTokens: number): BatchedTemplates {
  const partitions = partitionsOf(cluster, lanes, llama3_8b.layers / layersPerOperator);
  return batchedTemplates({ poolTokens, partitions, layersPerOperator });
}

/** Those that lanes lie on, and no others, so that no weights are loaded for nothing. Errors: INVALID_OPTION. */
function partitionsOf(cluster: ClusterSpec, lanes: readonly BatchedLane[], operators: number): PartitionSpec[] {
  const sizes = [...new Set(lanes.map(({ stages }) => stages))];
  const known = [...pipelinePartitions(cluster, operators, sizes), ...spreadPartitions(cluster, operators)];
  const wanted = new Set(lanes.map(({ partition }) => partition));
  for (const { partition, stages } of lanes) {
    if (known.some(({ name, accelerators }) => name === partition && accelerators.length === stages)) continue;
    throw new InvalidOptionError("partition", partition, `one of ${known.map(({ name }) => name).join(", ")}`);
  }
  return known.filter(({ name }) => wanted.has(name));
}

/** The duration function of the executor. */
function trueDurations(poolTemplate: string): (work: VirtualOperator) => number {
  return ({ template, symbols }) =>
    template === poolTemplate
      ? poolNs
      : stepOperatorNs(layersPerOperator, symbols["tokens"] ?? 0, symbols["cachedTokens"] ?? 0);
}
