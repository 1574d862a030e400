/**
 * Replays a workload on SliceScheduler and its virtual executor, in simulated time: the one file that knows the master.
 * The baselines run on the same engine; only admission and partitions differ.
 */
import { SimulatedTime, type VirtualOperator, type VirtualTransfer, virtualExecutor } from "@slicescheduler/executor";
import { type ClusterSpec, compileCluster, compileTemplate, type Template } from "@slicescheduler/gmg";
import { type InstanceHandle, type RequestHandle, SliceScheduler, type TemplateHandle } from "slicescheduler";
import { colocationDurations, operatorNoiseCv, transferNoiseCv } from "../colocation/durations.ts";
import { llama3_8b } from "../llama/shape.ts";
import { type DecodeSpec, llamaDecode, llamaPrefill, type PrefillSpec } from "../llama/templates.ts";
import type { Workload, WorkloadRequest } from "../recipes/types.ts";
import { RunAudit } from "./audit.ts";
import { BusyTime } from "./busy.ts";
import { assertReplaySound } from "./checks.ts";
import type { EngineListener, EngineRequest, EngineRequestOptions, ReplayEngine } from "./engine.ts";
import { assertModelFits, largestRequestBytes, weightBytesPerAccelerator } from "./fit.ts";
import type { ReplayOutcome } from "./outcome.ts";
import { replayPolicy } from "./policy.ts";
import type { RequestRecord } from "./records.ts";
import { type ReplayProgress, runReplay } from "./runner.ts";
import { onInstance, type PassDependency, passDependencies } from "./wiring.ts";

export interface ReplayOptions {
  readonly cluster: ClusterSpec;
  /** Name of the policy. */
  readonly policy: string;
  readonly online: Workload;
  /** Ascending by arrival. */
  readonly offline: readonly WorkloadRequest[];
  /** Seed of the executor's noise, a whole number from 0. */
  readonly seed: number;
  /** Decode steps submitted beyond the running one. Default 1. */
  readonly lookahead?: number;
  /** Coefficients of variation of the noise. Default 0.62 % and 1.63 %. */
  readonly noise?: { readonly operatorCv: number; readonly transferCv: number };
  readonly onProgress?: (progress: ReplayProgress) => void;
  /** Nanoseconds on this host, to measure what a round costs; without it that is not measured. */
  readonly hostNowNs?: () => number;
}

const layersPerOperator = 8;

/**
 * Replays the workload to its last operator and checks the run.
 * Errors: UNKNOWN_POLICY, INVALID_OPTION, MODEL_DOES_NOT_FIT, REPLAY_CHECK_FAILED.
 */
export function replay(options: ReplayOptions): ReplayOutcome {
  const { cluster, online, offline } = options;
  const prefill = llamaPrefill({ cluster, layersPerOperator });
  const decode = llamaDecode({ cluster, layersPerOperator });
  const partitions = prefill.partitions.map((partition) => partition.name);
  const policy = replayPolicy(options.policy, { partitions, tenants: online.tenants.length });
  const served = policy.offline === null ? online.tenants.flat() : [...online.tenants.flat(), ...offline];
  // A pair is the densest partition: half of the operators on each accelerator.
  const requestBytes = largestRequestBytes(llama3_8b, layersPerOperator, prefill.operators.length / 2, served);
  assertModelFits(cluster, [prefill, decode], { model: llama3_8b.name, requestBytes });
  const engine = new SliceSchedulerEngine(options, prefill, decode);
  try {
    const records = runReplay(engine, {
      policy,
      online,
      offline,
      ...(options.lookahead === undefined ? {} : { lookahead: options.lookahead }),
      ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
    });
    const outcome = engine.outcome(policy.name, records);
    assertReplaySound(outcome);
    return outcome;
  } finally {
    engine.close();
  }
}

/** The chain of passes of one request, as instances of the two templates. */
class ChainedRequest implements EngineRequest {
  readonly #engine: SliceSchedulerEngine;
  readonly #options: EngineRequestOptions;
  readonly #request: RequestHandle;
  #latest: InstanceHandle | undefined;
  #passes = 0;

  constructor(engine: SliceSchedulerEngine, options: EngineRequestOptions, request: RequestHandle) {
    this.#engine = engine;
    this.#options = options;
    this.#request = request;
  }

  submitNext(isLast: boolean): void {
    const { inputTokens, class: priority, partitions } = this.#options;
    const before = this.#latest;
    const retain = isLast ? [] : (["kv", "token"] as const);
    const common = { priority, partitions, request: this.#request, retain };
    const { scheduler, prefill, decode, books } = this.#engine;
    if (before === undefined) {
      this.#latest = scheduler.submit(prefill, { ...common, symbols: { tokens: inputTokens } });
      books.prefillSubmitted(this, this.#latest.id);
    } else {
      const inputs = { kv: before.output("kv"), token: before.output("token") };
      const symbols = { past: inputTokens + this.#passes - 1 };
      this.#latest = scheduler.submit(decode, { ...common, symbols, inputs });
      books.decodeSubmitted(this, this.#latest.id, before.id, this.#passes === 1);
      // The new pass keeps what it needs of the one before; nobody else does.
      before.release("kv");
      before.release("token");
    }
    this.#passes++;
  }

  close(): void {
    this.#request.close();
  }
}

/** What the replay itself knows of the instances it submitted: whose they are, and what the audit may expect of them. */
class Books {
  readonly audit = new RunAudit();
  readonly busy: BusyTime;
  lastEndNs = 0;
  readonly #owners = new Map<number, ChainedRequest>();
  readonly #startedNs = new Map<number, number>();
  readonly #prefill: Template;
  readonly #decode: Template;
  readonly #afterPrefill: readonly PassDependency[];
  readonly #afterDecode: readonly PassDependency[];

  constructor(options: ReplayOptions, prefill: PrefillSpec, decode: DecodeSpec) {
    const cluster = compileCluster(options.cluster);
    this.busy = new BusyTime(cluster.accelerators.length, options.online.windowNs);
    this.#prefill = compileTemplate(prefill, cluster);
    this.#decode = compileTemplate(decode, cluster);
    this.#afterPrefill = passDependencies(this.#decode, this.#prefill);
    this.#afterDecode = passDependencies(this.#decode, this.#decode);
  }

  prefillSubmitted(owner: ChainedRequest, instance: number): void {
    this.#owners.set(instance, owner);
    this.audit.submitted(instance, predecessorsOf(this.#prefill));
  }

  decodeSubmitted(owner: ChainedRequest, instance: number, before: number, beforeIsPrefill: boolean): void {
    this.#owners.set(instance, owner);
    const needs = beforeIsPrefill ? this.#afterPrefill : this.#afterDecode;
    this.audit.submitted(instance, predecessorsOf(this.#decode), onInstance(needs, before));
  }

  started(instance: number, operator: number, accelerator: number, atNs: number): void {
    this.audit.started(instance, operator, accelerator, atNs);
    this.#startedNs.set(accelerator, atNs);
  }

  ended(instance: number, operator: number, accelerator: number, atNs: number): void {
    this.audit.ended(instance, operator, accelerator, atNs);
    this.busy.add(accelerator, this.#startedNs.get(accelerator) ?? atNs, atNs);
    this.lastEndNs = atNs;
  }

  /** Whose pass ended; each instance is settled once. */
  settle(instance: number): ChainedRequest | undefined {
    const owner = this.#owners.get(instance);
    this.#owners.delete(instance);
    return owner;
  }
}

function predecessorsOf(template: Template): readonly (readonly number[])[] {
  return template.operators.map((operator) => operator.predecessors);
}

class SliceSchedulerEngine implements ReplayEngine {
  listener: EngineListener | undefined;
  readonly scheduler: SliceScheduler;
  readonly prefill: TemplateHandle<PrefillSpec>;
  readonly decode: TemplateHandle<DecodeSpec>;
  readonly books: Books;
  readonly #options: ReplayOptions;
  readonly #specs: readonly [PrefillSpec, DecodeSpec];
  readonly #time = new SimulatedTime();
  readonly #listenerErrors: unknown[] = [];
  #scheduled = 0;

  constructor(options: ReplayOptions, prefill: PrefillSpec, decode: DecodeSpec) {
    const { cluster, seed, noise } = options;
    this.#options = options;
    this.#specs = [prefill, decode];
    this.books = new Books(options, prefill, decode);
    const truth = colocationDurations({ prefill: prefill.name, decode: decode.name, layersPerOperator });
    const executor = virtualExecutor({
      seed,
      time: this.#time,
      operatorNs: (work: VirtualOperator) => truth.operatorNs(work.template, work.symbols),
      transferNs: (work: VirtualTransfer) => truth.transferNs(work.bytes),
      operatorCv: noise?.operatorCv ?? operatorNoiseCv,
      transferCv: noise?.transferCv ?? transferNoiseCv,
    });
    this.scheduler = new SliceScheduler({
      cluster,
      executor,
      priorities: ["online", "offline"],
      // A listener that throws must stop the replay, not the process.
      onListenerError: (error) => {
        this.#listenerErrors.push(error);
      },
      ...(options.hostNowNs === undefined ? {} : { hostNowNs: options.hostNowNs }),
    });
    this.prefill = this.scheduler.register(prefill);
    this.decode = this.scheduler.register(decode);
    this.#listen();
  }

  at(atNs: number, callback: () => void): void {
    // After everything the executor does at that instant.
    this.#time.at(atNs, { kind: 9, number: this.#scheduled++ }, callback);
  }

  openRequest(options: EngineRequestOptions): EngineRequest {
    const { inputTokens, outputTokens, class: priority, partitions } = options;
    const limits = [{ template: this.prefill, symbols: { tokens: inputTokens } }];
    const steps = { template: this.decode, symbols: { past: inputTokens + outputTokens - 2 } };
    const request = this.scheduler.openRequest({
      priority,
      partitions,
      limits: outputTokens > 1 ? [...limits, steps] : limits,
    });
    return new ChainedRequest(this, options, request);
  }

  run(): void {
    this.#time.run();
    if (this.#listenerErrors.length > 0) throw this.#listenerErrors[0];
  }

  close(): void {
    this.scheduler.close();
  }

  /** What the run left behind, by the books and by the master's own statistics. */
  outcome(policy: string, records: readonly RequestRecord[]): ReplayOutcome {
    const { cluster, online, offline } = this.#options;
    const stats = this.scheduler.stats();
    const weights = weightBytesPerAccelerator(cluster, this.#specs);
    const utilization = this.books.busy.utilization();
    return {
      policy,
      windowNs: online.windowNs,
      endNs: this.books.lastEndNs,
      records,
      offlineOffered: offline.length,
      accelerators: cluster.accelerators.map((accelerator, index) => ({
        name: accelerator.name,
        capacityBytes: accelerator.hbmBytes - (accelerator.marginBytes ?? 0),
        fixedBytes: (accelerator.externalBaselineBytes ?? 0) + (weights.get(accelerator.name) ?? 0),
        usedBytesAtEnd: stats.accelerators[index]?.usedHbmBytes ?? Number.NaN,
        peakHbmBytes: stats.accelerators[index]?.peakHbmBytes ?? Number.NaN,
        utilization: utilization[index] ?? 0,
      })),
      operatorsDone: this.books.audit.operatorsDone,
      rounds: stats.rounds,
      hostNsPerRound: stats.hostNsInRounds === null ? null : stats.hostNsInRounds / Math.max(1, stats.rounds),
      leftInGraph: stats.instances + stats.requests,
      standstills: stats.standstills,
      audit: this.books.audit.failures(),
    };
  }

  #listen(): void {
    const { scheduler, books } = this;
    scheduler.on("operatorStarted", ({ instance, operator, accelerator, atNs }) =>
      books.started(instance, operator, accelerator, atNs),
    );
    scheduler.on("operatorDone", ({ instance, operator, accelerator, atNs }) =>
      books.ended(instance, operator, accelerator, atNs),
    );
    scheduler.on("instanceDone", ({ instance, atNs }) => {
      const request = books.settle(instance);
      if (request !== undefined) this.listener?.passDone(request, atNs);
    });
    scheduler.on("instanceFailed", ({ instance, error }) => {
      const request = books.settle(instance);
      if (request !== undefined) this.listener?.passFailed(request, error.message);
    });
  }
}
