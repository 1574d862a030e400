import {
  compileCluster,
  compileTemplate,
  partitionNamed,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/templates";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type BoundInstance, instanceNeed, limitsNeed, type MemoryNeed } from "./bounds.ts";
import { ClaimNeeds, type SparseNeed } from "./claim-needs.ts";

const u8 = (...shape: readonly (number | string)[]) => ({ shape, dtype: "uint8" as const });

const NAMES = ["a", "b", "c", "d", "e"];
const PARTITIONS = ["p", "q", "r", "s"];

/** Of three operators, over some accelerators, one of which may be left without any. */
const layout = fc.record({
  accelerators: fc.shuffledSubarray(NAMES, { minLength: 2, maxLength: 3 }),
  layout: fc.constantFrom([0, 1, 1], [0, 1, 1], [0, 1, 1], [0, 0, 0], [0, 1, 2], [1, 0, 0]),
});
const layouts = fc.dictionary(fc.constantFrom(...PARTITIONS), layout, { minKeys: 3 });

const worlds = fc.record({
  granularities: fc.array(fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 256), {
    minLength: NAMES.length,
    maxLength: NAMES.length,
  }),
  make: layouts,
  /** As those of the first where it has none of its own. */
  step: fc.option(layouts, { freq: 1 }),
  concurrentInstances: fc.integer({ min: 1, max: 3 }),
  chains: fc.integer({ min: 1, max: 2 }),
  bytes: fc.constantFrom(1, 100, 1000),
});

type World = typeof worlds extends fc.Arbitrary<infer T> ? T : never;

function partitionsOf(all: NonNullable<World["step"]>): TemplateSpec["partitions"] {
  return Object.entries(all).map(([name, { accelerators, layout: places }]) => {
    return { name, accelerators, layout: places.map((place) => place % accelerators.length) };
  });
}

/** Makes a result that stays, in three operators with workspace. */
function makeSpec(world: World): TemplateSpec {
  const operator = (i: number) => ({
    name: `m${i}`,
    inputs: i === 0 ? [] : [`m${i - 1}.o`],
    outputs: { o: u8("n", i + 1) },
    workspaceBytes: `n * ${3 - i}`,
  });
  return {
    name: "make",
    symbols: ["n"],
    operators: [0, 1, 2].map(operator),
    outputs: { out: "m2.o", middle: "m1.o" },
    partitions: partitionsOf(world.make),
  };
}

/** Grows one result in place, and reads another. */
function stepSpec(world: World): TemplateSpec {
  return {
    name: "step",
    symbols: ["n"],
    inputs: { cache: { shape: ["n", 3], dtype: "uint8" }, other: { shape: ["n", 2], dtype: "uint8" } },
    operators: [
      { name: "grow", inputs: ["cache"], outputs: { o: { ...u8("n", 4), aliases: "cache" } } },
      { name: "read", inputs: ["grow.o", "other"], outputs: { o: u8("n") } },
      { name: "last", inputs: ["read.o"], outputs: { o: u8("n") } },
    ],
    outputs: { cache: "grow.o" },
    partitions: partitionsOf(world.step ?? world.make),
  };
}

/** Entries for the whole cluster. */
function dense({ accelerators, bytes, workspaceBytes }: SparseNeed): MemoryNeed {
  const all = { bytes: new Float64Array(NAMES.length), workspaceBytes: new Float64Array(NAMES.length) };
  accelerators.forEach((a, i) => {
    all.bytes[a] = bytes[i] as number;
    all.workspaceBytes[a] = workspaceBytes[i] as number;
  });
  return all;
}

test("what is needed on a partition is what is worked out for that partition alone, however alike others are", () => {
  let shared = 0;
  fc.assert(
    fc.property(worlds, (world) => {
      const cluster = compileCluster({
        accelerators: NAMES.map((name, i) => ({
          name,
          kind: "demo",
          hbmBytes: 1e9,
          granularityBytes: world.granularities[i] as number,
        })),
        defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 },
      });
      const [make, step] = [makeSpec(world), stepSpec(world)].map((spec) => compileTemplate(spec, cluster));
      if (make === undefined || step === undefined) throw new Error("incomplete");
      const names = Object.keys(world.make).filter((name) => name in (world.step ?? world.make));
      const needs = new ClaimNeeds(cluster);
      const limits = [make, step].map((template) => template.bind({ n: world.bytes }));
      if (names.length === 0) return;
      const request = { concurrentInstances: world.concurrentInstances, chains: world.chains };
      for (const moment of ["rest", "any"] as const) {
        for (const name of PARTITIONS) {
          const need = needs.ofLimits(request, limits, name, moment);
          const expected = limitsNeed(limits, name, request, cluster, moment);
          expect(need === undefined ? undefined : dense(need)).toEqual(expected);
        }
      }
      const bound = (template: Template, inputs: BoundInstance["inputs"]) => {
        return { template, binding: template.bind({ n: world.bytes }), inputs, partition: null };
      };
      const made = bound(make, []);
      const result = (index: number) => ({ producer: { index, accelerator: -1, instance: made } });
      const stepped = bound(step, [result(2), result(1)]);
      for (const instance of [made, stepped]) {
        for (const moment of ["rest", "any"] as const) {
          for (const name of PARTITIONS) {
            const need = needs.ofInstance(instance, name, moment);
            const partition = partitionNamed(instance.template, name);
            const expected = partition === undefined ? undefined : instanceNeed(instance, partition, cluster, moment);
            expect(need === undefined ? undefined : dense(need)).toEqual(expected);
          }
        }
      }
      for (const one of names) {
        for (const other of names) {
          const [a, b] = [one, other].map((name) => needs.ofLimits(request, limits, name, "rest"));
          if (one !== other && a?.bytes === b?.bytes) shared += 1;
        }
      }
    }),
    { numRuns: 150 },
  );
  // Layouts that correspond did occur.
  expect(shared).toBeGreaterThan(10);
});
