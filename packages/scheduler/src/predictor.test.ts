import { EstimatorBank } from "@slicescheduler/estimators";
import { compileCluster, GlobalMappingGraph, type OperatorNode } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { chain, submit } from "./graph.fixture.ts";
import { Predictor } from "./predictor.ts";

function world(kinds: readonly { readonly kind: string; readonly flopsPerSecond: number }[]) {
  const cluster = compileCluster({
    accelerators: kinds.map(({ kind, flopsPerSecond }, i) => ({ name: `a${i}`, kind, hbmBytes: 1e9, flopsPerSecond })),
    defaultLink: { latencyNs: 1000, bytesPerSecond: 1e9 },
  });
  const graph = new GlobalMappingGraph(cluster);
  graph.registerTemplate(chain("t", 1, { one: { on: ["a0"], layout: [0] } }));
  const [operator] = submit(graph, 0, "t", 10_000).operators as [OperatorNode];
  const bank = new EstimatorBank();
  return { operator, predictor: new Predictor(cluster, bank), bank };
}

/** 10,000 · 1,000 operations at 10^12/s: a prior of 10 µs; it takes 7 ms. */
const slow = { kind: "slow", flopsPerSecond: 1e12 };
const fast = { kind: "fast", flopsPerSecond: 4e12 };

test("a kind that nothing was observed on is expected to be as fast as another by the ratio of their rooflines", () => {
  const { operator, predictor, bank } = world([slow, fast]);
  expect(predictor.operatorNs(operator, 0)).toBe(10_000);
  expect(predictor.operatorNs(operator, 1)).toBe(2500);
  const { features } = operator.instance.binding;
  bank.operator("t/s0", "slow").observe(features, 7e6, 10_000);
  const learned = predictor.operatorEstimate(operator, 0);
  expect(learned.source).toBe("regression");
  expect(Math.abs(learned.durationNs - 7e6)).toBeLessThan(7e3);
  const durationNs = Math.round(learned.durationNs / 4);
  expect(predictor.operatorEstimate(operator, 1)).toEqual({ durationNs, confidence: 0, source: "prior" });
  bank.operator("t/s0", "fast").observe(features, 3e6, 2500);
  expect(predictor.operatorEstimate(operator, 1).source).toBe("regression");
});

test("without any observation the priors stand", () => {
  const { operator, predictor } = world([slow, slow]);
  expect([0, 1].map((accelerator) => predictor.operatorEstimate(operator, accelerator))).toEqual([
    { durationNs: 10_000, confidence: 0, source: "prior" },
    { durationNs: 10_000, confidence: 0, source: "prior" },
  ]);
});

test("a slow accelerator is expected to be slow also with work that it never did, known elsewhere or not at all", () => {
  const { operator, predictor, bank } = world([slow, slow, slow, fast]);
  const { features } = operator.instance.binding;
  const observe = (model: string, accelerator: number, observedNs: number) =>
    bank.observeOperator({
      model,
      kind: "slow",
      accelerator: `a${accelerator}`,
      features,
      observedNs,
      priorNs: 10_000,
    });
  for (let i = 0; i < 30; i++) for (const a of [0, 1, 2]) observe("other work", a, a === 1 ? 3e6 : 1e6);
  const factor = bank.speedFactor("slow", "a1");
  expect(Math.abs(factor - 3)).toBeLessThan(0.1);
  const estimates = () => [0, 1, 2, 3].map((a) => predictor.operatorEstimate(operator, a));
  const priorNs = Math.round(10_000 * factor);
  expect(estimates().map(({ durationNs }) => durationNs)).toEqual([10_000, priorNs, 10_000, 2500]);
  for (let i = 0; i < 5; i++) observe("t/s0", 0, 7e6);
  const fastNs = Math.round(7e6 / 4);
  expect(estimates().map(({ durationNs }) => durationNs)).toEqual([7e6, Math.round(7e6 * factor), 7e6, fastNs]);
  expect(estimates()[1]).toMatchObject({ source: "history", confidence: estimates()[0]?.confidence });
});

test("what was observed teaches the speed of the accelerator that did it", () => {
  const { operator, predictor, bank } = world([slow, slow]);
  const { accelerator } = operator;
  for (let i = 0; i < 30; i++) {
    Object.assign(operator, { accelerator: i % 2 });
    predictor.operatorObserved(operator, i % 2 === 0 ? 1e6 : 3e6);
  }
  Object.assign(operator, { accelerator });
  expect([0, 1].map((a) => Math.round(predictor.operatorNs(operator, a) / 1e5))).toEqual([10, 30]);
  expect(bank.speedFactor("slow", "a0")).toBe(1);
});
