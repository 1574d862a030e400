import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { SerialEngine } from "../../test/serial-engine.ts";
import type { Workload, WorkloadRequest } from "../recipes/types.ts";
import { serveSerially } from "../serial/serial-server.ts";
import { type ReplayPolicy, replayPolicy } from "./policy.ts";
import type { RequestRecord } from "./records.ts";
import { type ReplayProgress, runReplay } from "./runner.ts";

const partitions = ["pair0", "pair1", "pair2", "pair3", "quad0", "quad1"];
const terms = { partitions, tenants: 4 };
const staticOnline = replayPolicy("static-online", terms);
const windowNs = 60e9;

const workload: fc.Arbitrary<Workload> = fc
  .array(
    fc.record({
      tenant: fc.nat(3),
      at: fc.nat(59_999),
      input: fc.integer({ min: 1, max: 6000 }),
      output: fc.integer({ min: 1, max: 12 }),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((drawn) => {
    const requests = drawn
      .sort((a, b) => a.at - b.at)
      .map(({ tenant, at, input, output }) => ({
        tenant,
        arrivalNs: at * 1e6,
        inputTokens: input,
        outputTokens: output,
      }));
    return { windowNs, tenants: [0, 1, 2, 3].map((tenant) => requests.filter((r) => r.tenant === tenant)) };
  });

const request = (arrivalNs: number, outputTokens = 2): WorkloadRequest => ({
  tenant: 0,
  arrivalNs,
  inputTokens: 1000,
  outputTokens,
});
const oneTenant = (...requests: WorkloadRequest[]): Workload => ({ windowNs, tenants: [requests, [], [], []] });
const of = (records: readonly RequestRecord[], requestClass: string): RequestRecord[] =>
  records.filter((record) => record.class === requestClass);

describe("runReplay", () => {
  test.prop([workload, fc.nat(3)])("Static-Online equals serial servers to the nanosecond", (online, lookahead) => {
    const engine = new SerialEngine();
    const records = runReplay(engine, { policy: staticOnline, online, offline: [], lookahead });
    const served = serveSerially(online, { passes: "afterFirstToken" });
    online.tenants.forEach((requests, tenant) => {
      const ours = records.filter((record) => record.request.tenant === tenant);
      expect(ours).toHaveLength(requests.length);
      ours.forEach((record, i) => {
        expect(record.outcome).toBe("completed");
        expect(record.tokens).toBe(record.request.outputTokens);
        expect((record.firstTokenNs ?? 0) - record.request.arrivalNs).toBeCloseTo(served.ttftNs[tenant]?.[i] ?? -1, 0);
        expect(record.startedNs).toBeCloseTo(served.busy[tenant]?.[i]?.startNs ?? -1, 0);
        expect(record.lastTokenNs).toBeCloseTo(served.busy[tenant]?.[i]?.endNs ?? -1, 0);
      });
    });
    for (const open of engine.openMost.values()) expect(open).toBe(1);
    expect(engine.submittedMost).toBeLessThanOrEqual(lookahead + 1);
    expect(engine.closed).toBe(records.length);
  });

  test("tokens are counted into the window only before its end", () => {
    // The prefill ends at 59.9 s + 0.9 s, past the window; the earlier request is all inside.
    const online = oneTenant(request(0, 3), request(59.9e9, 3));
    const records = runReplay(new SerialEngine(), { policy: staticOnline, online, offline: [] });
    expect(records.map((record) => [record.tokens, record.tokensInWindow])).toEqual([
      [3, 3],
      [3, 0],
    ]);
  });

  test("offline requests are dropped where the policy serves none", () => {
    const offline = [request(0), request(1e9)];
    const records = runReplay(new SerialEngine(), { policy: staticOnline, online: oneTenant(request(0)), offline });
    expect(of(records, "offline").map((record) => record.outcome)).toEqual(["dropped", "dropped"]);
    expect(of(records, "online").map((record) => record.outcome)).toEqual(["completed"]);
  });

  test("a serial offline lane works off its queue, and drops at the window's end what never started", () => {
    const lane = { name: "offline", partitions: ["quad0"], concurrentRequestsMax: 1 };
    const policy: ReplayPolicy = { ...staticOnline, offline: { assign: "leastLoaded", lanes: [lane] } };
    // Each takes 0.9 s + 20 × 42.3 ms = 1.746 s and one arrives every second: 35 start before 60 s.
    const offline = Array.from({ length: 60 }, (_, k) => request(k * 1e9, 21));
    const engine = new SerialEngine();
    const records = runReplay(engine, { policy, online: oneTenant(), offline });
    const outcomes = of(records, "offline").map((record) => record.outcome);
    expect(outcomes.filter((outcome) => outcome === "completed")).toHaveLength(35);
    expect(outcomes.filter((outcome) => outcome === "dropped")).toHaveLength(25);
    expect(engine.openMost.get("quad0")).toBe(1);
  });

  test("SliceScheduler starts every request at its arrival", () => {
    const policy = replayPolicy("slicescheduler", terms);
    const offline = [request(0), request(0), request(5e8)];
    const records = runReplay(new SerialEngine(), { policy, online: oneTenant(request(0), request(1)), offline });
    for (const record of records) {
      expect(record.startedNs).toBe(record.request.arrivalNs);
      expect(record.outcome).toBe("completed");
    }
  });

  test("a failed pass fails its request and frees its lane", () => {
    const engine = new SerialEngine();
    engine.failing = 0;
    const records = runReplay(engine, { policy: staticOnline, online: oneTenant(request(0), request(1)), offline: [] });
    expect(records.map((record) => record.outcome)).toEqual(["failed", "completed"]);
    expect(engine.closed).toBe(2);
  });

  test("progress comes once per simulated minute", () => {
    const seen: ReplayProgress[] = [];
    const online = { ...oneTenant(request(0), request(90e9)), windowNs: 150e9 };
    runReplay(new SerialEngine(), { policy: staticOnline, online, offline: [], onProgress: (p) => seen.push(p) });
    expect(seen.map(({ atNs, arrived, completed }) => [atNs / 1e9, arrived, completed])).toEqual([
      [60, 1, 1],
      [120, 2, 2],
    ]);
  });

  test("refuses a lookahead below 0", () => {
    const options = { policy: staticOnline, online: oneTenant(), offline: [], lookahead: -1 };
    expect(() => runReplay(new SerialEngine(), options)).toThrowError(/lookahead/);
  });
});
