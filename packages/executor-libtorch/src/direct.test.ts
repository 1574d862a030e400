import { expect, test } from "vitest";
import { type DirectOptions, type DirectStep, openDirect, runDirect } from "./direct.ts";
import { describeNative } from "./native/describe-native.fixture.ts";
import type { Program } from "./programs/types.ts";

const cluster = { accelerators: [{ name: "a", kind: "cpu", hbmBytes: 1 << 20 }] };
const row = { shape: ["count"], dtype: "float64" } as const;
const template = {
  name: "grow",
  symbols: ["count"],
  inputs: { before: row },
  external: { more: row },
  operators: [
    { name: "start", inputs: ["more", "before"], outputs: { out: row }, weights: { w: 8 } },
    { name: "double", inputs: ["start.out"], outputs: { out: row } },
  ],
  outputs: {},
  partitions: [{ name: "a", accelerators: ["a"], layout: [0, 0] }],
} as const;
const symbols = { count: 3 };
const start: DirectStep = {
  template,
  operator: "start",
  program: {
    calls: [
      { feed: "more", results: ["more"] },
      { op: "aten::mul.Tensor", args: [{ value: "more" }, { weight: "w" }], results: ["out"] },
    ],
    outputs: [{ value: "out" }],
  },
  symbols,
  inputs: [null],
  outputs: [0],
  feeds: { more: { dtype: "float64", shape: [3], data: Float64Array.of(1, 2, 3) } },
};
const double: DirectStep = {
  template,
  operator: "double",
  program: {
    calls: [
      { op: "aten::add.Tensor", args: [{ input: 0 }, { input: 0 }], results: ["out"] },
      { fetch: "out", args: [{ value: "out" }] },
    ],
    outputs: [{ value: "out" }],
  },
  symbols,
  inputs: [0],
  outputs: [1],
  drop: [0],
};
const weights = { w: { seed: 1, tensors: { w: { shape: [1], dtype: "float64", fill: 5 } } } } as const;

describeNative("a direct loop", () => {
  test("runs steps with weights, host data and results of earlier steps, and measures them", async () => {
    const run = await runDirect({ cluster, weights, steps: [start, double], repeat: 3 });
    expect(run.loopNs).toHaveLength(3);
    expect(run.fetched.map(({ name, data }) => [name, Array.from(data, Number)])).toEqual([["out", [10, 20, 30]]]);
    const steps = run.stepNs.reduce((sum, ns) => sum + ns, 0);
    expect(steps).toBeGreaterThan(0);
    expect(steps).toBeLessThanOrEqual(run.loopNs[2] ?? 0);
    expect(run.peakBytes.every((bytes) => bytes >= 24)).toBe(true);
  });

  test("that stays open keeps its weights, runs one call after the other, and says that it is closed", async () => {
    const loop = openDirect({ cluster, weights, hbmBytes: 200, steps: [start, double] });
    const runs = await Promise.all([loop.run(), loop.run(2)]);
    expect(runs.map(({ loopNs, fetched }) => [loopNs.length, Array.from(fetched[0]?.data ?? [], Number)])).toEqual([
      [1, [10, 20, 30]],
      [2, [10, 20, 30]],
    ]);
    await expect(loop.run(0)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    const under = [loop.run(10_000_000), loop.run()];
    const closed = { name: "ExecutorError", code: "CLOSED" };
    const rejected = under.map((run) => expect(run).rejects.toMatchObject(closed));
    await new Promise((resolve) => setTimeout(resolve, 20));
    loop.close();
    loop.close();
    await Promise.all(rejected);
    await expect(loop.run()).rejects.toMatchObject(closed);
  });

  test("rejects slots and numbers that cannot be", async () => {
    const refused = (change: Partial<DirectStep>, more: Partial<DirectOptions> = {}) =>
      expect(runDirect({ cluster, weights, steps: [start, { ...double, ...change }], ...more })).rejects.toMatchObject({
        name: "LibtorchError",
        code: "INVALID_OPTION",
      });
    for (const slot of [-1, 0.5, 2 ** 40, Number.NaN]) await refused({ outputs: [slot] });
    for (const slot of [-1, 1, 0.5]) await refused({ inputs: [slot] });
    for (const drop of [[7], [-1], [0, 0]]) await refused({ drop });
    for (const repeat of [0, -1, 1.5, 1e10]) await refused({}, { repeat });
    for (const hbmBytes of [-1, 0.5, Number.NaN]) await refused({}, { hbmBytes });
    await refused({ outputs: [1, 2] });
    await refused({ operator: "triple" });
  });

  test("rejects when something is fetched that the host cannot hold, and the process goes on", async () => {
    const program: Program = {
      calls: [
        { op: "aten::to_sparse", args: [{ input: 0 }], results: ["sparse"] },
        { fetch: "sparse", args: [{ value: "sparse" }] },
      ],
      outputs: [{ input: 0 }],
    };
    await expect(runDirect({ cluster, weights, steps: [start, { ...double, program }] })).rejects.toMatchObject({
      code: "WRONG_ARGUMENT",
    });
  });

  test("rejects with what its programs and weights throw", async () => {
    await expect(runDirect({ cluster, weights, hbmBytes: 40, steps: [start, double] })).rejects.toMatchObject({
      code: "OUT_OF_MEMORY",
    });
    const nameless = { ...double, program: { calls: [{ op: "aten::nothing" }], outputs: [0] } };
    await expect(runDirect({ cluster, weights, steps: [start, nameless] })).rejects.toMatchObject({
      code: "UNKNOWN_OPERATOR",
    });
    await expect(runDirect({ cluster, steps: [{ ...start, feeds: {} }] })).rejects.toMatchObject({
      code: "WEIGHTS_MISSING",
    });
  });
});
