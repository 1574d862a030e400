/**
 * What a replay needs of a scheduler, and nothing more: simulated time, requests, and passes (a prefill or a decode step)
 * that tell when they are done. `driver.ts` gives it SliceScheduler; the tests give it a slow, obvious one.
 */
import type { RequestClass } from "./policy.ts";

export interface EngineRequestOptions {
  readonly class: RequestClass;
  readonly tenant: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Names of the partitions it may be laid on. */
  readonly partitions: readonly string[];
  /** Layers in one operator of its passes. */
  readonly layersPerOperator: number;
  /** A longer prompt is worked off in pieces of so many tokens; infinite: in one piece. */
  readonly prefillTokensMax: number;
  /** Passes and pieces of prompts submitted beyond the one that runs. */
  readonly lookahead: number;
}

/** One request inside the engine; its passes form a chain through the KV cache. */
export interface EngineRequest {
  /**
   * Submits its next pass, the prefill first and then decode steps; may be called ahead of time.
   * @param isLast nothing will refer to this pass's outputs.
   */
  submitNext(isLast: boolean): void;
  /** No further pass will be submitted; called when the last one is done. */
  close(): void;
}

export interface EngineListener {
  /** The request's passes are done in order; called at simulated time. */
  passDone(request: EngineRequest, atNs: number): void;
  /** Failed, or was cancelled; called at simulated time. */
  passFailed(request: EngineRequest, reason: string, atNs: number): void;
}

export interface ReplayEngine {
  /** Set once before the run. */
  listener: EngineListener | undefined;
  /** Calls back at that simulated time; equal times in the order of these calls. */
  at(atNs: number, callback: () => void): void;
  /** Throws ACCELERATOR_UNAVAILABLE while accelerators of all of its partitions are drained or lost. */
  openRequest(options: EngineRequestOptions): EngineRequest;
  /** Advances simulated time until nothing is left to happen. */
  run(): void;
}
