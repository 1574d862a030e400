import type { OperatorSpec, TemplateSpec } from "@slicescheduler/templates";
import { SliceScheduler } from "slicescheduler";
import { expect, test } from "vitest";
import type { FetchedTensor, ObservedOperator } from "./index.ts";
import { type LibtorchError, type LibtorchExecutorOptions, libtorchExecutor, type Program } from "./index.ts";
import { describeNative } from "./native/describe-native.fixture.ts";

const HBM_BYTES = 1 << 20;
const cluster = {
  accelerators: ["left", "right"].map((name) => ({ name, kind: "cpu", hbmBytes: HBM_BYTES })),
  defaultLink: { latencyNs: 10_000, bytesPerSecond: 1e9 },
};
const row = { shape: ["count"], dtype: "float64" } as const;
const partitions = [
  { name: "one", accelerators: ["left"], layout: [0, 0] },
  { name: "both", accelerators: ["left", "right"], layout: [0, 1] },
];

/** Makes 0, 1, 2, …, and sums them up. */
const total: TemplateSpec<"count"> = {
  name: "total",
  symbols: ["count"],
  operators: [
    { name: "count", outputs: { numbers: row } },
    { name: "add", inputs: ["count.numbers"], outputs: {}, workspaceBytes: 64 },
  ],
  outputs: {},
  partitions,
};
const count: Program = {
  calls: [{ op: "aten::arange", args: [{ symbol: "count" }], kwargs: { dtype: { dtype: "float64" } }, results: ["n"] }],
  outputs: [{ value: "n" }],
};
const add: Program = {
  calls: [
    { op: "aten::sum", args: [{ input: 0 }], results: ["sum"] },
    { fetch: "sum", args: [{ value: "sum" }] },
  ],
  outputs: [],
};

function world(options: LibtorchExecutorOptions = {}) {
  const fetched: FetchedTensor[] = [];
  const observed: ObservedOperator[] = [];
  const executor = libtorchExecutor({
    onFetched: (each) => void fetched.push(each),
    onObserved: (each) => void observed.push(each),
    ...options,
  });
  const scheduler = new SliceScheduler({ cluster, executor });
  return { executor, scheduler, fetched, observed };
}

function codeOf(action: () => unknown): string {
  try {
    action();
    return "nothing was thrown";
  } catch (error) {
    return (error as LibtorchError).code;
  }
}

describeNative("the libtorch executor", () => {
  test.each([1, 4])("runs programs on one accelerator and across two, with a lookahead of %i", async (lookahead) => {
    const { executor, scheduler, fetched, observed } = world({ lookahead });
    executor.define("total", { count, add });
    const template = scheduler.register(total);
    const counts = [10, 100, 1_000];
    for (const partitions of [["one"], ["both"]])
      await Promise.all(counts.map((count) => scheduler.submit(template, { symbols: { count }, partitions }).done));
    const sums = fetched.map(({ data }) => Number(data[0])).sort((a, b) => a - b);
    expect(sums).toEqual([45, 45, 4_950, 4_950, 499_500, 499_500]);
    expect(fetched[0]).toMatchObject({ template: "total", operator: "add", name: "sum", dtype: "float64", shape: [] });
    // Every operator was measured, and its results have the bytes that were declared.
    const made = observed.filter(({ operator }) => operator === "count").map(({ outputBytes }) => outputBytes);
    expect(made.sort((a, b) => a - b)).toEqual([80, 80, 800, 800, 8_000, 8_000]);
    for (const { durationNs, peakBytes, outputBytes, declaredBytes } of observed) {
      expect(durationNs).toBeGreaterThan(0);
      expect(peakBytes).toBeGreaterThanOrEqual(outputBytes);
      expect(declaredBytes).toBeGreaterThanOrEqual(peakBytes);
    }
    executor.validate();
    expect(executor.liveTensors()).toBe(0);
    expect(executor.memory().map(({ usedBytes }) => usedBytes)).toEqual([0, 0]);
    scheduler.close();
  });
});

describeNative("the libtorch executor's data and memory", () => {
  test("host data are given for an instance before it runs, and its weights are there", async () => {
    const tensors = { scale: { shape: [1], dtype: "float64", fill: 3 } } as const;
    const { executor, scheduler, fetched } = world({ weights: { three: { seed: 1, tensors } } });
    const scaled: Program = {
      calls: [
        { feed: "numbers", results: ["n"] },
        { op: "aten::mul.Tensor", args: [{ value: "n" }, { weight: "scale" }], results: ["scaled"] },
        { fetch: "scaled", args: [{ value: "scaled" }] },
      ],
      outputs: [],
    };
    executor.define("scale", { scale: scaled });
    const template = scheduler.register({
      name: "scale",
      symbols: ["count"],
      external: { numbers: row },
      operators: [
        { name: "scale", inputs: ["numbers"], outputs: {}, workspaceBytes: "16 * count", weights: { three: 8 } },
      ],
      outputs: {},
      partitions: [{ name: "right", accelerators: ["right"], layout: [0] }],
    });
    expect(executor.memory()[1]?.usedBytes).toBe(8);
    const submit = (data: readonly number[]) => {
      const tensor = { dtype: "float64", shape: [data.length], data: Float64Array.from(data) } as const;
      const prepare = (instance: number) => executor.feed(instance, "numbers", tensor);
      return scheduler.submit(template, { symbols: { count: data.length }, prepare });
    };
    const handles = [[1, 2], [5], [7, 8, 9]].map(submit);
    await Promise.all(handles.map(({ done }) => done));
    const found = fetched.map(({ instance, data }) => [instance, Array.from(data, Number)]);
    expect(found).toEqual(handles.map(({ id }, at) => [id, [[3, 6], [15], [21, 24, 27]][at]]));
    const unfed = (prepare: (instance: number) => void) =>
      expect(scheduler.submit(template, { symbols: { count: 2 }, prepare }).done).rejects;
    await unfed(() => {}).toThrow(/FEED_MISSING.*instance 3 has none/);
    const misnamed = { dtype: "float64", shape: [2], data: new Float64Array(2) } as const;
    await unfed((instance) => executor.feed(instance, "number", misnamed)).toThrow(/instance 4 has only "number"/);
    scheduler.close();
  });

  test("an operator that needs more than its accelerator has fails alone, and leaves nothing", async () => {
    const { executor, scheduler, fetched } = world();
    const greedy: Program = {
      calls: [{ op: "aten::zeros", args: [[HBM_BYTES]], results: ["zeros"] }, ...count.calls],
      outputs: count.outputs,
    };
    executor.define("total", { count, add });
    executor.define("greedy", { count: greedy, add });
    const [sound, failing] = [scheduler.register(total), scheduler.register({ ...total, name: "greedy" })];
    const outcomes = await Promise.allSettled(
      [sound, failing, sound, failing].map((template) => scheduler.submit(template, { symbols: { count: 4 } }).done),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
    const [, refused] = outcomes;
    expect(refused?.status === "rejected" && String(refused.reason)).toMatch(/OUT_OF_MEMORY/);
    expect(fetched).toHaveLength(2);
    executor.validate();
    expect(executor.memory().map(({ usedBytes }) => usedBytes)).toEqual([0, 0]);
    scheduler.close();
  });
});

describeNative("the libtorch executor's refusals", () => {
  test("what is wrong is told when the template is registered", () => {
    const { executor, scheduler } = world();
    const register = (name: string, programs: Readonly<Record<string, Program>>) => {
      executor.define(name, programs);
      return codeOf(() => scheduler.register({ ...total, name }));
    };
    expect(register("no program", { count })).toBe("PROGRAM_MISSING");
    expect(register("no operator", { count: { calls: [{ op: "aten::arrange" }], outputs: [0] }, add })).toBe(
      "UNKNOWN_OPERATOR",
    );
    expect(
      register("no argument", {
        count: { calls: [{ op: "aten::arange", results: ["n"] }], outputs: [{ value: "n" }] },
        add,
      }),
    ).toBe("WRONG_ARGUMENT");
    expect(register("no output", { count: { calls: [], outputs: [] }, add })).toBe("PROGRAM_INVALID");
    const weighed = { op: "aten::add.Tensor", args: [{ weight: "w" }, { weight: "w" }], results: ["n"] };
    expect(register("no weights", { count: { calls: [weighed], outputs: [{ value: "n" }] }, add })).toBe(
      "WEIGHTS_MISSING",
    );
    scheduler.close();
  });

  test("a template that was refused is registered when its program is mended", async () => {
    const { executor, scheduler, fetched } = world();
    executor.define("total", { count: { calls: [{ op: "aten::arrange" }], outputs: [0] }, add });
    expect(codeOf(() => scheduler.register(total))).toBe("UNKNOWN_OPERATOR");
    executor.define("total", { count });
    await scheduler.submit(scheduler.register(total), { symbols: { count: 4 } }).done;
    expect(fetched).toHaveLength(1);
    scheduler.close();
  });

  test("refuses options that cannot be", () => {
    expect(codeOf(() => libtorchExecutor(null as never))).toBe("INVALID_OPTION");
    expect(codeOf(() => libtorchExecutor({ devices: null as never }))).toBe("INVALID_OPTION");
    expect(codeOf(() => libtorchExecutor({ weights: 3 as never }))).toBe("INVALID_OPTION");
    expect(codeOf(() => libtorchExecutor({ lookahead: 0 }))).toBe("INVALID_OPTION");
    expect(codeOf(() => libtorchExecutor({ reportNs: 10 }))).toBe("INVALID_OPTION");
    expect(codeOf(() => libtorchExecutor({ devices: { left: "tpu:0" as "cpu" } }))).toBe("INVALID_OPTION");
    const executor = libtorchExecutor({ devices: { left: "cuda:99" } });
    expect(codeOf(() => new SliceScheduler({ cluster, executor }))).toBe("DEVICE_UNAVAILABLE");
  });

  test("weights that lack what a program reads, or have it twice, are refused at registration", () => {
    const { executor, scheduler } = world();
    const w = { shape: [4], dtype: "float64", fill: 1 } as const;
    executor.defineWeights("one", { seed: 1, tensors: { w, bias: w } });
    executor.defineWeights("two", { seed: 1, tensors: { w } });
    let number = 0;
    const register = (tensor: string, weights: Readonly<Record<string, number>>) => {
      const name = `weighed ${number++}`;
      const program = {
        calls: [{ op: "aten::clone", args: [{ weight: tensor }], results: ["n"] }],
        outputs: [{ value: "n" }],
      };
      executor.define(name, { count: program, add });
      const [first, second] = total.operators as [OperatorSpec, OperatorSpec];
      scheduler.register({ ...total, name, operators: [{ ...first, weights }, second] });
    };
    const refusal = (code: string, text: RegExp) =>
      expect.objectContaining({ code, message: expect.stringMatching(text) });
    expect(() => register("wight", { two: 32 })).toThrow(
      refusal("WEIGHTS_MISSING", /"wight".*"two" has the tensors "w"/),
    );
    expect(() => register("bais", { two: 32, one: 64 })).toThrow(refusal("WEIGHTS_MISSING", /did you mean "bias"/));
    expect(() => register("w", { one: 64, two: 32 })).toThrow(refusal("WEIGHTS_INVALID", /"one", "two" have each/));
    expect(executor.memory().map(({ usedBytes }) => usedBytes)).toEqual([0, 0]);
    register("bias", { one: 64, two: 32 });
    scheduler.close();
  });

  test("another source for weights that are loaded is refused, the same one is not", () => {
    const { executor, scheduler } = world();
    const source = (fill: number) => ({ seed: 1, tensors: { w: { shape: [4], dtype: "float64", fill } } }) as const;
    const last = source(2);
    executor.defineWeights("w", source(1));
    executor.defineWeights("w", last); // nothing has them yet
    executor.define("total", { count, add });
    const [first, second] = total.operators as [OperatorSpec, OperatorSpec];
    scheduler.register({ ...total, operators: [{ ...first, weights: { w: 32 } }, second] });
    executor.defineWeights("w", last);
    expect(codeOf(() => executor.defineWeights("w", source(3)))).toBe("WEIGHTS_IN_USE");
    scheduler.close();
  });

  test("weights that take more than is declared are refused", () => {
    const tensors = { w: { shape: [100], dtype: "float32" } } as const;
    const { executor, scheduler } = world({ weights: { heavy: { seed: 1, tensors } } });
    executor.define("total", { count, add });
    const [first, second] = total.operators;
    const operators = [
      { ...first, name: "count", outputs: { numbers: row }, weights: { heavy: 399 } },
      ...(second ? [second] : []),
    ];
    expect(codeOf(() => scheduler.register({ ...total, operators }))).toBe("WEIGHTS_INVALID");
    expect(executor.memory()[0]?.usedBytes).toBe(0);
    scheduler.close();
  });
});

describeNative("closing", () => {
  test("an executor closed under its scheduler: nothing is heard any more, and closing the scheduler settles what is left", async () => {
    const { executor, scheduler } = world();
    executor.define("total", { count, add });
    const template = scheduler.register(total);
    executor.rehearse("hold", 0);
    const outcome = scheduler.submit(template, { symbols: { count: 4 } }).done.then(String, (error) => error.code);
    let woken = 0;
    executor.clock.callAt(executor.clock.nowNs(), () => woken++);
    executor.close();
    expect(codeOf(() => scheduler.submit(template, { symbols: { count: 4 } }))).toBe("CLOSED");
    const late = new Promise((resolve) => setTimeout(resolve, 50, "pending"));
    expect(await Promise.race([outcome, late])).toBe("pending");
    expect(woken).toBe(0);
    scheduler.close();
    expect(await outcome).toBe("CLOSED");
  });
});
