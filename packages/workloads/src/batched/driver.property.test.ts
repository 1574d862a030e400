import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import type { Workload, WorkloadRequest } from "../recipes/types.ts";
import { type BatchedOutcome, type BatchedReplayOptions, replayBatched } from "./driver.ts";
import { batchedTransferNs, stepOperatorNs } from "./durations.ts";
import { batchedPolicy, batchedPolicyNames } from "./policies.ts";

const windowNs = 4e9;
const cluster = colocationCluster();
const exact = { operatorCv: 0, transferCv: 0 };

function options(policy: string, online: Workload, more: Partial<BatchedReplayOptions> = {}): BatchedReplayOptions {
  const terms = { tenants: 4, accelerators: 8, onlineStepTokens: 64, offlineStepTokens: 92 };
  const offline = { inputTokens: 300, outputTokens: 5 };
  return { cluster, policy: batchedPolicy(policy, terms), online, offline, seed: 1, ...more };
}

const oneOf = (...requests: WorkloadRequest[]): Workload => ({ windowNs, tenants: [requests, [], [], []] });

/** Of a request alone on a pair: when each token is out, step by step through two stages of two operators each. */
function aloneOnPair({ inputTokens, outputTokens }: WorkloadRequest, stepTokens: number): number[] {
  const outNs: number[] = [];
  const doneNs: number[] = [];
  // Each accelerator has made two parts of the pool first.
  let freeNs: [number, number] = [2000, 2000];
  let cached = 0;
  const run = (tokens: number, fromNs: number): number => {
    const stageNs = 2 * stepOperatorNs(8, tokens, cached);
    const windowOpensNs = doneNs[doneNs.length - 3] ?? 0;
    const leavesNs = Math.max(freeNs[0], fromNs, windowOpensNs) + stageNs;
    const endNs = Math.max(freeNs[1], leavesNs + batchedTransferNs(tokens * 8192)) + stageNs;
    freeNs = [leavesNs, endNs];
    cached += tokens;
    doneNs.push(endNs);
    return endNs;
  };
  while (cached < inputTokens) {
    const endNs = run(Math.min(stepTokens, inputTokens - cached), 0);
    if (cached === inputTokens) outNs.push(endNs);
  }
  // The token goes back to the first stage.
  while (outNs.length < outputTokens) outNs.push(run(1, (outNs.at(-1) ?? 0) + batchedTransferNs(8)));
  return outNs;
}

const request = fc.record({
  tenant: fc.nat(3),
  arrivalMs: fc.nat(3999),
  inputTokens: fc.integer({ min: 1, max: 400 }),
  outputTokens: fc.integer({ min: 1, max: 6 }),
});
const workload: fc.Arbitrary<Workload> = fc.array(request, { minLength: 1, maxLength: 14 }).map((drawn) => {
  const sorted = [...drawn].sort((a, b) => a.arrivalMs - b.arrivalMs);
  const requests = sorted.map(({ arrivalMs, ...rest }) => ({ ...rest, arrivalNs: arrivalMs * 1e6 }));
  return { windowNs, tenants: [0, 1, 2, 3].map((tenant) => requests.filter((it) => it.tenant === tenant)) };
});

describe("replayBatched", () => {
  test.prop([fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 6 })], { numRuns: 20 })(
    "a request alone takes, to the nanosecond, what its steps take one after the other",
    (inputTokens, outputTokens) => {
      const only = { tenant: 0, arrivalNs: 0, inputTokens, outputTokens };
      const { records } = replayBatched(options("static-online", oneOf(only), { noise: exact }));
      const expected = aloneOnPair(only, 64);
      expect(records).toHaveLength(1);
      expect(records[0]?.firstTokenNs).toBe(expected[0]);
      expect(records[0]?.lastTokenNs).toBe(expected.at(-1));
    },
  );

  test.prop([workload, fc.constantFrom(...batchedPolicyNames), fc.constantFrom(416, 1024, 65_536), fc.nat(99)], {
    numRuns: 30,
  })("every policy serves everybody, also from a pool that only a few fit in", (online, policy, poolTokens, seed) => {
    // The replay itself throws when a token, an operator or a byte is not where it should be.
    const outcome = replayBatched(options(policy, online, { poolTokens, seed }));
    for (const { class: kind, outcome: state, tokens, request: asked } of outcome.records) {
      if (kind === "offline" && state === "dropped") continue;
      expect(state).toBe("completed");
      expect(tokens).toBe(asked.outputTokens);
    }
    const served = outcome.records.filter((record) => record.class === "online");
    expect(served).toHaveLength(online.tenants.flat().length);
    expect(outcome.records.length - served.length).toBe(outcome.offlineOffered);
    for (const { peakHbmBytes, capacityBytes, fixedBytes } of outcome.accelerators) {
      expect(peakHbmBytes).toBeLessThanOrEqual(capacityBytes);
      expect(peakHbmBytes).toBeGreaterThanOrEqual(fixedBytes);
    }
  });

  test("offline engines are never short of work: with nobody online to speak of they keep their accelerators busy", () => {
    const outcome = replayBatched(
      options("slicescheduler", oneOf({ tenant: 0, arrivalNs: 0, inputTokens: 1, outputTokens: 1 })),
    );
    for (const share of outcome.busy.offline) expect(share).toBeGreaterThan(0.95);
  });

  test("equal seeds give equal outcomes, other seeds others", () => {
    const online = oneOf(
      ...[0, 1e9, 1.1e9].map((arrivalNs) => ({ tenant: 0, arrivalNs, inputTokens: 500, outputTokens: 4 })),
    );
    const run = (seed: number): BatchedOutcome => replayBatched(options("slicescheduler", online, { seed }));
    expect(run(3)).toEqual(run(3));
    expect(run(3).endNs).not.toBe(run(4).endNs);
  });

  test("the pools lie in HBM from the start: one that does not fit is refused by the master's claims", () => {
    const online = oneOf({ tenant: 0, arrivalNs: 0, inputTokens: 1, outputTokens: 1 });
    const { poolTokens, accelerators } = replayBatched(options("static-online", online));
    for (const { peakHbmBytes, fixedBytes } of accelerators) {
      expect(peakHbmBytes - fixedBytes).toBeGreaterThanOrEqual(poolTokens * 16 * 4096);
    }
    expect(() => replayBatched(options("static-online", online, { poolTokens: poolTokens * 2 }))).toThrow(
      expect.objectContaining({ code: "NEVER_FITS" }),
    );
  });

  test("what cannot be served is refused by code", () => {
    const nobody = { windowNs, tenants: [[], [], [], []] };
    expect(() => replayBatched(options("static-online", nobody))).toThrow(
      expect.objectContaining({ code: "WORKLOAD_EMPTY" }),
    );
    const long = oneOf({ tenant: 0, arrivalNs: 0, inputTokens: 500, outputTokens: 1 });
    expect(() => replayBatched(options("static-online", long, { poolTokens: 480 }))).toThrow(
      expect.objectContaining({ code: "MODEL_DOES_NOT_FIT" }),
    );
    const small = colocationCluster({ hbmBytes: 8e9 });
    expect(() => replayBatched(options("static-online", long, { cluster: small }))).toThrow(
      expect.objectContaining({ code: "MODEL_DOES_NOT_FIT" }),
    );
  });
});
