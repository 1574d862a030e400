import { describe, expect, test } from "vitest";
import { LaneQueues } from "./lanes.ts";
import { policyNames, replayPolicy } from "./policy.ts";

const partitions = ["pair0", "pair1", "pair2", "pair3", "quad0", "quad1"];

describe("replayPolicy", () => {
  test("Static-Online pins each instance to its own pair, one request at a time", () => {
    const { online, offline } = replayPolicy("static-online", { partitions, tenants: 4 });
    expect(offline).toBeNull();
    expect(online.assign).toBe("byTenant");
    expect(online.lanes.map((lane) => [lane.partitions, lane.concurrentRequestsMax])).toEqual(
      ["pair0", "pair1", "pair2", "pair3"].map((pair) => [[pair], 1]),
    );
  });

  test("SliceScheduler leaves every partition open to both classes", () => {
    const policy = replayPolicy("slicescheduler", { partitions, tenants: 4 });
    for (const group of [policy.online, policy.offline]) expect(group?.lanes[0]?.partitions).toEqual(partitions);
  });

  test("too few pairs are refused", () => {
    const terms = { partitions: ["pair0"], tenants: 4 };
    expect(() => replayPolicy("static-online", terms)).toThrowError(/1 pair\(s\)/);
  });

  test.each([
    ["slice-scheduler", "slicescheduler"],
    ["static", "static-online"],
    ["Static-Online", "static-online"],
    ["stat1c-onlin", "static-online"],
  ])("near %s there is %s", (name, near) => {
    expect(() => replayPolicy(name, { partitions, tenants: 4 })).toThrowError(`did you mean "${near}"?`);
  });

  test("a far name, and names every object has, are only told what there is", () => {
    for (const name of ["fifo", "constructor", "__proto__", ""]) {
      const known = `unknown policy "${name}"; known: ${policyNames.join(", ")}`;
      expect(() => replayPolicy(name, { partitions, tenants: 4 })).toThrowError(known);
    }
  });
});

describe("LaneQueues", () => {
  const lane = (name: string): { name: string; partitions: string[]; concurrentRequestsMax: number } => ({
    name,
    partitions: [],
    concurrentRequestsMax: 1,
  });

  test("least loaded counts waiting and running, ties go to the first", () => {
    const lanes = new LaneQueues<string>({ assign: "leastLoaded", lanes: [lane("a"), lane("b")] });
    expect(lanes.offer("1", 0)).toBe(0);
    expect(lanes.start(0)).toBe("1");
    expect(lanes.offer("2", 0)).toBe(1);
    expect(lanes.offer("3", 0)).toBe(0);
    expect(lanes.start(0)).toBeUndefined();
    lanes.finished(0);
    expect(lanes.start(0)).toBe("3");
    expect(lanes.drop()).toEqual(["2"]);
    expect(lanes.start(1)).toBeUndefined();
  });

  test("finishing what never started is a programming error", () => {
    const lanes = new LaneQueues<string>({ assign: "byTenant", lanes: [lane("a")] });
    expect(() => lanes.finished(0)).toThrowError(TypeError);
  });
});
