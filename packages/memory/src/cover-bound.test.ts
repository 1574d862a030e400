import {
  type CompiledPartition,
  compileCluster,
  compileTemplate,
  type OperatorSpec,
  type TemplateSpec,
} from "@slicescheduler/templates";
import { expect, test } from "vitest";
import { InstanceBounds } from "./cover-bound.ts";

const cluster = compileCluster({
  accelerators: ["a", "b", "c", "d"].map((name, i) => ({
    name,
    kind: "k",
    hbmBytes: 1e9,
    granularityBytes: i < 2 ? 10 : 256,
  })),
  defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 },
});

const bytes = (size: number | string) => ({ shape: [size], dtype: "int8" }) as const;

function compiled(
  operators: readonly OperatorSpec[],
  layouts: readonly (readonly [string[], number[]])[],
  more: Partial<TemplateSpec> = {},
) {
  const spec = {
    name: "t",
    symbols: [],
    operators,
    outputs: {},
    partitions: layouts.map(([accelerators, layout], i) => ({ name: `p${i}`, accelerators, layout })),
    ...more,
  };
  const template = compileTemplate(spec, cluster);
  const bounds = new InstanceBounds(template, cluster);
  return { template, bounds, on: (index: number) => bounds.on(template.partitions[index] as CompiledPartition) };
}

const chain: OperatorSpec[] = [
  { name: "a", outputs: { o: bytes(100) }, workspaceBytes: 7 },
  { name: "b", inputs: ["a.o"], outputs: { o: bytes(50) }, workspaceBytes: 30 },
  { name: "c", inputs: ["b.o"], outputs: { o: bytes(60) } },
];

test("a chain needs its heaviest neighbours, at rest its heaviest tensor, and workspace apart", () => {
  const { template, on } = compiled(chain, [[["a"], [0, 0, 0]]]);
  const binding = template.bind({});
  const need = on(0).need(binding, { homes: [] });
  expect([need.bytes[0], need.workspaceBytes[0]]).toEqual([150, 30]);
  const rest = on(0).restNeed(binding, { homes: [] });
  // b frees 100 and has 30 of workspace; c frees its input and its output, which nobody reads.
  expect([rest.bytes[0], rest.workspaceBytes[0]]).toEqual([100, 130]);
  expect(need.bytes.slice(1)).toEqual(new Float64Array(3));
});

test("layouts alike but for the names of accelerators are each bounded with their own granularity", () => {
  const { template, bounds, on } = compiled(chain, [
    [
      ["a", "b"],
      [0, 1, 1],
    ],
    [
      ["c", "d"],
      [1, 0, 0],
    ],
  ]);
  const binding = template.bind({});
  expect([...on(0).need(binding, { homes: [] }).bytes]).toEqual([100, 150, 0, 0]);
  expect([...on(1).need(binding, { homes: [] }).bytes]).toEqual([0, 0, 512, 256]);
  expect(bounds.on(template.partitions[0] as CompiledPartition)).toBe(on(0));
});

const growing: OperatorSpec[] = [
  { name: "grow", inputs: ["kv"], outputs: { kv: { ...bytes("past + 10"), aliases: "kv" } } },
  { name: "next", inputs: ["grow.kv"], outputs: { o: bytes(5) } },
];
const slot = { symbols: ["past"], inputs: { kv: bytes("past") } };

test("a slot is copied, grown in place or not bound", () => {
  const { template, on } = compiled(growing, [[["a"], [0, 0]]], slot);
  const bound = on(0);
  const binding = template.bind({ past: 1000 });
  // Somebody keeps the slot and with it what it grew by; the output that nobody reads is there for a while.
  expect(bound.need(binding, { homes: [0] }).bytes[0]).toBe(20);
  expect(bound.need(binding, { homes: [-1] }).bytes[0]).toBe(1020);
  expect(bound.need(binding, { homes: [1] }).bytes[0]).toBe(1020);
  expect(bound.need(template.bind({ past: 0 }), { homes: [null] }).bytes[0]).toBe(20);
});

test("what a kept slot grew by stays at rest, although nobody reads it", () => {
  const { template, on } = compiled(growing.slice(0, 1), [[["a"], [0]]], slot);
  const binding = template.bind({ past: 1000 });
  expect(on(0).restNeed(binding, { homes: [0] }).bytes[0]).toBe(10);
  expect(on(0).need(binding, { homes: [0] }).bytes[0]).toBe(10);
});

test("sizes that make no sense for some symbols, or for all that are tried, bound others nevertheless", () => {
  const odd = compiled(
    [
      { name: "a", outputs: { o: bytes("100 - n") } },
      { name: "b", inputs: ["a.o"], outputs: { o: bytes("ceilDiv(100, n - 90)") } },
    ],
    [[["a"], [0, 0]]],
    { symbols: ["n"] },
  );
  expect(odd.on(0).need(odd.template.bind({ n: 95 }), { homes: [] }).bytes[0]).toBe(30);
});

test("sizes past 2^53 are refused with a code", () => {
  const { template, on } = compiled(chain, [[["c"], [0, 0, 0]]], {
    operators: [{ name: "a", outputs: { o: bytes(Number.MAX_SAFE_INTEGER) } }],
    partitions: [{ name: "p", accelerators: ["c"], layout: [0] }],
  });
  expect(() => on(0).need(template.bind({}), { homes: [] })).toThrow(
    expect.objectContaining({ code: "BYTES_OVERFLOW" }),
  );
});

test("either of two readers may be the one that frees what both read", () => {
  const { template, on } = compiled(
    [
      { name: "a", outputs: { o: bytes(100) } },
      { name: "long", inputs: ["a.o"], outputs: {}, workspaceBytes: 30 },
      { name: "short", inputs: ["a.o"], outputs: {} },
    ],
    [[["a"], [0, 0, 0]]],
  );
  const rest = on(0).restNeed(template.bind({}), { homes: [] });
  expect([rest.bytes[0], rest.workspaceBytes[0]]).toEqual([100, 130]);
});
