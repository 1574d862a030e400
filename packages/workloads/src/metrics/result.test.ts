import { describe, expect, test } from "vitest";
import { assertReplaySound, replayFailures } from "../replay/checks.ts";
import type { ReplayOutcome } from "../replay/outcome.ts";
import type { RequestRecord } from "../replay/records.ts";
import { comparePolicies } from "./compare.ts";
import { medianComparison } from "./median.ts";
import { policyResult } from "./result.ts";

const windowNs = 10e9;

function record(
  id: number,
  change: Partial<RequestRecord> & { arrival?: number; output?: number } = {},
): RequestRecord {
  const { arrival = 0, output = 3, ...fields } = change;
  return {
    id,
    class: "online",
    request: { tenant: 0, arrivalNs: arrival * 1e9, inputTokens: 10, outputTokens: output },
    outcome: "completed",
    startedNs: arrival * 1e9,
    firstTokenNs: (arrival + 1) * 1e9,
    lastTokenNs: (arrival + 2) * 1e9,
    tokens: output,
    tokensInWindow: output,
    ...fields,
  };
}

function outcome(change: Partial<ReplayOutcome> = {}): ReplayOutcome {
  return {
    policy: "static-online",
    windowNs,
    endNs: windowNs,
    records: [],
    offlineOffered: 0,
    accelerators: [
      { name: "a0", capacityBytes: 100, fixedBytes: 10, usedBytesAtEnd: 10, peakHbmBytes: 90, utilization: 0.5 },
      { name: "a1", capacityBytes: 100, fixedBytes: 10, usedBytesAtEnd: 10, peakHbmBytes: 100, utilization: 0.25 },
    ],
    busy: { online: [0.5, 0.25], offline: [0, 0] },
    operatorsDone: 8,
    rounds: 4,
    simulatedOperators: 8,
    hostNsPerRound: null,
    leftInGraph: 0,
    standstills: 0,
    audit: [],
    ...change,
  };
}

describe("policyResult", () => {
  const late = record(1, { arrival: 9, firstTokenNs: 11e9, lastTokenNs: 12e9, tokensInWindow: 0 });
  const offline = record(2, { class: "offline", tokensInWindow: 3 });
  const dropped = record(3, {
    class: "offline",
    outcome: "dropped",
    startedNs: null,
    firstTokenNs: null,
    lastTokenNs: null,
    tokens: 0,
    tokensInWindow: 0,
  });
  const whole = outcome({ records: [record(0), late, offline, dropped], offlineOffered: 2, endNs: 12e9 });

  test("rates count the window, latencies and online completions the drain too", () => {
    const result = policyResult(whole, 2000);
    expect(result.requestsPerSecond).toBe(0.2);
    expect(result.tokensPerSecond).toBe(0.6);
    expect(result.utilization).toBe(0.375);
    expect(result.onlineCompleted).toBe(2);
    expect(result.offlineCompleted).toBe(1);
    expect(result.inWindow).toEqual({ online: 1, offline: 1, outputTokens: 6 });
    expect(result.drain).toEqual({ online: 1, offline: 0, offlineDropped: 1, seconds: 2 });
    expect(result.ttftMs).toEqual({ p50: 1500, p90: 1900, p99: 1990 });
    expect(result.tpotMs).toEqual({ p50: 500, p90: 500, p99: 500 });
  });

  test("attainment counts TTFT up to the threshold", () => {
    expect(policyResult(whole, 1999.999).sloAttainment).toBe(0.5);
    expect(policyResult(whole, 2000).sloAttainment).toBe(1);
    expect(policyResult(whole, 999).sloAttainment).toBe(0);
    expect(policyResult(whole, null).sloAttainment).toBeNull();
  });

  test("without online requests there are no latencies", () => {
    const result = policyResult(outcome({ records: [offline], offlineOffered: 1 }), 1);
    expect(result).toMatchObject({ ttftMs: null, tpotMs: null, sloAttainment: null, onlineCompleted: 0 });
  });
});

describe("comparePolicies", () => {
  const records = [record(0), record(1, { arrival: 1, firstTokenNs: 5e9, lastTokenNs: 6e9 })];
  const baseline = outcome({ records });
  const ours = outcome({
    policy: "slicescheduler",
    records: [...records, record(2, { class: "offline" }), record(3, { class: "offline" })],
    offlineOffered: 2,
    accelerators: baseline.accelerators.map((a) => ({ ...a, utilization: a.utilization + 0.25 })),
  });

  test("the threshold is Static-Online's p90 TTFT, the ratios are SliceScheduler's over it", () => {
    const { slo, ratios, policies } = comparePolicies([baseline, ours], 1);
    expect(slo).toEqual({ ttftMs: 3700, source: "static-online" });
    expect(ratios).toEqual({
      "static-online": { requestsPerSecond: 2, tokensPerSecond: 2, sloAttainmentDelta: 0, utilizationDelta: 0.25 },
    });
    expect(Object.keys(policies)).toEqual(["static-online", "slicescheduler"]);
  });

  test("without Static-Online the serial servers give the threshold; without SliceScheduler there are no ratios", () => {
    expect(comparePolicies([ours], 1500).slo).toEqual({ ttftMs: 1500, source: "serial-server" });
    expect(comparePolicies([ours], 1500).policies).toMatchObject({ slicescheduler: { sloAttainment: 0.5 } });
    expect(comparePolicies([baseline], 1500).ratios).toEqual({});
  });

  test("who sets the threshold reaches it, with one request too", () => {
    const { slo, policies } = comparePolicies([outcome({ records: [record(0)] })], 1);
    expect(slo).toEqual({ ttftMs: 1000, source: "static-online" });
    expect(policies).toMatchObject({ "static-online": { sloAttainment: 1 } });
  });

  test("without online requests there is no threshold, nor a distance", () => {
    const records = [record(0, { class: "offline" })];
    const of = (policy: string) => outcome({ policy, records, offlineOffered: 1 });
    const compared = comparePolicies([of("static-online"), of("slicescheduler")], null);
    expect(compared.slo).toBeNull();
    expect(compared.ratios["static-online"]).toMatchObject({ sloAttainmentDelta: null, requestsPerSecond: 1 });
    const median = medianComparison([compared, compared]);
    expect(median).toMatchObject({ slo: null, spread: { slicescheduler: { sloAttainment: null } } });
  });
});

describe("checks at the end of a replay", () => {
  const failed = (change: Partial<ReplayOutcome>): string[] => replayFailures(outcome(change)).map((f) => f.check);
  const [a0, a1] = outcome().accelerators;
  const accelerators = (change: object): ReplayOutcome["accelerators"] =>
    a0 === undefined || a1 === undefined ? [] : [a0, { ...a1, ...change }];

  test("a sound replay passes", () => {
    expect(failed({ records: [record(0)] })).toEqual([]);
    expect(() => assertReplaySound(outcome())).not.toThrow();
  });

  test.each<[string, Partial<ReplayOutcome>, string]>([
    ["too much HBM", { accelerators: accelerators({ peakHbmBytes: 101 }) }, "HBM within capacity"],
    ["a leak", { accelerators: accelerators({ usedBytesAtEnd: 11 }) }, "nothing resident but weights"],
    ["weights gone", { accelerators: accelerators({ usedBytesAtEnd: 9 }) }, "nothing resident but weights"],
    ["a node left", { leftInGraph: 1 }, "nothing left in the graph"],
    ["a standstill", { standstills: 2 }, "no standstill"],
    ["an audit failure", { audit: [{ check: "exactly once", detail: "x" }] }, "exactly once"],
    ["a request that still waits", { records: [record(0, { outcome: "waiting" })] }, "all requests accounted"],
    ["a failed request", { records: [record(0, { outcome: "failed" })] }, "all requests accounted"],
    ["a dropped online request", { records: [record(0, { outcome: "dropped" })] }, "all requests accounted"],
    ["a missing token", { records: [record(0, { tokens: 2 })] }, "all requests accounted"],
    ["a token before the arrival", { records: [record(0, { arrival: 5, firstTokenNs: 1 })] }, "time goes forward"],
    ["an offline request without a record", { offlineOffered: 1 }, "all requests accounted"],
  ])("%s is found and told in numbers", (_, change, check) => {
    expect(failed(change)).toEqual([check]);
    expect(() => assertReplaySound(outcome(change))).toThrowError(
      expect.objectContaining({ code: "REPLAY_CHECK_FAILED", message: expect.stringContaining(check) }),
    );
  });
});
