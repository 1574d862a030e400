import { compileCluster, compileTemplate } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import { llamaDecode, llamaPrefill } from "../llama/templates.ts";
import { onInstance, passDependencies } from "./wiring.ts";

const spec = colocationCluster();
const cluster = compileCluster(spec);
const prefill = compileTemplate(llamaPrefill({ cluster: spec }), cluster);
const decode = compileTemplate(llamaDecode({ cluster: spec }), cluster);

test("a decode step needs each operator's cache, and first of all the token of the last one", () => {
  for (const producer of [prefill, decode]) {
    const needs = passDependencies(decode, producer).map(({ operator, onOperator }) => [operator, onOperator]);
    expect(needs.sort()).toEqual([
      [0, 0],
      [0, 3],
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  }
  expect(passDependencies(prefill, decode)).toEqual([]);
  expect(onInstance([{ operator: 0, onOperator: 3 }], 7)).toEqual([{ operator: 0, onInstance: 7, onOperator: 3 }]);
});

test("an input without an output of its name is a programming error", () => {
  expect(() => passDependencies(decode, { outputs: [] })).toThrowError(TypeError);
});
