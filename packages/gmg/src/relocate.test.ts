import { compileCluster, GlobalMappingGraph, type TemplateSpec } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { Driver } from "../test/driver.ts";

const BYTES = 10;
const tensor = { shape: [BYTES], dtype: "int8" } as const;

/** Made on the second accelerator of a pair. */
const make: TemplateSpec = {
  name: "make",
  symbols: [],
  operators: [
    { name: "x", outputs: { o: tensor } },
    { name: "y", inputs: ["x.o"], outputs: { o: tensor } },
  ],
  outputs: { kept: "y.o" },
  partitions: [
    { name: "left", accelerators: ["a0", "a1"], layout: [0, 1] },
    { name: "right", accelerators: ["a2", "a3"], layout: [0, 1] },
  ],
};
const go: TemplateSpec = {
  ...make,
  name: "go",
  inputs: { kept: tensor },
  operators: [{ name: "u", inputs: ["kept"], outputs: { o: tensor } }],
  outputs: { end: "u.o" },
  partitions: (make.partitions ?? []).map((partition) => ({ ...partition, layout: [1] })),
};

function world({ hbmBytes, mayPause = false }: { readonly hbmBytes: number; readonly mayPause?: boolean }) {
  const accelerators = ["a0", "a1", "a2", "a3"].map((name) => ({ name, kind: "demo", hbmBytes }));
  const cluster = compileCluster({ accelerators, defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 } });
  const graph = new GlobalMappingGraph(cluster);
  graph.registerTemplate(make);
  graph.registerTemplate(go);
  const driver = new Driver(graph);
  const open = (id: number) =>
    graph.openRequest(
      {
        id,
        label: "",
        rank: 0,
        deadlineNs: Number.POSITIVE_INFINITY,
        limits: [
          { template: "make", symbols: {} },
          { template: "go", symbols: {} },
        ],
        concurrentInstances: 1,
        chains: 1,
        mayPause,
        allowedPartitions: null,
        endsWithInstances: false,
      },
      driver.nowNs,
    );
  const submit = (id: number, template: string, kept: number | null = null, retain: readonly string[] = []) =>
    graph.insert(
      {
        id,
        template,
        symbols: {},
        inputs: kept === null ? {} : { kept: { instance: kept, output: "kept" } },
        retain,
        allowedPartitions: null,
        label: "",
      },
      0,
      driver.nowNs,
    );
  return { graph, driver, open, submit };
}

const reservedBytes = ({ claims, cluster }: GlobalMappingGraph) =>
  cluster.accelerators.map(({ index }) => claims.reservedBytes(index));

test.each([false, true])(
  "what is kept is a part of the claim where the request is laid anew, and claims for itself elsewhere (may pause %s)",
  (mayPause) => {
    const { graph, driver, open, submit } = world({ hbmBytes: 1000, mayPause });
    const { reservedBytes: before } = open(0);
    expect([...before]).toEqual([0, 0, 0, 0]);
    submit(0, "make", null, ["kept"]);
    driver.run();
    const onLeft = reservedBytes(graph);
    driver.lose(0);
    expect(reservedBytes(graph)).toEqual([0, BYTES, 0, 0]);
    graph.returnAccelerator(0);
    submit(1, "go", 0);
    // Not a byte more than before it was lost.
    expect([graph.request(0).partition, reservedBytes(graph)]).toEqual(["left", onLeft]);
    driver.run();
    driver.lose(0);
    expect(reservedBytes(graph)).toEqual([0, BYTES, 0, 0]);
    submit(2, "go", 0);
    const onRight = [...onLeft.slice(2), ...onLeft.slice(0, 2)];
    expect([graph.request(0).partition, reservedBytes(graph)]).toEqual(["right", onRight.with(1, BYTES)]);
    driver.run();
    graph.releaseOutput(0, "kept");
    driver.run();
    expect(reservedBytes(graph)).toEqual(onRight);
    graph.closeRequest(0);
    expect(reservedBytes(graph)).toEqual([0, 0, 0, 0]);
    expect(driver.outcomes).toEqual(["0 done", "1 done", "2 done"]);
  },
);

test("more kept than the limits cover raises the claim, so that the next instance can begin beside it", () => {
  const { graph, driver, open, submit } = world({ hbmBytes: 1000 });
  open(0);
  const count = 9;
  for (let id = 0; id < count; id++) submit(id, "make", null, ["kept"]);
  driver.run();
  driver.lose(0);
  expect(reservedBytes(graph)).toEqual([0, count * BYTES, 0, 0]);
  graph.returnAccelerator(0);
  submit(count, "go", 0);
  expect(graph.request(0).partition).toBe("left");
  expect(reservedBytes(graph)[1]).toBe((count + 1) * BYTES);
  driver.run();
  expect(driver.outcomes).toHaveLength(count + 1);
  expect(driver.outcomes.at(-1)).toBe(`${count} done`);
  expect([...driver.runs.values()].every((runs) => runs === 1)).toBe(true);
});

test("an instance that fits nowhere beside what is kept is refused, and what is kept stays", () => {
  const { graph, driver, open, submit } = world({ hbmBytes: 1000 });
  open(0);
  submit(0, "make", null, ["kept"]);
  driver.run();
  driver.lose(0);
  driver.lose(2);
  expect(() => submit(1, "go", 0)).toThrow(expect.objectContaining({ code: "ACCELERATOR_UNAVAILABLE" }));
  expect([graph.counts().instances, reservedBytes(graph)]).toEqual([1, [0, BYTES, 0, 0]]);
  graph.returnAccelerator(0);
  submit(1, "go", 0);
  driver.run();
  expect(driver.outcomes).toEqual(["0 done", "1 done"]);
  expect([...driver.runs.values()]).toEqual([1, 1, 1]);
});

test("an operator that was given back is issued again only when the transfers of its results have been heard to end", () => {
  const { graph, driver, open, submit } = world({ hbmBytes: 1000 });
  open(0);
  submit(0, "make");
  const [x, y] = graph.instance(0)?.operators ?? [];
  if (x === undefined || y === undefined) throw new Error("there are two");
  for (const operator of [x, y]) {
    const [option] = graph.placementOptions(operator);
    if (option === undefined) throw new Error("there is room");
    graph.issue(operator, option.partition, driver.nowNs);
  }
  const [transfer] = graph.transfers();
  const { partition } = graph.instance(0) ?? {};
  if (transfer === undefined || !partition) throw new Error("x.o moves");
  graph.displace(x);
  expect(graph.takeEffects().withdrawals).toEqual([1, 0]);
  // a0 reports that x is withdrawn; before it, a1 cancelled the transfer and gave y back, which is heard later.
  graph.operatorWithdrawn(x, driver.nowNs);
  expect(graph.placementOptions(x)).toEqual([]);
  expect(() => graph.issue(x, partition, driver.nowNs)).toThrow(expect.objectContaining({ code: "ILLEGAL_MOVE" }));
  graph.operatorWithdrawn(y, driver.nowNs);
  expect(graph.placementOptions(x)).toEqual([]);
  graph.transferCancelled(transfer, driver.nowNs);
  expect(graph.placementOptions(x)).toHaveLength(1);
  driver.run();
  expect(driver.outcomes).toEqual(["0 done"]);
});
