import { ClusterInvalidError, type ClusterSpec, compileCluster } from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";

const GIB = 2 ** 30;
const gpu = (name: string, more = {}) => ({ name, kind: "H200", hbmBytes: 141 * GIB, ...more });

function faultsOf(spec: unknown): Record<string, string> {
  try {
    compileCluster(spec as ClusterSpec);
  } catch (error) {
    if (!(error instanceof ClusterInvalidError)) throw error;
    expect(error.code).toBe("CLUSTER_INVALID");
    for (const { path } of error.faults.slice(0, 20)) expect(error.message).toContain(path);
    return Object.fromEntries(error.faults.map(({ path, message }) => [path, message]));
  }
  throw new Error("was accepted");
}

describe("a sound cluster", () => {
  test("fills in defaults", () => {
    const cluster = compileCluster({ accelerators: [gpu("a"), gpu("b", { marginBytes: GIB })] });
    expect(cluster.accelerators[0]).toEqual({
      index: 0,
      name: "a",
      kind: "H200",
      hbmBytes: 141 * GIB,
      capacityBytes: 141 * GIB,
      baselineBytes: 0,
      granularityBytes: 1,
      copyEngines: 1,
      absent: false,
    });
    expect(cluster.accelerators[1]?.capacityBytes).toBe(140 * GIB);
    expect(cluster.linkCapacity).toEqual([]);
  });

  test("its spec is a copy: later changes to the original change nothing, and it compiles again", () => {
    const spec = { accelerators: [gpu("a"), gpu("b")], defaultLink: { latencyNs: 5, bytesPerSecond: 1e9 } };
    const cluster = compileCluster(spec);
    spec.accelerators.pop();
    spec.defaultLink.latencyNs = 50;
    const again = compileCluster(JSON.parse(JSON.stringify(cluster.spec)) as ClusterSpec);
    expect(again.spec).toEqual(cluster.spec);
    expect(again.accelerators).toEqual(cluster.accelerators);
    expect(again.transferNs(0, 1, 10)).toBe(15);
  });

  test("finds accelerators by name and offers similar names", () => {
    const cluster = compileCluster({ accelerators: [gpu("gpu0"), gpu("gpu1"), gpu("__proto__")] });
    expect(cluster.indexOf("gpu1")).toBe(1);
    expect(cluster.indexOf("__proto__")).toBe(2);
    expect(() => cluster.indexOf("gpu2")).toThrow(
      expect.objectContaining({ code: "UNKNOWN_ACCELERATOR", near: ["gpu0", "gpu1"] }),
    );
    expect(() => cluster.indexOf("toString")).toThrow(
      expect.objectContaining({ code: "UNKNOWN_ACCELERATOR", near: [] }),
    );
    expect(() => cluster.route(0, 3)).toThrow(expect.objectContaining({ code: "UNKNOWN_ACCELERATOR" }));
  });

  test("rounds bytes up to the granularity", () => {
    const cluster = compileCluster({ accelerators: [gpu("a", { granularityBytes: 512 }), gpu("b")] });
    expect([0, 1, 512, 513].map((bytes) => cluster.roundBytes(0, bytes))).toEqual([0, 512, 512, 1024]);
    expect(cluster.roundBytes(1, 513)).toBe(513);
    expect(() => cluster.roundBytes(0, Number.MAX_SAFE_INTEGER)).toThrow(
      expect.objectContaining({ code: "BYTES_OVERFLOW" }),
    );
  });

  test("the baseline is rounded up like any allocation", () => {
    const cluster = compileCluster({ accelerators: [gpu("a", { externalBaselineBytes: 513, granularityBytes: 512 })] });
    expect(cluster.accelerators[0]?.baselineBytes).toBe(1024);
  });
});

describe("routes", () => {
  const cluster = compileCluster({
    accelerators: ["a", "b", "c", "d"].map((name) => gpu(name)),
    links: [
      {
        name: "pcie",
        latencyNs: 1000,
        bytesPerSecond: 25e9,
        capacity: 2,
        connects: [
          ["a", "b"],
          ["a", "c"],
        ],
      },
      { name: "nic", latencyNs: 5000, bytesPerSecond: 10e9, connects: [["a", "c"]] },
    ],
  });

  test("follow the declared links in their order, in the declared direction", () => {
    expect(cluster.linkCapacity).toEqual([2, 1]);
    expect(cluster.route(0, 1)).toEqual([0]);
    expect(cluster.route(0, 2)).toEqual([0, 1]);
    expect(cluster.route(1, 0)).toBeUndefined();
    expect(cluster.route(3, 3)).toEqual([]);
  });

  test("a transfer takes all latencies and the slowest rate, rounded up", () => {
    expect(cluster.transferNs(0, 1, 25)).toBe(1001);
    expect(cluster.transferNs(0, 1, 26)).toBe(1002);
    expect(cluster.transferNs(0, 2, 1e9)).toBe(6000 + 1e8);
    expect(cluster.transferNs(0, 1, 0)).toBe(1000);
    expect(cluster.transferNs(0, 0, 1e12)).toBe(1);
    expect(() => cluster.transferNs(3, 0, 1)).toThrow(
      expect.objectContaining({ code: "NO_ROUTE", source: "d", destination: "a" }),
    );
  });

  test("the default link serves the pairs no link connects; it is an entry of its own where ports would admit more", () => {
    const several = compileCluster({
      accelerators: [gpu("a", { copyEngines: 2 }), gpu("b", { copyEngines: 3 }), gpu("c")],
      defaultLink: { latencyNs: 0, bytesPerSecond: 1e9 },
      links: [{ name: "nvlink", latencyNs: 7, bytesPerSecond: 1e12, connects: [["a", "b"]] }],
    });
    expect(several.route(0, 1)).toEqual([0]);
    expect(several.route(1, 0)).toEqual([1]);
    expect(several.route(0, 2)).toEqual([]);
    expect(several.linkCapacity).toEqual([1, 1]);
    expect(several.transferNs(1, 0, 9)).toBe(9);
    expect(several.transferNs(2, 0, 0)).toBe(1);
  });
});

describe("faults", () => {
  test("no copy engine at all is refused in so many words", () => {
    expect(faultsOf({ accelerators: [gpu("a", { copyEngines: 0 })] })).toEqual({
      "accelerators[0].copyEngines": "is 0: transfers that occupy the operator queue are not supported; give 1 or more",
    });
  });

  test("every one is named at once", () => {
    const faults = faultsOf({
      accelerators: [
        gpu("a", { hbmBytes: -1 }),
        gpu("a", { hbmBytes: Number.NaN, copyEngines: 0 }),
        gpu("b", { marginBytes: 100 * GIB, externalBaselineBytes: 41 * GIB, granularityBytes: 0 }),
        gpu("", { kind: 7, flopsPerSecond: 0, hbmBytesPerSecond: Infinity, hbmBites: 3 }),
        gpu("c", { hbmBytes: 1.5 }),
        null,
      ],
      defaultLink: { latencyNs: -1, bytesPerSecond: 0 },
      links: [
        {
          name: "x",
          latencyNs: 0,
          bytesPerSecond: 0,
          connects: [["a", "bb"], ["a", "b"], ["a", "b"], ["b", "b"], ["a"]],
        },
        { name: "x", latencyNs: 0.5, bytesPerSecond: 1, capacity: 0, connects: [] },
      ],
      nodes: [],
    });
    expect(Object.keys(faults)).toEqual([
      "cluster.nodes",
      "accelerators[0].hbmBytes",
      "accelerators[1].hbmBytes",
      "accelerators[1].copyEngines",
      "accelerators[2].granularityBytes",
      "accelerators[3].hbmBites",
      "accelerators[3].name",
      "accelerators[3].kind",
      "accelerators[3].flopsPerSecond",
      "accelerators[3].hbmBytesPerSecond",
      "accelerators[4].hbmBytes",
      "accelerators[5]",
      "accelerators[5].name",
      "accelerators[5].kind",
      "accelerators[5].hbmBytes",
      "accelerators[1].name",
      "defaultLink.latencyNs",
      "defaultLink.bytesPerSecond",
      "links[0].connects[0][1]",
      "links[0].connects[2]",
      "links[0].connects[3]",
      "links[0].connects[4]",
      "links[0].bytesPerSecond",
      "links[1].connects",
      "links[1].latencyNs",
      "links[1].capacity",
      "links[1].name",
      "accelerators[2]",
    ]);
    expect(faults["accelerators[3].hbmBites"]).toContain('did you mean "hbmBytes"?');
    expect(faults["links[0].connects[0][1]"]).toContain('did you mean "b"?');
    expect(faults["accelerators[1].name"]).toBe('"a" is taken by accelerators[0]');
    expect(faults["accelerators[2]"]).toContain(String(141 * GIB));
  });

  test.each([[undefined], [null], [[]], ["cluster"], [{}], [{ accelerators: [] }], [{ accelerators: {} }]])(
    "%j is refused",
    (spec) => {
      expect(Object.keys(faultsOf(spec)).length).toBeGreaterThan(0);
    },
  );

  test("more accelerators than one master is made for", () => {
    const accelerators = Array.from({ length: 4097 }, (_, i) => gpu(`gpu${i}`));
    expect(faultsOf({ accelerators })).toEqual({ accelerators: "has 4097 accelerators, at most 4096" });
  });

  test("a margin and baseline of all HBM leave nothing; one byte less is a cluster", () => {
    const spec = (marginBytes: number) => ({
      accelerators: [gpu("a", { hbmBytes: 100, externalBaselineBytes: 40, marginBytes })],
    });
    expect(Object.keys(faultsOf(spec(60)))).toEqual(["accelerators[0]"]);
    expect(compileCluster(spec(59)).accelerators[0]?.capacityBytes).toBe(41);
  });
});
