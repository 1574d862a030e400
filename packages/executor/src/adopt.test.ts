import { GlobalMappingGraph, type OperatorNode } from "@slicescheduler/gmg";
import { compileCluster, defineTemplate } from "@slicescheduler/templates";
import { expect, test } from "vitest";
import { type ExecutorEvent, presentWork, SimulatedTime, virtualExecutor } from "./index.ts";

const cluster = {
  accelerators: ["a0", "a1"].map((name) => ({ name, kind: "k", hbmBytes: 1000 })),
  defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 },
};

const bytes = (count: number) => ({ shape: [count], dtype: "uint8" as const });

/** `make` is read by `near` on the same accelerator and by `far` on the other one. */
const template = defineTemplate({
  name: "t",
  symbols: [],
  operators: [
    { name: "make", outputs: { out: bytes(40) }, workspaceBytes: 7 },
    { name: "near", inputs: ["make.out"], outputs: { out: bytes(10) } },
    { name: "far", inputs: ["make.out"], outputs: { out: bytes(20) } },
  ],
  outputs: {},
  partitions: [{ name: "p", accelerators: ["a0", "a1"], layout: [0, 0, 1] }],
});

/** A master's graph with all three operators issued at 100 ns. */
function issued() {
  const graph = new GlobalMappingGraph(compileCluster(cluster));
  const partition = graph.registerTemplate(template).partitions[0];
  const opening = { id: 0, label: "", rank: 0, deadlineNs: Number.POSITIVE_INFINITY, limits: null, mayPause: false };
  const claim = { concurrentInstances: 1, chains: 1, allowedPartitions: null, endsWithInstances: true };
  graph.openRequest({ ...opening, ...claim }, 0);
  const submission = { id: 0, template: "t", symbols: {}, inputs: {}, retain: [], allowedPartitions: null, label: "" };
  const instance = graph.insert(submission, 0, 0);
  if (partition === undefined) throw new RangeError("the template has no partition");
  for (const operator of instance.operators) graph.issue(operator, partition, 100);
  const [make, near, far] = instance.operators as [OperatorNode, OperatorNode, OperatorNode];
  graph.takeEffects();
  return { graph, make, near, far };
}

/** An executor that goes on from a graph at a time, where every operator takes 50 ns; what it tells, with times. */
function adopted(graph: GlobalMappingGraph, nowNs: number, isHeldBack?: (operator: OperatorNode) => boolean) {
  graph.takeEffects();
  const present = presentWork(graph, graph.snapshot(), isHeldBack);
  const time = new SimulatedTime();
  time.run(nowNs);
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 50, present });
  const told: string[] = [];
  executor.open({
    cluster,
    deliver: (event) => {
      told.push(`${time.nowNs()} ${event.type} ${whatOf(event)}`);
      // As much of a master as transfers need.
      if (event.type === "intentsRaised") executor.execute(event.transfers.map(receiving));
      if (event.type === "recvReady") executor.execute([{ type: "activateSend", transfer: event.transfer }]);
    },
  });
  const receiving = (transfer: number) => ({
    type: "activateRecv" as const,
    transfer,
    tensor: 0,
    source: 0,
    destination: 1,
    bytes: 40,
  });
  executor.validate();
  executor.execute(present.unanswered);
  executor.validate();
  return { executor, present, time, told };
}

function whatOf(event: ExecutorEvent): string {
  if ("issueNumber" in event) return `${event.issueNumber}`;
  if ("transfer" in event) return `${event.transfer}`;
  return "transfers" in event ? event.transfers.join(",") : "";
}

test("what runs ends when it would have ended, and all that waits for it follows", () => {
  const { graph, make } = issued();
  graph.operatorStarted(make, 100);
  const { executor, time, told } = adopted(graph, 130);
  expect(executor.stats().accelerators.map(({ usedHbmBytes }) => usedHbmBytes)).toEqual([47, 0]);
  time.run();
  expect(told).toEqual([
    "150 intentsRaised 0",
    "150 operatorDone 0",
    "150 recvReady 0",
    "150 operatorStarted 1",
    "200 operatorDone 1",
    "200 transferDone 0",
    "200 operatorStarted 2",
    "250 operatorDone 2",
  ]);
});

test("what would have ended before ends at once", () => {
  const { graph, make } = issued();
  graph.operatorStarted(make, 100);
  const { time, told } = adopted(graph, 180);
  time.run(180);
  expect(told).toContain("180 operatorDone 0");
});

test("a transfer that is sending ends when it would have, and one that nobody has asked for yet is an intent", () => {
  const { graph, make } = issued();
  graph.operatorStarted(make, 100);
  graph.operatorDone(make, 150);
  const raised = adopted(graph, 160);
  expect(raised.told).toEqual(["160 intentsRaised 0", "160 recvReady 0", "160 operatorStarted 1"]);
  const transfer = graph.transfer(0);
  if (transfer === undefined) throw new RangeError("there is no transfer");
  graph.transferReceiving(transfer);
  transfer.state = "sending";
  transfer.sendingNs = 155;
  const { told, time, present } = adopted(graph, 160);
  expect(present.transfers).toEqual([
    { transfer: 0, tensor: 0, source: 0, destination: 1, bytes: 40, state: "sending", sendNs: 155 },
  ]);
  time.run(205);
  expect(told).toEqual(["160 operatorStarted 1", "205 transferDone 0", "205 operatorStarted 2"]);
});

test("what was asked and not answered is asked again", () => {
  const { graph, make } = issued();
  graph.operatorStarted(make, 100);
  graph.operatorDone(make, 150);
  const transfer = graph.transfer(0);
  if (transfer === undefined) throw new RangeError("there is no transfer");
  transfer.state = "selected";
  graph.cancel(0, 150);
  const { present, told } = adopted(graph, 160);
  expect(present.unanswered).toEqual([
    { type: "withdraw", issueNumber: 1 },
    { type: "withdraw", issueNumber: 2 },
    { type: "activateRecv", transfer: 0, tensor: 0, source: 0, destination: 1, bytes: 40 },
  ]);
  expect(told).toEqual(["160 withdrawn 1", "160 withdrawn 2", "160 recvReady 0"]);
});

test.each([false, true])("a quarantined transfer never ends, unless it can be given up still: moved %s", (moves) => {
  const { graph, make } = issued();
  graph.operatorStarted(make, 100);
  graph.operatorDone(make, 150);
  const transfer = graph.transfer(0);
  if (transfer === undefined) throw new RangeError("there is no transfer");
  graph.transferReceiving(transfer);
  transfer.state = "quarantined";
  if (moves) transfer.sendingNs = 155;
  const { present, told, time, executor } = adopted(graph, 160);
  expect(present.unanswered).toEqual(moves ? [] : [{ type: "cancelTransfer", transfer: 0 }]);
  time.run();
  expect(told.filter((line) => line.includes("transfer"))).toEqual(moves ? [] : ["160 transferCancelled 0"]);
  expect(executor.stats().accelerators[1]?.usedHbmBytes).toBe(graph.ledger.fixedBytes(1) + (moves ? 40 : 0));
});

test("what is held back stays so until it is activated, and new issues come behind", () => {
  const { graph, make } = issued();
  const { executor, told, time } = adopted(graph, 160, (operator) => operator === make);
  time.run(170);
  expect(told).toEqual([]);
  executor.execute([{ type: "activate", issueNumber: 0 }]);
  expect(told).toEqual(["170 operatorStarted 0"]);
  expect(() => executor.execute([{ type: "withdraw", issueNumber: 3 }])).toThrow(/never given; the newest is 2/);
});

test("an accelerator that is absent is adopted as such", () => {
  const { graph } = issued();
  graph.loseAccelerator(1, 120);
  const { executor } = adopted(graph, 130);
  expect(executor.stats().accelerators.map(({ absent }) => absent)).toEqual([false, true]);
});
