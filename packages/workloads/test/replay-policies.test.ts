/** Every policy on the real engine, two minutes of generated requests: what each promises, and the yardsticks it is held to. */
import {
  azure2023Profile,
  colocationCluster,
  colocationOffline,
  colocationShare,
  generateTraces,
  offlineRequests,
  policyNames,
  policyResult,
  type ReplayOptions,
  type ReplayOutcome,
  type ReplayPolicy,
  type RequestRecord,
  recipeB48,
  replay,
  replayPolicy,
  serveSerially,
  shortened,
} from "@slicescheduler/workloads";
import { describe, expect, test } from "vitest";

const windowNs = 120e9;
const { arrivals, lengths } = generateTraces(azure2023Profile, 3);
const online = shortened(recipeB48(arrivals, lengths, colocationShare), windowNs);
const offline = offlineRequests(colocationOffline, windowNs);
const cluster = colocationCluster();
const exact = { operatorCv: 0, transferCv: 0 };

const run = (policy: ReplayOptions["policy"], change: Partial<ReplayOptions> = {}): ReplayOutcome =>
  replay({ cluster, policy, online, offline, seed: 1, noise: exact, ...change });
const outcomes = new Map(policyNames.map((name) => [name, run(name)]));
const of = (name: string, requestClass: string): RequestRecord[] =>
  (outcomes.get(name)?.records ?? []).filter((record) => record.class === requestClass);
const offlineDone = (name: string): number =>
  of(name, "offline").filter((record) => record.outcome === "completed").length;

/** Most requests under way at once. */
function mostUnderWay(records: readonly RequestRecord[]): number {
  const edges = records.flatMap(({ startedNs, lastTokenNs }) =>
    startedNs === null || lastTokenNs === null
      ? []
      : [
          { at: startedNs, step: 1 },
          { at: lastTokenNs, step: -1 },
        ],
  );
  edges.sort((a, b) => a.at - b.at || a.step - b.step);
  let underWay = 0;
  let most = 0;
  for (const { step } of edges) {
    underWay += step;
    most = Math.max(most, underWay);
  }
  return most;
}

describe("policies on the engine", () => {
  test("Static-Online is serial servers, but for the transfers", () => {
    const served = serveSerially(online, { passes: "afterFirstToken" });
    online.tenants.forEach((_, tenant) => {
      const records = of("static-online", "online").filter((record) => record.request.tenant === tenant);
      records.forEach((record, i) => {
        const ttftNs = (record.firstTokenNs ?? 0) - record.request.arrivalNs;
        // A transfer of 2,048 tokens takes 1.4 ms; queues add those of the requests before.
        expect(ttftNs / (served.ttftNs[tenant]?.[i] ?? 1)).toBeGreaterThanOrEqual(0.999_999);
        expect(ttftNs / (served.ttftNs[tenant]?.[i] ?? 1)).toBeLessThan(1.01);
      });
    });
  });

  test.each([
    ["subset-share", 1],
    ["subset-share-pipelined", 4],
    ["dual-share", 2],
    ["dual-share-pipelined", 8],
    ["full-share", 1],
    ["full-share-pipelined", 8],
    ["full-share-deep", 1],
  ])("%s has at most %i offline requests under way, and reaches that", (name, most) => {
    expect(mostUnderWay(of(name, "offline"))).toBe(most);
  });

  test("a baseline's online requests never run beside another of the same instance", () => {
    for (const name of policyNames.filter((each) => each !== "slicescheduler"))
      for (let tenant = 0; tenant < 4; tenant++)
        expect(mostUnderWay(of(name, "online").filter((record) => record.request.tenant === tenant))).toBe(1);
  });

  test("more offline instances and pipelining serve more; SliceScheduler serves the most", () => {
    expect(offlineDone("static-online")).toBe(0);
    expect(offlineDone("dual-share")).toBeGreaterThan(1.5 * offlineDone("subset-share"));
    for (const name of ["subset-share", "dual-share", "full-share"])
      expect(offlineDone(`${name}-pipelined`)).toBeGreaterThan(1.3 * offlineDone(name));
    for (const name of policyNames.filter((each) => each !== "slicescheduler"))
      expect(offlineDone("slicescheduler")).toBeGreaterThan(offlineDone(name));
  });

  test("the deep form of Full-Share is the weaker one, which is why it is not the baseline", () => {
    expect(offlineDone("full-share-deep")).toBeLessThan(offlineDone("full-share"));
  });
});

describe("prompts in pieces", () => {
  const policy = replayPolicy("slicescheduler", {
    partitions: ["pair0", "pair1", "pair2", "pair3", "quad0", "quad1"],
    tenants: 4,
  });
  const inPieces = (prefillTokensMax: number): ReplayPolicy => ({
    ...policy,
    offline: policy.offline === null ? null : { ...policy.offline, prefillTokensMax },
  });

  test("alone on a pair, a prompt in pieces has its first token when the last piece is through", () => {
    const request = { tenant: 0, arrivalNs: 0, inputTokens: 1000, outputTokens: 3 };
    const single = { windowNs, tenants: [[], [], [], []] };
    const lanes = [{ name: "one", partitions: ["pair0"], concurrentRequestsMax: 1 }];
    const onPair = (prefillTokensMax?: number): RequestRecord | undefined => {
      const group = {
        assign: "leastLoaded",
        lanes,
        ...(prefillTokensMax === undefined ? {} : { prefillTokensMax }),
      } as const;
      return run({ ...policy, offline: group }, { online: single, offline: [request] }).records[0];
    };
    const whole = onPair();
    const pieces = onPair(300);
    // 1,000 tokens: 0.9 s through the pair. In pieces the first accelerator works on the next one while the second has the last: the
    // second alone takes 0.45 s after the first piece's 0.135 s, the transfer apart.
    expect((whole?.firstTokenNs ?? 0) / 1e9).toBeCloseTo(0.9, 2);
    expect((pieces?.firstTokenNs ?? 0) / 1e9).toBeCloseTo(0.135 + 0.45, 1);
    expect(pieces?.tokens).toBe(3);
  });

  test("under plain priority, pieces serve the same requests with less disturbance of online tokens", () => {
    const plain = { scheduling: { slices: false } } as const;
    const whole = policyResult(run(policy, plain), 1e9);
    const pieces = policyResult(run(inPieces(256), plain), 1e9);
    expect(pieces.onlineCompleted).toBe(whole.onlineCompleted);
    expect(pieces.offlineCompleted).toBeGreaterThan(0.95 * whole.offlineCompleted);
    expect(pieces.tpotMs?.p50 ?? 0).toBeLessThan((whole.tpotMs?.p50 ?? 0) * 0.8);
  });
});

test("slice fitting: online tokens come as fast as without offline work, and offline work is served all the same", () => {
  const fitted = policyResult(outcomes.get("slicescheduler") ?? run("slicescheduler"), 1e9);
  const alone = policyResult(run("slicescheduler", { offline: [] }), 1e9);
  expect((fitted.tpotMs?.p50 ?? 0) / (alone.tpotMs?.p50 ?? 1)).toBeLessThan(1.1);
  expect(fitted.offlineCompleted).toBeGreaterThan(0.9 * offline.length);
});

describe("disturbed truths", () => {
  test("half as long is twice as fast", () => {
    const single = {
      windowNs,
      tenants: [[{ tenant: 0, arrivalNs: 0, inputTokens: 1000, outputTokens: 2 }], [], [], []],
    };
    const firstTokenNs = (factor: number): number =>
      run("static-online", { online: single, disturbance: { bias: { pass: "prefill", factor, fromNs: 0 } } }).records[0]
        ?.firstTokenNs ?? 0;
    // But for the transfer of the activations, which takes as long as ever.
    expect(firstTokenNs(0.5) / firstTokenNs(1)).toBeCloseTo(0.5, 2);
  });

  test("a slow accelerator is busier, and only its own pair feels it", () => {
    const busy = (change: Partial<ReplayOptions>): number[] =>
      run("static-online", change).accelerators.map((it) => it.utilization);
    const usual = busy({});
    const slow = busy({ disturbance: { slowAccelerator: { name: "a0", factor: 2, fromNs: 0 } } });
    expect(slow[0]).toBeGreaterThan(1.2 * (usual[0] ?? 0));
    expect(slow.slice(2)).toEqual(usual.slice(2));
  });
});
