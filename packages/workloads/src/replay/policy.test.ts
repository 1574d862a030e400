import { describe, expect, test } from "vitest";
import { LaneQueues } from "./lanes.ts";
import { policyNames, replayPolicy } from "./policy.ts";

const usual = ["pair0", "pair1", "pair2", "pair3", "quad0", "quad1"];
const partitions = [...usual, "single0", "spread0", "spread1", "eight0"];

describe("replayPolicy", () => {
  test("Static-Online pins each instance to its own pair, one request at a time", () => {
    const { online, offline } = replayPolicy("static-online", { partitions, tenants: 4 });
    expect(offline).toBeNull();
    expect(online.assign).toBe("byTenant");
    expect(online.lanes.map((lane) => [lane.partitions, lane.concurrentRequestsMax])).toEqual(
      ["pair0", "pair1", "pair2", "pair3"].map((pair) => [[pair], 1]),
    );
  });

  test("SliceScheduler leaves pairs and quads open to both classes, without a limit", () => {
    const policy = replayPolicy("slicescheduler", { partitions, tenants: 4 });
    for (const group of [policy.online, policy.offline]) {
      expect(group?.lanes).toHaveLength(1);
      expect(group?.lanes[0]).toMatchObject({ partitions: usual, concurrentRequestsMax: Number.POSITIVE_INFINITY });
    }
  });

  test.each([
    ["subset-share", [["quad0"]], 1, 4],
    ["dual-share", [["quad0"], ["quad1"]], 1, 4],
    ["full-share", [["spread0", "spread1"]], 1, 8],
  ] as const)(
    "%s: the online part is Static-Online's; its offline instances are serial, or filled stage by stage",
    (name, places, serial, pipelined) => {
      const online = replayPolicy("static-online", { partitions, tenants: 4 }).online;
      for (const [policy, most] of [
        [replayPolicy(name, { partitions, tenants: 4 }), serial],
        [replayPolicy(`${name}-pipelined`, { partitions, tenants: 4 }), pipelined],
      ] as const) {
        expect(policy.online).toEqual(online);
        expect(policy.offline?.lanes.map((lane) => lane.partitions)).toEqual(places);
        expect(policy.offline?.lanes.map((lane) => lane.concurrentRequestsMax)).toEqual(places.map(() => most));
      }
    },
  );

  test("only Dual-Share, with its threshold, and SliceScheduler look ahead to the next online operator", () => {
    const slices = new Map(
      policyNames.map((name) => [name, replayPolicy(name, { partitions, tenants: 4 }).scheduling?.slices]),
    );
    for (const [name, of] of slices) {
      if (name.startsWith("dual-share")) expect(of).toEqual({ toleranceNs: 400e6 });
      else expect(of).toBe(name === "slicescheduler" ? undefined : false);
    }
  });

  test("Full-Share's deep form has an operator of four layers on each accelerator", () => {
    const { offline } = replayPolicy("full-share-deep", { partitions, tenants: 4 });
    expect(offline).toMatchObject({
      layersPerOperator: 4,
      lanes: [{ partitions: ["eight0"], concurrentRequestsMax: 1 }],
    });
  });

  test("each policy carries the name it is asked for, and says in a line what it does", () => {
    for (const name of policyNames) {
      const policy = replayPolicy(name, { partitions, tenants: 4 });
      expect(policy.name).toBe(name);
      expect(policy.summary).toMatch(/^[^\n]{10,100}$/);
    }
  });

  test("a cluster without a place for the offline instance is refused, and the policy named that wants one", () => {
    const ofSix = [0, 1, 2, 3, 4, 5].map((index) => `single${index}`);
    expect(() => replayPolicy("dual-share", { partitions: [...ofSix, "pair0", "quad0"], tenants: 4 })).toThrowError(
      'cluster must be one of eight accelerators for policy "dual-share", not one of 6',
    );
    for (const name of policyNames.filter((known) => known.includes("share"))) {
      expect(() => replayPolicy(name, { partitions: ["single0", "single1", "pair0"], tenants: 4 })).toThrowError(
        `cluster must be one of eight accelerators for policy "${name}", not one of 2`,
      );
    }
  });

  test("fewer places than instances: they share them in turn; no place at all is refused", () => {
    const { online } = replayPolicy("static-online", { partitions: ["pair0"], tenants: 4 });
    expect(online.lanes.map((lane) => lane.partitions)).toEqual([["pair0"]]);
    expect(new LaneQueues<string>(online).offer("request", 3)).toBe(0);
    for (const name of ["static-online", "slicescheduler"]) {
      expect(() => replayPolicy(name, { partitions: ["single0"], tenants: 4 })).toThrowError(/fewer than 2/);
    }
  });

  test("instances of one and of four accelerators", () => {
    const lanes = (name: string, instanceAccelerators: number) =>
      replayPolicy(name, { partitions, tenants: 4, instanceAccelerators }).online.lanes.map((lane) => lane.partitions);
    expect(lanes("static-online", 1)).toEqual([["single0"]]);
    expect(lanes("static-online", 4)).toEqual([["quad0"], ["quad1"]]);
    expect(lanes("slicescheduler", 1)).toEqual([["single0", "pair0", "pair1", "pair2", "pair3"]]);
    expect(lanes("slicescheduler", 4)).toEqual([["quad0", "quad1"]]);
    expect(() => lanes("static-online", 3)).toThrowError(/instanceAccelerators must be 1, 2 or 4, not 3/);
  });

  test.each([
    ["slice-scheduler", "slicescheduler"],
    ["static", "static-online"],
    ["Static-Online", "static-online"],
    ["stat1c-onlin", "static-online"],
    ["dualshare", "dual-share"],
    ["dual-shar", "dual-share"],
    ["full-share-p", "full-share-pipelined"],
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
