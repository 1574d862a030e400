import { compileCluster, GlobalMappingGraph, type RequestOpening, type TemplateSpec } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { Driver } from "../test/driver.ts";

/** Three operators in a row and a cache that grows in place, on pairs of accelerators. */
const step: TemplateSpec = {
  name: "step",
  symbols: ["past"],
  inputs: { cache: { shape: ["past * 10"], dtype: "int8" } },
  operators: [
    { name: "embed", outputs: { hidden: { shape: [8], dtype: "int8" } }, weights: { w: 20 } },
    {
      name: "attend",
      inputs: ["embed.hidden", "cache"],
      outputs: {
        cache: { shape: ["past * 10 + 10"], dtype: "int8", aliases: "cache" },
        hidden: { shape: [8], dtype: "int8" },
      },
      weights: { w: 20 },
    },
    { name: "head", inputs: ["attend.hidden"], outputs: { token: { shape: [1], dtype: "int8" } }, weights: { w: 20 } },
  ],
  outputs: { cache: "attend.cache", token: "head.token" },
  partitions: [
    { name: "left", accelerators: ["a0", "a1"], layout: [0, 1, 0] },
    { name: "right", accelerators: ["a2", "a3"], layout: [0, 1, 0] },
  ],
};

function world(hbmBytes = 1000, absent: readonly string[] = []) {
  const accelerators = ["a0", "a1", "a2", "a3"].map((name) => ({
    name,
    kind: "demo",
    hbmBytes,
    absent: absent.includes(name),
  }));
  const graph = new GlobalMappingGraph(
    compileCluster({ accelerators, defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 } }),
  );
  graph.registerTemplate(step);
  const driver = new Driver(graph);
  let next = 0;
  const open = (id: number) =>
    graph.openRequest(
      {
        id,
        label: "",
        rank: 0,
        deadlineNs: Number.POSITIVE_INFINITY,
        limits: [{ template: "step", symbols: { past: 9 } }],
        concurrentInstances: 2,
        chains: 1,
        mayPause: false,
        allowedPartitions: null,
        endsWithInstances: false,
      },
      0,
    );
  const submit = (request: number, past: number, before: number | null = null) => {
    const id = next++;
    graph.insert(
      {
        id,
        template: "step",
        symbols: { past },
        inputs: before === null ? {} : { cache: { instance: before, output: "cache" } },
        retain: ["cache"],
        allowedPartitions: null,
        label: "",
      },
      request,
      driver.nowNs,
    );
    return id;
  };
  return { graph, driver, open, submit };
}

function expectAtRest(graph: GlobalMappingGraph): void {
  expect(graph.counts()).toEqual({ requests: 0, instances: 0, tensors: 0, issuedOperators: 0, transfers: 0 });
  for (const { index } of graph.cluster.accelerators) {
    expect(graph.ledger.usedBytes(index)).toBe(graph.ledger.fixedBytes(index));
    expect([graph.claims.reservedBytes(index), graph.claims.takenBytes(index)]).toEqual([0, 0]);
  }
}

test("results lost with an accelerator are made again elsewhere, from the beginning of the chain", () => {
  for (let lossAfter = 0; lossAfter < 60; lossAfter++) {
    const { graph, driver, open, submit } = world();
    open(0);
    const first = submit(0, 0);
    const second = submit(0, 1, first);
    graph.releaseOutput(first, "cache");
    driver.run(lossAfter);
    driver.lose(1);
    driver.run();
    expect(driver.outcomes).toEqual([`${first} done`, `${second} done`]);
    const tensor = graph.instance(second)?.operators[1]?.outputs[0];
    expect(tensor?.copies.map(({ accelerator }) => accelerator)).toEqual([3]);
    const third = submit(0, 2, second);
    graph.releaseOutput(second, "cache");
    driver.run();
    expect(driver.outcomes.at(-1)).toBe(`${third} done`);
    graph.releaseOutput(third, "cache");
    graph.closeRequest(0);
    driver.effects();
    expectAtRest(graph);
  }
});

test("a retained result that survives is where the work starts again", () => {
  const { graph, driver, open, submit } = world();
  open(0);
  const first = submit(0, 0);
  driver.run();
  const second = submit(0, 1, first);
  // The cache of the first lies on a1 and stays there; what is lost with a0 is the hidden state.
  driver.run(4);
  driver.lose(0);
  driver.run();
  expect(driver.outcomes).toEqual([`${first} done`, `${second} done`]);
  expect(driver.runs.get(`${first}/1`)).toBe(1);
  // The request lies on the other partition, and its first result does not.
  expect([graph.request(0).partition, graph.isIdle(1)]).toEqual(["right", false]);
});

test("what has no partition left fails with the reason, and is refused from then on", () => {
  const { graph, driver, open, submit } = world();
  open(0);
  const first = submit(0, 0);
  driver.run(3);
  driver.lose(2);
  driver.lose(1);
  driver.run();
  expect(driver.outcomes).toEqual([`${first} failed`]);
  expect(() => open(1)).toThrow(expect.objectContaining({ code: "ACCELERATOR_UNAVAILABLE" }));
  expect(graph.returnAccelerator(1)).toEqual([{ accelerator: 1, name: "w", bytes: 20 }]);
  open(1);
  const again = submit(1, 0);
  driver.run();
  expect(driver.outcomes.at(-1)).toBe(`${again} done`);
});

test("a result that is lost after its instance was told done is made again without a second outcome", () => {
  const { driver, graph, open, submit } = world();
  open(0);
  const first = submit(0, 0);
  driver.run();
  driver.lose(1);
  driver.run();
  expect(driver.outcomes).toEqual([`${first} done`]);
  expect(driver.runs.get(`${first}/1`)).toBe(2);
  expect(graph.instance(first)?.operators[1]?.outputs[0]?.copies.map(({ accelerator }) => accelerator)).toEqual([3]);
});

test("a drained accelerator keeps what is placed there, and is idle when that has ended", () => {
  const { driver, graph, open, submit } = world();
  open(0);
  const first = submit(0, 0);
  driver.run(2);
  graph.drainAccelerator(0, driver.nowNs);
  open(1);
  const other = submit(1, 0);
  driver.run();
  expect(driver.outcomes).toEqual([`${first} done`, `${other} done`]);
  expect(graph.request(1).partition).toBe("right");
  expect(graph.isIdle(0)).toBe(false);
  graph.releaseOutput(first, "cache");
  graph.closeRequest(0);
  expect(graph.isIdle(0)).toBe(true);
});

test("an absent accelerator joins with the weights of all templates", () => {
  const { driver, graph, open, submit } = world(1000, ["a1", "a2", "a3"]);
  expect(() => open(0)).toThrow(expect.objectContaining({ code: "ACCELERATOR_UNAVAILABLE" }));
  expect(graph.ledger.fixedBytes(1)).toBe(0);
  graph.returnAccelerator(1);
  expect(graph.ledger.fixedBytes(1)).toBe(20);
  open(1);
  const first = submit(1, 0);
  driver.run();
  expect(driver.outcomes).toEqual([`${first} done`]);
});

/** One operator with weights on each of the accelerators. */
function single(
  name: string,
  accelerators: readonly string[],
  weights: Readonly<Record<string, number>>,
): TemplateSpec {
  return {
    name,
    symbols: ["bytes"],
    operators: [{ name: "op", outputs: { y: { shape: ["bytes"], dtype: "int8" } }, weights }],
    outputs: { y: "op.y" },
    partitions: accelerators.map((accelerator) => ({ name: accelerator, accelerators: [accelerator], layout: [0] })),
  };
}

const opening: RequestOpening = {
  id: 0,
  label: "",
  rank: 0,
  deadlineNs: Number.POSITIVE_INFINITY,
  limits: null,
  concurrentInstances: 1,
  chains: 1,
  mayPause: false,
  allowedPartitions: null,
  endsWithInstances: false,
};

test.each(["guaranteed", "predicted"] as const)(
  "weights are checked for accelerators that are down, so that these can always return (%s)",
  (memorySafety) => {
    const accelerators = [
      { name: "a0", kind: "demo", hbmBytes: 1000, externalBaselineBytes: 100, absent: true },
      { name: "a1", kind: "demo", hbmBytes: 1000 },
    ];
    const cluster = compileCluster({ accelerators, defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 } });
    const graph = new GlobalMappingGraph(cluster, memorySafety);
    graph.registerTemplate(single("first", ["a0"], { u: 600 }));
    expect(() => graph.registerTemplate(single("size", ["a1"], { u: 100 }))).toThrow(
      expect.objectContaining({ code: "WEIGHTS_MISMATCH" }),
    );
    expect(() => graph.registerTemplate(single("large", ["a1", "a0"], { v: 301 }))).toThrow(
      expect.objectContaining({ code: "NEVER_FITS", message: expect.stringContaining('"a0"') }),
    );
    expect(graph.ledger.fixedBytes(1)).toBe(0);
    graph.registerTemplate(single("same", ["a0"], { u: 600 }));
    graph.registerTemplate(single("last", ["a0"], { v: 300 }));
    expect(graph.returnAccelerator(0)).toEqual([
      { accelerator: 0, name: "u", bytes: 600 },
      { accelerator: 0, name: "v", bytes: 300 },
    ]);
    expect(graph.ledger.fixedBytes(0)).toBe(1000);
    graph.validate();
  },
);

test("weights leave a request that waits a partition that is there", () => {
  const { graph, driver } = world(1000, ["a0"]);
  graph.registerTemplate(single("big", ["a0", "a1"], {}));
  graph.openRequest({ ...opening, limits: [{ template: "big", symbols: { bytes: 900 } }] }, driver.nowNs);
  expect(() => graph.registerTemplate(single("heavy", ["a1"], { v: 100 }))).toThrow(
    expect.objectContaining({
      code: "NEVER_FITS",
      details: expect.objectContaining({ accelerator: 1, neededBytes: 900, availableBytes: 880 }),
    }),
  );
  expect(graph.ledger.fixedBytes(1)).toBe(20);
  graph.registerTemplate(single("light", ["a1"], { v: 80 }));
  graph.returnAccelerator(0);
  graph.registerTemplate(single("heavier", ["a1"], { w2: 100 }));
  expect(graph.ledger.fixedBytes(1)).toBe(200);
});

test("what is down stays down when it is drained", () => {
  const { graph, driver } = world(1000, ["a0"]);
  graph.drainAccelerator(0, driver.nowNs);
  expect(graph.availability(0)).toBe("down");
});

test("a request that holds nothing keeps its place unless just that is drained", () => {
  const { graph, driver } = world();
  graph.registerTemplate(single("single", ["a1"], {}));
  graph.openRequest(opening, driver.nowNs);
  const instance = { inputs: {}, retain: [], allowedPartitions: null, label: "" };
  graph.insert({ ...instance, id: 0, template: "single", symbols: { bytes: 10 } }, 0, driver.nowNs);
  driver.run();
  expect([graph.request(0).partition, graph.isIdle(1)]).toEqual(["a1", true]);
  graph.drainAccelerator(3, driver.nowNs);
  expect(graph.request(0).partition).toBe("a1");
  graph.drainAccelerator(1, driver.nowNs);
  expect(graph.request(0).partition).toBe(null);
  graph.closeRequest(0);
  expectAtRest(graph);
});

test("what is granted while an accelerator is down leaves room for the weights it returns with", () => {
  const { graph, driver } = world();
  graph.registerTemplate({
    name: "pair",
    symbols: ["bytes"],
    operators: [
      { name: "first", outputs: { x: { shape: [8], dtype: "int8" } } },
      { name: "second", inputs: ["first.x"], outputs: { y: { shape: ["bytes"], dtype: "int8" } }, weights: { u: 80 } },
    ],
    outputs: { y: "second.y" },
    partitions: [{ name: "left", accelerators: ["a0", "a1"], layout: [0, 1] }],
  });
  graph.openRequest(opening, driver.nowNs);
  const insert = (id: number, bytes: number) =>
    graph.insert(
      { id, template: "pair", symbols: { bytes }, inputs: {}, retain: [], allowedPartitions: null, label: "" },
      0,
      driver.nowNs,
    );
  insert(0, 500);
  driver.run(1);
  // What it has on the other one is asked back, and until then the request stays where it is.
  graph.loseAccelerator(1, driver.nowNs);
  expect(() => insert(1, 450)).toThrow(expect.objectContaining({ code: "CLAIM_TOO_LARGE_NOW" }));
  insert(1, 350);
  graph.returnAccelerator(1);
  driver.run();
  expect(driver.outcomes).toEqual(["0 done", "1 done"]);
});
