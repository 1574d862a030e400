import { expect, test } from "vitest";
import { chain, graphOf, submit } from "./graph.fixture.ts";
import { firstFit, Scheduler } from "./index.ts";
import type { Placement } from "./types.ts";

function carryOut(graph: ReturnType<typeof graphOf>, scheduler: Scheduler, atNs = 0): Placement {
  const placement = scheduler.decide(atNs);
  if (placement === null || placement === "later") throw new Error("nothing was decided");
  for (const operator of placement.batch) {
    graph.issue(operator, placement.partition, 0);
    scheduler.operatorIssued(operator);
  }
  return placement;
}

test("takes the most urgent first, then the older", () => {
  const graph = graphOf(["a", "b"]);
  graph.registerTemplate(chain("t", 1, { left: { on: ["a"], layout: [0] } }));
  const scheduler = new Scheduler(graph);
  submit(graph, 0, "t", 10, 1);
  submit(graph, 1, "t", 10, 0);
  submit(graph, 2, "t", 10, 0);
  const order = [0, 1, 2].map(() => carryOut(graph, scheduler).decision.instance);
  expect(order).toEqual([1, 2, 0]);
  expect(scheduler.decide(0)).toBeNull();
});

test("lays work where it is predicted to end first, and says what the others would have given", () => {
  const graph = graphOf(["a", "b"]);
  graph.registerTemplate(chain("t", 1, { left: { on: ["a"], layout: [0] }, right: { on: ["b"], layout: [0] } }));
  const scheduler = new Scheduler(graph);
  submit(graph, 0, "t", 1_000_000);
  submit(graph, 1, "t", 1000);
  expect(carryOut(graph, scheduler).decision.partition).toBe("left");
  const second = carryOut(graph, scheduler).decision;
  expect(second.partition).toBe("right");
  // 1000 · 1000 operations at 10^12/s are 1 µs; on the left they would wait for 1 ms more, which is known without a simulation.
  expect(second.candidates).toMatchObject([
    { partition: "left", scoreNs: null, leastNs: 1_001_000 },
    { partition: "right", scoreNs: 1000, leastNs: 1000 },
  ]);
  expect(scheduler.decisionsAbout(1)).toEqual([second]);
});

test("counts the transfers that a layout needs: equal work goes where nothing moves", () => {
  const graph = graphOf(["a", "b"]);
  graph.registerTemplate(
    chain("t", 2, { split: { on: ["a", "b"], layout: [0, 1] }, whole: { on: ["a"], layout: [0, 0] } }),
  );
  const scheduler = new Scheduler(graph);
  submit(graph, 0, "t", 1000);
  const { decision } = carryOut(graph, scheduler);
  expect(decision.partition).toBe("whole");
  expect(decision.candidates.map((candidate) => candidate.movedBytes)).toEqual([1000, 0]);
});

test("a candidate without memory is out, with numbers, and work that fits nowhere waits until memory is given back", () => {
  const graph = graphOf(["a", "b"], 1000);
  graph.registerTemplate(chain("t", 1, { left: { on: ["a"], layout: [0] }, right: { on: ["b"], layout: [0] } }));
  const scheduler = new Scheduler(graph);
  for (const id of [0, 1, 2]) submit(graph, id, "t", 600);
  const first = carryOut(graph, scheduler);
  const second = carryOut(graph, scheduler);
  expect(second.decision.candidates[0]).toMatchObject({
    partition: "left",
    shortage: { accelerator: "a", neededBytes: 600, availableBytes: 400 },
  });
  expect(scheduler.decide(0)).toBeNull();
  const [waiting] = graph.unscheduledFrontier;
  if (waiting === undefined) throw new Error("nothing waits");
  expect(scheduler.waitingReason(waiting, 0)).toMatchObject({ why: "memory", neededBytes: 600, availableBytes: 400 });
  const [operator] = first.batch;
  if (operator === undefined) throw new Error("the batch is empty");
  graph.operatorStarted(operator, 0);
  scheduler.operatorEnded(operator);
  graph.operatorDone(operator, 10);
  expect(carryOut(graph, scheduler, 10).partition.name).toBe("left");
});

test("issues no more than the budget of a class, which less urgent work does not use up", () => {
  const graph = graphOf(["a"]);
  graph.registerTemplate(chain("t", 1, { left: { on: ["a"], layout: [0] } }));
  const scheduler = new Scheduler(graph, { operatorsPerAcceleratorMax: 2 });
  for (let id = 0; id < 4; id++) submit(graph, id, "t", 10, 1);
  carryOut(graph, scheduler);
  carryOut(graph, scheduler);
  expect(scheduler.decide(0)).toBeNull();
  const [waiting] = graph.unscheduledFrontier;
  expect(waiting && scheduler.waitingReason(waiting, 0)).toEqual({
    why: "budget",
    accelerator: "a",
    issuedOperators: 2,
    moreUrgentOperators: 0,
    budget: 2,
  });
  submit(graph, 4, "t", 10, 0);
  expect(carryOut(graph, scheduler).decision.instance).toBe(4);
});

test("a request that has waited too long for memory is not passed by for ever", () => {
  const graph = graphOf(["a"], 1000);
  graph.registerTemplate(chain("t", 1, { left: { on: ["a"], layout: [0] } }));
  const scheduler = new Scheduler(graph, { memoryPatienceNs: 100 });
  submit(graph, 0, "t", 500);
  carryOut(graph, scheduler);
  submit(graph, 1, "t", 900);
  submit(graph, 2, "t", 100);
  submit(graph, 3, "t", 100);
  expect(carryOut(graph, scheduler).decision.instance).toBe(2);
  expect(scheduler.decide(100)).toBeNull();
  const passedBy = graph.instance(3)?.operators[0];
  expect(passedBy && scheduler.waitingReason(passedBy, 100)).toEqual({ why: "patience", behind: 1 });
});

test("another policy decides without simulating", () => {
  const graph = graphOf(["a", "b"]);
  graph.registerTemplate(chain("t", 1, { left: { on: ["a"], layout: [0] }, right: { on: ["b"], layout: [0] } }));
  const scheduler = new Scheduler(graph, { policy: firstFit });
  submit(graph, 0, "t", 1_000_000);
  submit(graph, 1, "t", 1000);
  carryOut(graph, scheduler);
  expect(carryOut(graph, scheduler).decision.partition).toBe("left");
  expect(scheduler.statistics.simulatedOperators).toBe(0);
});

test("a request that wants less, because one of its instances was cancelled, is tried again", () => {
  const graph = graphOf(["a"], 1000);
  graph.registerTemplate(chain("t", 1, { left: { on: ["a"], layout: [0] } }));
  const scheduler = new Scheduler(graph);
  submit(graph, 0, "t", 600);
  carryOut(graph, scheduler);
  const large = submit(graph, 1, "t", 450);
  const submission = { template: "t", inputs: {}, retain: [], allowedPartitions: null, label: "" };
  graph.insert({ ...submission, id: 2, symbols: { n: 300 } }, large.request.id, 0);
  expect(scheduler.decide(0)).toBeNull();
  graph.cancel(large.id, 0);
  expect(carryOut(graph, scheduler).decision.instance).toBe(2);
});

test("the budget is checked before a batch, which may pass it by its own size", () => {
  const graph = graphOf(["a"]);
  graph.registerTemplate(chain("t", 6, { left: { on: ["a"], layout: [0, 0, 0, 0, 0, 0] } }));
  const scheduler = new Scheduler(graph, { operatorsPerAcceleratorMax: 2, batchOperatorsMax: 4 });
  submit(graph, 0, "t", 1);
  expect(carryOut(graph, scheduler).batch).toHaveLength(4);
  expect(scheduler.decide(0)).toBeNull();
});
