/**
 * One batching engine on SliceScheduler: a request of the master with one chain of instances, the pool and then step after step, each
 * submitted as soon as the batcher composes it.
 */
import type { InstanceHandle, RequestHandle, SliceScheduler, TemplateHandle } from "slicescheduler";
import { type RequestRecord, recordToken } from "../replay/records.ts";
import { type BatchedStep, Batcher, type BatcherOptions } from "./batcher.ts";
import type { BatchedLane } from "./policies.ts";
import type { BatchedTemplates, PoolSpec, StepSpec } from "./templates.ts";
import { TokenBook } from "./token-book.ts";

/** The same five templates, registered. */
export interface RegisteredTemplates {
  readonly pool: TemplateHandle<PoolSpec>;
  readonly light: { readonly free: TemplateHandle<StepSpec>; readonly awaiting: TemplateHandle<StepSpec> };
  readonly heavy: { readonly free: TemplateHandle<StepSpec>; readonly awaiting: TemplateHandle<StepSpec> };
}

/** Told of each instance before the master can start it. */
export interface LaneBooks {
  poolSubmitted(lane: EngineLane, instance: number): void;
  /** @param before the instance it continues. @param awaited the one whose token it takes, or null. */
  stepSubmitted(lane: EngineLane, instance: number, before: number, awaited: number | null): void;
}

export interface EngineLaneOptions {
  readonly scheduler: SliceScheduler;
  readonly templates: RegisteredTemplates;
  readonly lane: BatchedLane;
  readonly priority: "online" | "offline";
  readonly batcher: BatcherOptions;
  readonly windowNs: number;
  readonly books: LaneBooks;
  /** Asked for a further request whenever less waits than a step could take; null when there is none. */
  readonly supply?: () => RequestRecord | null;
}

interface SubmittedStep {
  readonly step: BatchedStep;
  readonly handle: InstanceHandle<StepSpec>;
}

export class EngineLane {
  readonly tokens: TokenBook;
  readonly priority: "online" | "offline";
  /** In each of its instances. */
  readonly operators: number;
  readonly #options: EngineLaneOptions;
  readonly #batcher: Batcher;
  readonly #request: RequestHandle;
  readonly #records = new Map<number, RequestRecord>();
  readonly #steps = new Map<number, SubmittedStep>();
  /** Of the steps under way, by number: who awaits one names its instance. */
  readonly #instances = new Map<number, InstanceHandle<StepSpec>>();
  #latest: InstanceHandle<PoolSpec> | InstanceHandle<StepSpec>;

  /** Opens the engine's request and makes its pool. Throws what the master refuses, and INVALID_OPTION. */
  constructor(options: EngineLaneOptions) {
    const { scheduler, templates, lane, priority, batcher } = options;
    this.#options = options;
    this.priority = priority;
    this.operators = templates.pool.spec.operators.length;
    this.#batcher = new Batcher(batcher);
    this.tokens = new TokenBook(batcher);
    const largest = { tokens: batcher.stepTokensMax, cachedTokens: batcher.poolTokens };
    const { pool, light, heavy } = templates;
    const steps = [light.free, light.awaiting, heavy.free, heavy.awaiting];
    this.#request = scheduler.openRequest({
      priority,
      partitions: [lane.partition],
      limits: [{ template: pool, symbols: {} }, ...steps.map((template) => ({ template, symbols: largest }))],
      // All that are composed ahead, and one that has just ended.
      concurrentInstances: batcher.stepsUnderWayMax + 1,
      // An engine keeps its pool while nobody asks anything of it.
      mayPause: true,
      label: `${priority} ${lane.name}`,
    });
    this.#latest = scheduler.submit(pool, { symbols: {}, request: this.#request, retain: ["kv"] });
    options.books.poolSubmitted(this, this.#latest.id);
  }

  /** Tokens to read and make that are in no step yet. */
  get outstandingTokens(): number {
    return this.#batcher.outstandingTokens;
  }

  /** Queues a request that arrived. Throws MODEL_DOES_NOT_FIT for one larger than the pool. */
  offer(record: RequestRecord): void {
    this.#records.set(record.id, record);
    this.#batcher.offer(record.id, record.request);
  }

  /** Submits every step that can be composed. @param nowNs of simulated time. */
  submitSteps(nowNs: number): void {
    this.#refill();
    for (let step = this.#batcher.compose(); step !== null; step = this.#batcher.compose()) {
      this.#submit(step, nowNs);
      this.#refill();
    }
  }

  /** An instance of this engine is done: its tokens are out, and the next step can be composed. */
  instanceDone(instance: number, atNs: number): void {
    const submitted = this.#steps.get(instance);
    if (submitted === undefined) return;
    this.#steps.delete(instance);
    const { step, handle } = submitted;
    this.#instances.delete(step.number);
    this.tokens.done(step);
    const { yields, ended } = this.#batcher.done(step.number);
    for (const id of yields) recordToken(this.#record(id), atNs, this.#options.windowNs);
    for (const id of ended) {
      this.#record(id).outcome = "completed";
      this.#records.delete(id);
    }
    handle.release("token");
    this.submitSteps(atNs);
  }

  /** Requests that wait are dropped; who runs goes on to its end. */
  dropWaiting(): void {
    for (const id of this.#batcher.dropWaiting()) {
      this.#record(id).outcome = "dropped";
      this.#records.delete(id);
    }
  }

  /** Gives the pool back; nothing is to follow. */
  close(): void {
    this.#latest.release("kv");
    this.#request.close();
  }

  #refill(): void {
    const { supply, batcher } = this.#options;
    while (this.#batcher.waitingTokens < batcher.stepTokensMax) {
      const record = supply?.() ?? null;
      if (record === null) return;
      this.offer(record);
    }
  }

  #submit(step: BatchedStep, nowNs: number): void {
    const { scheduler, templates, books, batcher } = this.#options;
    this.tokens.composed(step, (id) => this.#record(id).request);
    for (const { sequence, fromToken } of step.chunks) {
      if (fromToken > 0) continue;
      const record = this.#record(sequence);
      record.outcome = "running";
      record.startedNs = nowNs;
    }
    const { free, awaiting } = step.tokens <= batcher.lightTokensMax ? templates.light : templates.heavy;
    const before = this.#latest;
    const awaited = step.awaits === null ? undefined : this.#instances.get(step.awaits);
    const { tokens, cachedTokens } = step;
    const kv = before.output("kv");
    const handle = scheduler.submit(awaited === undefined ? free : awaiting, {
      symbols: { tokens, cachedTokens },
      inputs: awaited === undefined ? { kv } : { kv, token: awaited.output("token") },
      request: this.#request,
      retain: ["kv", "token"],
    });
    books.stepSubmitted(this, handle.id, before.id, awaited?.id ?? null);
    before.release("kv");
    this.#latest = handle;
    this.#steps.set(handle.id, { step, handle });
    this.#instances.set(step.number, handle);
  }

  #record(id: number): RequestRecord {
    const record = this.#records.get(id);
    if (record === undefined) throw new TypeError(`this engine has no request ${id}`);
    return record;
  }
}

/** Registers the five with the master. */
export function registerTemplates(
  scheduler: SliceScheduler,
  { pool, light, heavy }: BatchedTemplates,
): RegisteredTemplates {
  return {
    pool: scheduler.register(pool),
    light: { free: scheduler.register(light.free), awaiting: scheduler.register(light.awaiting) },
    heavy: { free: scheduler.register(heavy.free), awaiting: scheduler.register(heavy.awaiting) },
  };
}
