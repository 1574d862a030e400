import type { CompiledPartition } from "@slicescheduler/templates";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Choice, choices, cluster, type Graph, graphOf } from "../test/cover-graphs.ts";
import { type Exact, exploreAll, firstState, type World } from "../test/cover-twin.ts";
import { type InstanceBound, InstanceBounds } from "./cover-bound.ts";

const RUNS = Number(process.env["RUNS"] ?? 80);
const ACCELERATORS = 3;

interface Case extends Graph {
  readonly bound: InstanceBound;
  readonly world: World;
}

/** @param exactHoldingsMax 0 for the greedy cover everywhere. */
function caseOf(choice: Choice, heldUntilIssued: boolean, exactHoldingsMax: number): Case {
  const graph = graphOf(choice);
  const { binding, inputs, template } = graph;
  const partition = template.partitions[0] as CompiledPartition;
  const bound = new InstanceBounds(template, cluster, { heldUntilIssued, exactHoldingsMax }).on(partition);
  const { acceleratorOf } = partition;
  return { ...graph, bound, world: { binding, acceleratorOf, accelerators: ACCELERATORS, inputs, heldUntilIssued } };
}

const modes = fc.record({ heldUntilIssued: fc.boolean(), exactHoldingsMax: fc.constantFrom(256, 0) });

function expectBounds({ bound, binding, inputs, world }: Case, exact: Exact): void {
  const need = bound.need(binding, inputs);
  const rest = bound.restNeed(binding, inputs);
  const first = firstState(world);
  for (let a = 0; a < ACCELERATORS; a++) {
    const bytes = need.bytes[a] as number;
    const restBytes = rest.bytes[a] as number;
    expect(bytes).toBeGreaterThanOrEqual(exact.bytes[a] as number);
    expect(bytes).toBeLessThanOrEqual(first.everythingOn(a));
    expect(restBytes).toBeLessThanOrEqual(bytes);
    expect(restBytes).toBeGreaterThanOrEqual(exact.restBytes[a] as number);
    const withWorkspace = restBytes + (rest.workspaceBytes[a] as number);
    expect(withWorkspace).toBeGreaterThanOrEqual(exact.withWorkspaceBytes[a] as number);
  }
}

test("a bound is never below the most over all orders and timings, nor above the sum of everything", () => {
  fc.assert(
    fc.property(choices(6), modes, (choice, { heldUntilIssued, exactHoldingsMax }) => {
      const found = caseOf(choice, heldUntilIssued, exactHoldingsMax);
      expectBounds(found, exploreAll(found.world));
    }),
    { numRuns: RUNS },
  );
}, 60_000);

test("larger symbols and inputs that are elsewhere never need less", () => {
  fc.assert(
    fc.property(choices(8), modes, fc.nat(9), fc.nat(9), (choice, { exactHoldingsMax }, n, m) => {
      const { bound, template, binding, inputs } = caseOf(choice, true, exactHoldingsMax);
      const larger = template.bind({ n: choice.n + n, m: choice.m + m });
      const { homes } = inputs;
      const atHome = bound.need(binding, { homes });
      const elsewhere = bound.need(binding, { homes: homes.map(() => -1) });
      const largerHomes = homes.map((home, slot) => (larger.inputBytes(slot) > 0 ? (home ?? -1) : home));
      const largerAtHome = bound.need(larger, { homes: largerHomes });
      const largest = bound.need(larger, { homes: homes.map(() => -1) });
      for (let a = 0; a < ACCELERATORS; a++) {
        expect(elsewhere.bytes[a]).toBeGreaterThanOrEqual(atHome.bytes[a] as number);
        expect(largest.bytes[a]).toBeGreaterThanOrEqual(elsewhere.bytes[a] as number);
        expect(largest.bytes[a]).toBeGreaterThanOrEqual(largerAtHome.bytes[a] as number);
      }
    }),
    { numRuns: RUNS },
  );
}, 60_000);
