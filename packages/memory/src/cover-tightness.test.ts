import type { CompiledPartition } from "@slicescheduler/templates";
import fc from "fast-check";
import { expect, test } from "vitest";
import { choices, cluster, type Graph, graphOf } from "../test/cover-graphs.ts";
import { modelOf, models } from "../test/cover-models.ts";
import { exploreAll, firstState } from "../test/cover-twin.ts";
import { InstanceBounds } from "./cover-bound.ts";
import type { CoverOptions } from "./cover-layout.ts";

/** Bounds over exact maxima, per accelerator that ever holds anything, ascending: by least flows, greedily, by the plain sum. */
function ratiosOf(graphs: readonly Graph[]): { least: number[]; greedy: number[]; sum: number[] } {
  const [least, greedy, sum]: [number[], number[], number[]] = [[], [], []];
  for (const { template, binding, inputs } of graphs) {
    const partition = template.partitions[0] as CompiledPartition;
    const { acceleratorOf } = partition;
    const needBytes = (options: CoverOptions) =>
      new InstanceBounds(template, cluster, options).on(partition).need(binding, inputs).bytes;
    const bounds = { least: needBytes({}), greedy: needBytes({ exactHoldingsMax: 0 }) };
    const world = { binding, acceleratorOf, accelerators: 3, inputs, heldUntilIssued: true };
    exploreAll(world).bytes.forEach((exact, a) => {
      if (exact === 0) return;
      least.push((bounds.least[a] as number) / exact);
      greedy.push((bounds.greedy[a] as number) / exact);
      sum.push(firstState(world).everythingOn(a) / exact);
    });
  }
  for (const ratios of [least, greedy, sum]) ratios.sort((one, other) => one - other);
  return { least, greedy, sum };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

/** Always the same graphs, so that the figures are. */
const drawn = { seed: 7, numRuns: Number(process.env["GRAPHS"] ?? 60) };

function report(name: string, ratios: readonly number[]): { median: number; p95: number } {
  const [median, p95] = [quantile(ratios, 0.5), quantile(ratios, 0.95)];
  if (process.env["GRAPHS"] !== undefined) {
    console.log(`${name}: ${ratios.length} bounds, median ${median.toFixed(3)}, p95 ${p95.toFixed(3)}`);
  }
  expect(ratios.length).toBeGreaterThan(20);
  expect(ratios[0]).toBeGreaterThanOrEqual(1);
  return { median, p95 };
}

test("chain-like models are bounded within 2 % at the median and 15 % at the 95th percentile", () => {
  const ratios = ratiosOf(fc.sample(models, drawn).map(modelOf));
  const least = report("models, least flow", ratios.least);
  expect(least.median).toBeLessThanOrEqual(1.02);
  expect(least.p95).toBeLessThanOrEqual(1.15);
  const greedy = report("models, greedy", ratios.greedy);
  expect(greedy.median).toBeLessThanOrEqual(1.1);
  expect(greedy.p95).toBeLessThanOrEqual(1.6);
  expect(report("models, plain sum", ratios.sum).p95).toBeGreaterThan(1.5);
}, 60_000);

test("random graphs are bounded not much worse", () => {
  const chosen = fc.sample(choices(8, fc.integer({ min: 1, max: 2 })), drawn);
  const ratios = ratiosOf(chosen.filter(({ operators }) => operators.length >= 4).map(graphOf));
  const least = report("random, least flow", ratios.least);
  expect(least.median).toBeLessThanOrEqual(1.2);
  expect(least.p95).toBeLessThanOrEqual(1.7);
  const greedy = report("random, greedy", ratios.greedy);
  expect(greedy.median).toBeLessThanOrEqual(1.3);
  expect(greedy.p95).toBeLessThanOrEqual(2.2);
  expect(report("random, plain sum", ratios.sum).median).toBeGreaterThan(1.2);
}, 60_000);
