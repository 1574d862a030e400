import fc from "fast-check";
import { expect, test } from "vitest";
import { type Dag, readW1, readW1Json, simulateDag } from "../index.ts";
import { runW1 } from "./testing/w1-twin.ts";
import { type W1Parts, type W1Shape, w1Parts, writeW1, writeW1Json } from "./testing/w1-writer.ts";

/** Operators take longer than transfers, as in W1: no two transfers wait for one link, whose order W1 and simulateDag decide differently. */
const shapes: fc.Arbitrary<W1Shape> = fc.record({
  accelerators: fc.constantFrom(2, 4),
  promptTokens: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
  passes: fc.integer({ min: 1, max: 4 }),
  hasKv: fc.boolean(),
  models: fc.array(
    fc.record({ a: fc.double({ min: 2, max: 40, noNaN: true }), b: fc.double({ min: 0.01, max: 0.2, noNaN: true }) }),
    { minLength: 1, maxLength: 4 },
  ),
});

/** When operators, and transfers to each accelerator, are done, and the peaks, by `simulateDag`. */
function simulated(parts: W1Parts, dag: Dag) {
  const timeline = simulateDag(dag);
  expect(timeline.outcome).toBe("finished");
  const doneNs = new Map(timeline.operators.map((it) => [it.name, it.doneNs]));
  return {
    operators: parts.nodes.flatMap(({ resource }, node) =>
      resource < parts.accelerators ? [doneNs.get(`op${node}:moved`) ?? doneNs.get(`op${node}`)] : [],
    ),
    transfers: timeline.transfers.map((it) => [it.destination, it.doneNs]).sort(byNumbers),
    peakBytes: timeline.accelerators.map((it) => it.peakBytes),
  };
}

/** The same by the rules of W1. */
function byTwin(parts: W1Parts, keepsWhole: boolean) {
  const { doneNs, peakBytes } = runW1(parts, keepsWhole);
  const of = (isTransfer: boolean) =>
    parts.nodes.flatMap(({ resource, memory }, node) =>
      resource >= parts.accelerators === isTransfer ? [[memory, doneNs[node] ?? -1]] : [],
    );
  return { operators: of(false).map(([, done]) => done), transfers: of(true).sort(byNumbers), peakBytes };
}

function byNumbers(a: readonly number[], b: readonly number[]): number {
  return (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0);
}

test("a W1 graph runs in simulateDag as by W1's own rules, to the nanosecond and the byte", () => {
  fc.assert(
    fc.property(shapes, (shape) => {
      const parts = w1Parts(shape);
      expect(simulated(parts, readW1(writeW1(parts)))).toEqual(byTwin(parts, false));
    }),
    { numRuns: 60 },
  );
});

test.each([false, true])("with W1's prompts its peaks are the same with KV caches freed whole: %s", (hasKv) => {
  const models = [0, 1, 2, 3].map((model) => ({ a: 10 + 0.37 * model, b: 0.11 + 0.004 * model }));
  const promptTokens = [1400, 130, 2048, 700, 333, 1999, 512, 128, 1024, 777];
  const parts = w1Parts({ accelerators: 4, promptTokens, passes: 6, hasKv, models });
  expect(simulated(parts, readW1(writeW1(parts)))).toEqual(byTwin(parts, true));
});

test("the binary and the JSON form are the same graph", () => {
  fc.assert(
    fc.property(shapes, (shape) => {
      const parts = w1Parts(shape);
      expect(readW1Json(writeW1Json(parts))).toEqual(readW1(writeW1(parts)));
    }),
    { numRuns: 40 },
  );
});
