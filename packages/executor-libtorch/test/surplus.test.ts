import type { TemplateSpec } from "@slicescheduler/templates";
import { SliceScheduler } from "slicescheduler";
import { expect, test } from "vitest";
import { type LibtorchExecutorOptions, libtorchExecutor, type Program } from "../src/index.ts";
import { describeNative } from "../src/native/describe-native.fixture.ts";

const HBM_BYTES = 1_000_000;
const one = { shape: [1], dtype: "float32" } as const;
/** 400 kB. */
const many = { shape: [100_000], dtype: "float32" } as const;
const sum = { op: "aten::sum", results: ["sum"] } as const;
const asOne = { op: "aten::reshape", args: [{ value: "sum" }, [1]], results: ["y"] } as const;
/** Takes 680 kB for a while, of which it declares 8 bytes. */
const hog: Program = {
  calls: [
    { op: "aten::ones", args: [[170_000]], results: ["m"] },
    ...Array.from({ length: 200 }, () => ({ op: "aten::sin_", args: [{ value: "m" }], results: [null] }) as const),
    { ...sum, args: [{ value: "m" }] },
    asOne,
  ],
  outputs: [{ value: "y" }],
};

function world(options: LibtorchExecutorOptions = {}) {
  const executor = libtorchExecutor(options);
  const accelerators = ["a", "b"].map((name) => ({ name, kind: "cpu", hbmBytes: HBM_BYTES }));
  const cluster = { accelerators, defaultLink: { latencyNs: 10_000, bytesPerSecond: 5e9 } };
  const scheduler = new SliceScheduler({ cluster, executor });
  executor.define("hog", { hog });
  const hogs = scheduler.register(template("hog", ["b"], [{ name: "hog", outputs: { y: one }, workspaceBytes: 8 }]));
  return { executor, scheduler, hogs };
}

function template(name: string, on: readonly string[], operators: TemplateSpec["operators"]): TemplateSpec {
  const partitions = [{ name: "only", accelerators: on, layout: operators.map((_, at) => at % on.length) }];
  return { name, symbols: [], operators, outputs: {}, partitions };
}

/** Where the others came first, there was no room for what it had not declared. */
function fullBefore(error: unknown): void {
  expect(String(error)).toMatch(/operator hog: OUT_OF_MEMORY/);
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

describeNative("an operator that takes more than it declares", () => {
  test("makes a transfer to its accelerator wait, not fail", async () => {
    const { executor, scheduler, hogs } = world();
    executor.define("victim", {
      make: { calls: [{ op: "aten::ones", args: [many.shape], results: ["x"] }], outputs: [{ value: "x" }] },
      use: { calls: [{ ...sum, args: [{ input: 0 }] }, asOne], outputs: [{ value: "y" }] },
    });
    const victims = scheduler.register(
      template(
        "victim",
        ["a", "b"],
        [
          { name: "make", outputs: { x: many } },
          { name: "use", inputs: ["make.x"], outputs: { y: one }, workspaceBytes: 8 },
        ],
      ),
    );
    for (let round = 0; round < 3; round++) {
      const hogged = scheduler.submit(hogs, { symbols: {} }).done.catch(fullBefore);
      await scheduler.submit(victims, { symbols: {} }).done;
      await hogged;
    }
    expect(executor.memory()[1]?.peakBytes).toBeLessThanOrEqual(HBM_BYTES);
    scheduler.close();
  });

  test("makes weights wait, not fail", async () => {
    const { executor, scheduler, hogs } = world();
    executor.defineWeights("w", { seed: 1, tensors: { w: { ...many, fill: 1 } } });
    executor.define("late", {
      late: { calls: [{ ...sum, args: [{ weight: "w" }] }, asOne], outputs: [{ value: "y" }] },
    });
    const hogged = scheduler.submit(hogs, { symbols: {} }).done.catch(fullBefore);
    await soon();
    const operators = [{ name: "late", outputs: { y: one }, weights: { w: 400_000 }, workspaceBytes: 8 }];
    const late = scheduler.register(template("late", ["b"], operators));
    await scheduler.submit(late, { symbols: {} }).done;
    await hogged;
    expect(executor.memory()[1]?.usedBytes).toBe(400_000);
    scheduler.close();
  });
});

describeNative("closing", () => {
  test("ends a program between two of its calls", async () => {
    const executor = libtorchExecutor({ lookahead: 2 ** 31 - 1 });
    const cluster = { accelerators: [{ name: "a", kind: "cpu", hbmBytes: 1e9 }] };
    const scheduler = new SliceScheduler({ cluster, executor });
    const calls = Array.from(
      { length: 4_000 },
      () => ({ op: "aten::ones", args: [[1_000_000]], results: [null] }) as const,
    );
    executor.define("long", { run: { calls, outputs: [] } });
    const operators = [{ name: "run", outputs: {}, workspaceBytes: 4_000_000 }];
    const handle = scheduler.submit(scheduler.register(template("long", ["a"], operators)), { symbols: {} });
    const rejected = expect(handle.done).rejects.toMatchObject({ code: "CLOSED" });
    await soon();
    const sinceMs = performance.now();
    scheduler.close();
    // All of them take seconds.
    expect(performance.now() - sinceMs).toBeLessThan(500);
    await rejected;
  });
});
