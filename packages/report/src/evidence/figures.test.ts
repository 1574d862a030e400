import { RunRecorder } from "@slicescheduler/timeline";
import {
  azure2023Profile,
  colocationCluster,
  colocationOffline,
  generateTraces,
  offlineRequests,
  policyResult,
  recipeB48,
  replay,
  shortened,
} from "@slicescheduler/workloads";
import { expect, test } from "vitest";
import type { ReportPolicy } from "../input.ts";
import { compare, type Figures } from "./figures.ts";
import { runOf } from "./run.ts";

const cluster = colocationCluster();
const traces = generateTraces(azure2023Profile, 3);
const online = shortened(recipeB48(traces.arrivals, traces.lengths, 0.0325), 20e9);

function replayed(policy: string): ReportPolicy {
  const recorder = new RunRecorder({ cluster });
  const outcome = replay({
    cluster,
    policy,
    online,
    offline: offlineRequests(colocationOffline, online.windowNs),
    seed: 1,
    onScheduler: (scheduler) => recorder.attach(scheduler),
    onEvent: recorder.onEvent,
    onToken: (request, atNs) => recorder.token(request, atNs),
  });
  return { name: policy, record: recorder.finish(), outcome };
}

function figuresOf(policies: readonly ReportPolicy[], windowNs?: number): readonly Figures[] {
  const input = { title: "T", policies, ...(windowNs === undefined ? {} : { windowNs }) };
  const runs = policies.map((policy) => runOf(policy, windowNs));
  return compare(runs, input).figures;
}

test("figures of a replay are those of its comparison, and a record alone gives the same", () => {
  const policies = ["static-online", "slicescheduler"].map(replayed);
  const [reference] = figuresOf(policies);
  const slo = reference?.ttftMs?.p90 ?? Number.NaN;
  const alone = figuresOf(
    policies.map(({ name, record }) => ({ name, record })),
    online.windowNs,
  );
  figuresOf(policies).forEach((found, i) => {
    const outcome = policies[i]?.outcome;
    if (outcome === undefined) throw new Error("no outcome");
    const expected = policyResult(outcome, slo);
    expect(found.requestsPerSecond).toBe(expected.requestsPerSecond);
    expect(found.tokensPerSecond).toBe(expected.tokensPerSecond);
    expect(found.sloAttainment).toBe(expected.sloAttainment);
    expect(found.ttftMs).toEqual(expected.ttftMs);
    expect(found.tpotMs).toEqual(expected.tpotMs);
    expect(found.utilization).toBeCloseTo(expected.utilization, 9);
    expect(found.operators).toBe(expected.operators);
    expect(found.requests).toBe(expected.onlineOffered + expected.offlineOffered);
    expect(found.dropped).toBe(expected.drain.offlineDropped);
    expect(found.completed + found.dropped).toBe(found.requests);
    // The record knows when a request was submitted, which is when it left its lane's queue: waiting in a lane is the outcome's to tell.
    const { requestsPerSecond, tpotMs, utilization, peakHbmShare, operators, completed } = alone[i] ?? found;
    expect({ requestsPerSecond, tpotMs, utilization, peakHbmShare, operators, completed }).toEqual({
      requestsPerSecond: found.requestsPerSecond,
      tpotMs: found.tpotMs,
      utilization: found.utilization,
      peakHbmShare: found.peakHbmShare,
      operators: found.operators,
      completed: found.completed,
    });
  });
});
