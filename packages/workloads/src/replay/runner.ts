/** Plays requests into an engine under a policy: arrival → lane → passes, a few ahead → completion → next of the lane. */
import { InvalidOptionError } from "../errors.ts";
import { requestsByArrival, type Workload, type WorkloadRequest } from "../recipes/types.ts";
import type { EngineRequest, EngineRequestOptions, ReplayEngine } from "./engine.ts";
import { LaneQueues } from "./lanes.ts";
import { layersPerOperatorOf } from "./passes.ts";
import type { LaneGroup, ReplayPolicy, RequestClass } from "./policy.ts";
import { newRecord, type RequestRecord, recordToken } from "./records.ts";

export interface ReplayProgress {
  readonly policy: string;
  readonly atNs: number;
  readonly windowNs: number;
  readonly arrived: number;
  readonly completed: number;
}

export interface RunnerOptions {
  readonly policy: ReplayPolicy;
  readonly online: Workload;
  /** Ascending by arrival. */
  readonly offline: readonly WorkloadRequest[];
  /** Passes submitted beyond the one that runs, at least 0. Default 1. */
  readonly lookahead?: number;
  /** Called once per simulated minute of the window. */
  readonly onProgress?: (progress: ReplayProgress) => void;
}

interface RunningRequest {
  readonly record: RequestRecord;
  readonly lanes: LaneQueues<RequestRecord>;
  readonly lane: number;
  readonly lookahead: number;
  submitted: number;
}

const minuteNs = 60e9;
/** A lane that was refused tries its next request so long after; otherwise all that wait would fail at once. */
const refusedWaitNs = 1e9;

/**
 * Runs the whole workload and its drain; returns one record per request, offline ones of an unserved class included.
 * At the end of the window, offline requests that never started are dropped; all others run to their end, or fail. Errors: INVALID_OPTION.
 */
export function runReplay(engine: ReplayEngine, options: RunnerOptions): RequestRecord[] {
  const records = scheduleReplay(engine, options);
  engine.run();
  return records;
}

/** The same, but leaves the running to the caller: the records fill as the engine's time advances. Errors: INVALID_OPTION. */
export function scheduleReplay(engine: ReplayEngine, options: RunnerOptions): RequestRecord[] {
  const runner = new Runner(engine, options);
  runner.schedule();
  return runner.records;
}

class Runner {
  readonly records: RequestRecord[] = [];
  readonly #engine: ReplayEngine;
  readonly #options: RunnerOptions;
  readonly #lookahead: number;
  readonly #running = new Map<EngineRequest, RunningRequest>();
  #completed = 0;

  constructor(engine: ReplayEngine, options: RunnerOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#lookahead = options.lookahead ?? 1;
    if (!Number.isInteger(this.#lookahead) || this.#lookahead < 0) {
      throw new InvalidOptionError("lookahead", options.lookahead, "a whole number from 0");
    }
    engine.listener = {
      passDone: (request, atNs) => this.#passDone(request, atNs),
      passFailed: (request, _, atNs) => this.#passFailed(request, atNs),
    };
  }

  schedule(): void {
    const { policy, online, offline, onProgress } = this.#options;
    const { windowNs } = online;
    this.#scheduleClass("online", policy.online, requestsByArrival(online));
    const offlineLanes = this.#scheduleClass("offline", policy.offline, offline);
    this.#engine.at(windowNs, () => {
      for (const record of offlineLanes?.drop() ?? []) record.outcome = "dropped";
    });
    if (onProgress === undefined) return;
    for (let atNs = minuteNs; atNs <= windowNs; atNs += minuteNs) {
      this.#engine.at(atNs, () => {
        const arrived = this.records.length;
        onProgress({ policy: policy.name, atNs, windowNs, arrived, completed: this.#completed });
      });
    }
  }

  #scheduleClass(
    requestClass: RequestClass,
    group: LaneGroup | null,
    requests: readonly WorkloadRequest[],
  ): LaneQueues<RequestRecord> | null {
    if (group?.lanes.length === 0 && requests.length > 0)
      throw new InvalidOptionError(
        "policy",
        `one without a lane for them`,
        `one with lanes for ${requestClass} requests`,
      );
    const lanes = group === null ? null : new LaneQueues<RequestRecord>(group);
    for (const request of requests) {
      this.#engine.at(request.arrivalNs, () => {
        const record = newRecord(this.records.length, requestClass, request);
        this.records.push(record);
        if (lanes === null || group === null) record.outcome = "dropped";
        else this.#startNext(group, lanes, lanes.offer(record, request.tenant), request.arrivalNs);
      });
    }
    return lanes;
  }

  #startNext(group: LaneGroup, lanes: LaneQueues<RequestRecord>, lane: number, nowNs: number): void {
    const record = lanes.start(lane);
    const partitions = group.lanes[lane]?.partitions;
    if (record === undefined || partitions === undefined) return;
    record.outcome = "running";
    record.startedNs = nowNs;
    const { tenant, inputTokens, outputTokens } = record.request;
    const options = {
      class: record.class,
      tenant,
      inputTokens,
      outputTokens,
      partitions,
      layersPerOperator: layersPerOperatorOf(group),
      prefillTokensMax: group.prefillTokensMax ?? Number.POSITIVE_INFINITY,
      lookahead: group.lookahead ?? this.#lookahead,
    };
    const request = this.#opened(options);
    if (request === null) {
      record.outcome = "failed";
      this.#engine.at(nowNs + refusedWaitNs, () => {
        lanes.finished(lane);
        this.#startNext(group, lanes, lane, nowNs + refusedWaitNs);
      });
      return;
    }
    const running = { record, lanes, lane, lookahead: options.lookahead, submitted: 0 };
    this.#running.set(request, running);
    this.#submitAhead(request, running);
  }

  /** Null where it is refused because the accelerators it may use are drained or lost. */
  #opened(options: EngineRequestOptions): EngineRequest | null {
    try {
      return this.#engine.openRequest(options);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ACCELERATOR_UNAVAILABLE") return null;
      throw error;
    }
  }

  #submitAhead(request: EngineRequest, running: RunningRequest): void {
    const { record } = running;
    const last = record.request.outputTokens;
    while (running.submitted < last && running.submitted < record.tokens + 1 + running.lookahead) {
      running.submitted++;
      request.submitNext(running.submitted === last);
    }
  }

  #passDone(request: EngineRequest, atNs: number): void {
    const running = this.#running.get(request);
    if (running === undefined) return;
    const { record } = running;
    recordToken(record, atNs, this.#options.online.windowNs);
    if (record.tokens < record.request.outputTokens) {
      this.#submitAhead(request, running);
      return;
    }
    record.outcome = "completed";
    this.#completed++;
    this.#leave(request, running, atNs);
  }

  #passFailed(request: EngineRequest, atNs: number): void {
    const running = this.#running.get(request);
    if (running === undefined) return;
    running.record.outcome = "failed";
    this.#leave(request, running, atNs);
  }

  #leave(request: EngineRequest, running: RunningRequest, nowNs: number): void {
    this.#running.delete(request);
    request.close();
    running.lanes.finished(running.lane);
    const { policy } = this.#options;
    const group = running.record.class === "online" ? policy.online : policy.offline;
    if (group !== null) this.#startNext(group, running.lanes, running.lane, nowNs);
  }
}
