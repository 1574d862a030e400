import { compileCluster, GlobalMappingGraph, type RequestOpening, type TemplateSpec } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { Driver } from "../test/driver.ts";

/** A cache of `past + 10` bytes that grows in place, on one accelerator. */
const step: TemplateSpec = {
  name: "step",
  symbols: ["past"],
  inputs: { cache: { shape: ["past"], dtype: "int8" } },
  operators: [
    {
      name: "attend",
      inputs: ["cache"],
      outputs: { cache: { shape: ["past + 10"], dtype: "int8", aliases: "cache" } },
    },
  ],
  outputs: { cache: "attend.cache" },
  partitions: [{ name: "only", accelerators: ["a"], layout: [0] }],
};

const weights = (bytes: number): TemplateSpec => ({
  name: `weights${bytes}`,
  symbols: [],
  operators: [{ name: "op", outputs: {}, weights: { [`w${bytes}`]: bytes } }],
  outputs: {},
  partitions: [{ name: "only", accelerators: ["a"], layout: [0] }],
});

function world(hbmBytes: number) {
  const graph = new GlobalMappingGraph(compileCluster({ accelerators: [{ name: "a", kind: "demo", hbmBytes }] }));
  graph.registerTemplate(step);
  const driver = new Driver(graph);
  let next = 0;
  const open = (id: number, more: Partial<RequestOpening> = {}) =>
    graph.openRequest(
      {
        id,
        label: "",
        rank: 0,
        deadlineNs: Number.POSITIVE_INFINITY,
        limits: [{ template: "step", symbols: { past: 50 } }],
        concurrentInstances: 1,
        chains: 1,
        mayPause: false,
        allowedPartitions: null,
        endsWithInstances: false,
        ...more,
      },
      0,
    );
  const submit = (request: number, past = 0, before: number | null = null) => {
    const id = next++;
    const inputs: Record<string, { instance: number; output: string }> =
      before === null ? {} : { cache: { instance: before, output: "cache" } };
    graph.insert(
      { id, template: "step", symbols: { past }, inputs, retain: ["cache"], allowedPartitions: null, label: "" },
      request,
      driver.nowNs,
    );
    return id;
  };
  const release = (id: number) => graph.releaseOutput(id, "cache");
  const shortage = () => {
    const [operator] = graph.unscheduledFrontier;
    return operator === undefined ? null : (graph.placementOptions(operator)[0]?.shortage ?? null);
  };
  return { graph, driver, open, submit, release, shortage };
}

test("growing requests start together although their claims exceed the accelerator, as long as all of them can end", () => {
  // A claim is 60 bytes.
  const { graph, driver, open, submit, release } = world(80);
  const last = [0, 1, 2].map((id) => {
    open(id);
    return submit(id);
  });
  driver.run();
  expect(driver.outcomes).toHaveLength(3);
  expect(graph.claims.reservedBytes(0)).toBe(180);
  expect(graph.claims.takenBytes(0)).toBe(30);
  // Each goes on by turns; whoever may, may end.
  for (let round = 1; round < 6; round++) {
    for (const id of [0, 1, 2]) {
      const before = last[id] as number;
      last[id] = submit(id, round * 10, before);
      release(before);
    }
    driver.run();
  }
  const hasEnded = (id: number) => driver.outcomes.includes(`${last[id]} done`);
  expect([0, 1, 2].filter(hasEnded)).toHaveLength(1);
  // With each one's end the next can have its whole claim.
  for (let ended = 0; ended < 3; ended++) {
    for (const id of [0, 1, 2].filter(hasEnded)) {
      release(last[id] as number);
      graph.closeRequest(id);
    }
    driver.run();
  }
  expect(driver.outcomes).toHaveLength(18);
});

test("what would leave no order in which all can end waits, and says for what", () => {
  const { graph, driver, open, submit, shortage } = world(75);
  for (const id of [0, 1]) {
    open(id);
    submit(id);
  }
  driver.run();
  expect(driver.outcomes).toEqual(["0 done", "1 done"]);
  open(2);
  submit(2);
  driver.run();
  // One more cache of 10 bytes would fit; then none of the three could get its whole claim of 60.
  expect(shortage()).toEqual({ accelerator: 0, neededBytes: 50, availableBytes: 45, cause: "order" });
  expect(graph.claims.holdersOn(0)).toEqual([0, 1]);
});

test("for a request that may pause, the whole claim is set aside", () => {
  const { graph, driver, open, submit, shortage } = world(110);
  open(0, { mayPause: true });
  submit(0);
  driver.run();
  expect(graph.claims.takenBytes(0)).toBe(60);
  open(1, { mayPause: true });
  submit(1);
  driver.run();
  expect(shortage()).toEqual({ accelerator: 0, neededBytes: 60, availableBytes: 50, cause: "room" });
});

test("a request that left more behind than it declared gets more once nothing of it runs", () => {
  const { graph, driver, open, submit } = world(1000);
  open(0);
  // Twelve caches that nobody continues: more than the limits cover.
  for (let count = 0; count < 12; count++) submit(0, 0);
  driver.run();
  expect(driver.outcomes).toHaveLength(12);
  expect(graph.request(0).reservedBytes[0]).toBe(120);
});

test("weights push out neither what is granted nor what was accepted and waits", () => {
  const { graph, driver, open, submit } = world(150);
  open(0, { mayPause: true });
  submit(0);
  driver.run();
  expect(() => graph.registerTemplate(weights(91))).toThrow(expect.objectContaining({ code: "NEVER_FITS" }));
  graph.registerTemplate(weights(90));
  expect(graph.ledger.fixedBytes(0)).toBe(90);

  const waiting = world(150);
  waiting.open(0);
  expect(() => waiting.graph.registerTemplate(weights(91))).toThrow(/request 0, which was accepted and waits/);
  expect(waiting.graph.ledger.fixedBytes(0)).toBe(0);
});
