import type { CompiledPartition } from "@slicescheduler/templates";
import { expect, test } from "vitest";
import { cluster } from "../test/cover-graphs.ts";
import { largeTemplate } from "../test/cover-large.ts";
import { InstanceBounds } from "./cover-bound.ts";

function boundOf(reads: readonly (readonly number[])[], bytesOf: (operator: number) => number, accelerators = 1) {
  const { template, binding } = largeTemplate(cluster, reads, bytesOf);
  const partition: CompiledPartition = {
    name: "p",
    index: 0,
    accelerators: [0, 1, 2].slice(0, accelerators),
    acceleratorOf: reads.map((_, i) => Math.floor((i * accelerators) / reads.length)),
    weights: [],
    used: [0, 1, 2].slice(0, accelerators),
  };
  return { bound: new InstanceBounds(template, cluster).on(partition), binding, inputs: { homes: [] } };
}

const chainOf = (length: number) => Array.from({ length }, (_, i) => (i === 0 ? [] : [i - 1]));

test("a chain of 200,000 operators holds two tensors at once, and one at rest", () => {
  const { bound, binding, inputs } = boundOf(chainOf(200_000), () => 1000);
  expect([...bound.need(binding, inputs).bytes]).toEqual([2000, 0, 0]);
  expect([...bound.restNeed(binding, inputs).bytes]).toEqual([1000, 0, 0]);
}, 60_000);

test("a fan-out of 1,000 holds its branches, and chains behind it are bounded as well", () => {
  const branches = Array.from({ length: 1000 }, (_, i) => i + 1);
  const reads = [[], ...branches.map(() => [0]), branches];
  for (let i = 0; i < 500; i++) reads.push([reads.length - 1]);
  const { bound, binding, inputs } = boundOf(reads, () => 10);
  // All branches, beside what they read from or their join.
  expect(bound.need(binding, inputs).bytes[0]).toBe(10_010);
}, 60_000);

test("residual layers of a large model need what one layer needs", () => {
  // Per layer: a block that reads the hidden state, a wide one, and a sum of that and the hidden state.
  const reads: number[][] = [[]];
  for (let layer = 0; layer < 400; layer++) {
    const hidden = reads.length - 1;
    reads.push([hidden], [hidden + 1], [hidden, hidden + 2]);
  }
  const { bound, binding, inputs } = boundOf(reads, (operator) => (operator % 3 === 1 ? 400 : 100));
  // At most 600: the hidden state, the wide activation and what is made of it. Chains that are not shared cannot say less than 700.
  expect(bound.need(binding, inputs).bytes[0]).toBe(700);
}, 60_000);

test("side branches that end do not lose the chains of the main way", () => {
  const reads: number[][] = [[]];
  let last = 0;
  for (let layer = 0; layer < 400; layer++) {
    reads.push([last]);
    last = reads.length - 1;
    reads.push([last]);
  }
  const { bound, binding, inputs } = boundOf(reads, (operator) => (operator % 2 === 0 && operator > 0 ? 0 : 100));
  // Every side branch may be slow, so that each layer's output may stay for its own.
  expect(bound.need(binding, inputs).bytes[0]).toBe(100 * 400);
  const main = boundOf(
    reads.map((producers, i) => (i % 2 === 0 && i > 0 ? [] : producers)),
    () => 100,
  );
  // What nobody reads goes with the end of its operator, of which one runs at a time. One at rest, and two that the last one frees.
  expect(main.bound.need(main.binding, main.inputs).bytes[0]).toBe(300);
}, 60_000);
