import type { ReplayOutcome } from "../replay/outcome.ts";
import { percentiles } from "./percentile.ts";
import { onlineTtftMs, type PolicyResult, policyResult } from "./result.ts";

/** SliceScheduler over a baseline: quotients of rates, differences of shares. */
export interface Ratios {
  readonly requestsPerSecond: number | null;
  readonly tokensPerSecond: number | null;
  /** Null without a threshold. */
  readonly sloAttainmentDelta: number | null;
  readonly utilizationDelta: number;
}

export interface SloThreshold {
  readonly ttftMs: number;
  /** Measured in Static-Online's replay, or computed with exact serial servers when that was not replayed. */
  readonly source: "static-online" | "serial-server";
}

export interface Comparison {
  /** Null without online requests. */
  readonly slo: SloThreshold | null;
  readonly policies: Readonly<Record<string, PolicyResult>>;
  /** By baseline; empty unless SliceScheduler was replayed. */
  readonly ratios: Readonly<Record<string, Ratios>>;
}

/**
 * Sets replays of one workload side by side.
 * @param serialTtftP90Ms p90 TTFT of exact serial servers, the threshold when Static-Online is not among the replays; null without
 * online requests.
 */
export function comparePolicies(outcomes: readonly ReplayOutcome[], serialTtftP90Ms: number | null): Comparison {
  const slo = thresholdOf(outcomes, serialTtftP90Ms);
  const policies: Record<string, PolicyResult> = {};
  for (const outcome of outcomes) policies[outcome.policy] = policyResult(outcome, slo?.ttftMs ?? null);
  const ratios: Record<string, Ratios> = {};
  for (const [ourName, ours] of Object.entries(policies)) {
    if (ourName !== "slicescheduler") continue;
    for (const [name, theirs] of Object.entries(policies))
      if (name !== ourName) ratios[name] = ratiosOver(ours, theirs);
  }
  return { slo, policies, ratios };
}

function thresholdOf(outcomes: readonly ReplayOutcome[], serialTtftP90Ms: number | null): SloThreshold | null {
  const reference = outcomes.find((outcome) => outcome.policy === "static-online");
  const measured = reference === undefined ? undefined : percentiles(onlineTtftMs(reference))?.p90;
  if (measured !== undefined) return { ttftMs: measured, source: "static-online" };
  return serialTtftP90Ms === null ? null : { ttftMs: serialTtftP90Ms, source: "serial-server" };
}

function ratiosOver(ours: PolicyResult, theirs: PolicyResult): Ratios {
  const quotient = (a: number, b: number): number | null => (b > 0 ? a / b : null);
  return {
    requestsPerSecond: quotient(ours.requestsPerSecond, theirs.requestsPerSecond),
    tokensPerSecond: quotient(ours.tokensPerSecond, theirs.tokensPerSecond),
    sloAttainmentDelta:
      ours.sloAttainment === null || theirs.sloAttainment === null ? null : ours.sloAttainment - theirs.sloAttainment,
    utilizationDelta: ours.utilization - theirs.utilization,
  };
}
