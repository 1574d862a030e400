import type { WorkloadRequest } from "../recipes/types.ts";
import type { RequestClass } from "./policy.ts";

/**
 * What became of one request: `waiting` in its lane → `running` → `completed` or `failed`; or `dropped`, when it still
 * waited at the end of the window (offline only) or when the policy does not serve its class.
 */
export type RequestOutcome = "waiting" | "running" | "completed" | "failed" | "dropped";

/** The life of one request in simulated time; times count from the window's start. */
export interface RequestRecord {
  readonly id: number;
  readonly class: RequestClass;
  readonly request: WorkloadRequest;
  outcome: RequestOutcome;
  /** When it left its lane's queue, or null. */
  startedNs: number | null;
  /** End of its prefill, or null. */
  firstTokenNs: number | null;
  /** End of its latest pass so far, or null. */
  lastTokenNs: number | null;
  tokens: number;
  /** Tokens that came out before the window closed. */
  tokensInWindow: number;
}

/** A record of a request that has just arrived. */
export function newRecord(id: number, requestClass: RequestClass, request: WorkloadRequest): RequestRecord {
  return {
    id,
    class: requestClass,
    request,
    outcome: "waiting",
    startedNs: null,
    firstTokenNs: null,
    lastTokenNs: null,
    tokens: 0,
    tokensInWindow: 0,
  };
}

/** Notes one output token. */
export function recordToken(record: RequestRecord, atNs: number, windowNs: number): void {
  record.firstTokenNs ??= atNs;
  record.lastTokenNs = atNs;
  record.tokens++;
  if (atNs < windowNs) record.tokensInWindow++;
}
