import type { TemplateSpec } from "@slicescheduler/templates";
import { SliceScheduler } from "slicescheduler";
import { expect, test } from "vitest";
import { type LibtorchExecutorOptions, libtorchExecutor, type ObservedOperator, type Program } from "./index.ts";
import { describeNative } from "./native/describe-native.fixture.ts";

const FLOAT_BYTES = 4;

function world(hbmBytes: number, options: LibtorchExecutorOptions = {}) {
  const executor = libtorchExecutor(options);
  const accelerators = ["left", "right"].map((name) => ({ name, kind: "cpu", hbmBytes }));
  const cluster = { accelerators, defaultLink: { latencyNs: 10_000, bytesPerSecond: 1e9 } };
  return { executor, scheduler: new SliceScheduler({ cluster, executor }) };
}

const floats = (length: number) => ({ shape: [length], dtype: "float32" }) as const;
const ones = (length: number): Program => ({
  calls: [{ op: "aten::ones", args: [[length]], results: ["ones"] }],
  outputs: [{ value: "ones" }],
});
/** Its input and what is behind it, which is left as it is. */
const grown = (length: number): Program => ({
  calls: [{ op: "aten::as_strided", args: [{ input: 0 }, [length], [1]], results: ["grown"] }],
  outputs: [{ value: "grown" }],
});

/** A buffer of `length` floats that grows by `addedLength` each time, and whose beginning is summed up at last. */
function growing(length: number, addedLength: number, times: number) {
  const lengths = Array.from({ length: times }, (_, at) => length + addedLength * (at + 1));
  const before = (at: number) => (at === 0 ? "make.o" : `grow${at - 1}.o`);
  const programs: Record<string, Program> = { make: ones(length) };
  for (const [at, each] of lengths.entries()) programs[`grow${at}`] = grown(each);
  programs["sum"] = {
    calls: [
      { op: "aten::slice.Tensor", args: [{ input: 0 }, 0, 0, length], results: ["beginning"] },
      { op: "aten::sum", args: [{ value: "beginning" }], results: ["sum"] },
      { fetch: "sum", args: [{ value: "sum" }] },
    ],
    outputs: [],
  };
  const template: TemplateSpec = {
    name: "growing",
    symbols: [],
    operators: [
      { name: "make", outputs: { o: floats(length) } },
      ...lengths.map((each, at) => ({
        name: `grow${at}`,
        inputs: [before(at)],
        outputs: { o: { ...floats(each), aliases: before(at) } },
      })),
      { name: "sum", inputs: [before(times)], outputs: {}, workspaceBytes: 64 },
    ],
    outputs: {},
    partitions: [{ name: "one", accelerators: ["left"], layout: Array.from({ length: times + 2 }, () => 0) }],
  };
  return { template, programs };
}

describeNative("a buffer that grows in place", () => {
  const length = 1 << 20;

  test("takes no more than the account has for it, and keeps its contents", async () => {
    const addedLength = 1 << 16;
    const sums: number[] = [];
    const hbmBytes = FLOAT_BYTES * (length + 3 * addedLength) + 4096;
    const { executor, scheduler } = world(hbmBytes, { onFetched: ({ data }) => void sums.push(Number(data[0])) });
    const { template, programs } = growing(length, addedLength, 3);
    executor.define("growing", programs);
    const registered = scheduler.register(template);
    for (let round = 0; round < 2; round++) await scheduler.submit(registered, { symbols: {} }).done;
    expect(sums).toEqual([length, length]);
    const [memory] = executor.memory();
    // It was as large as it was declared, and what it grew out of was never counted beside it.
    expect(memory?.peakBytes).toBeGreaterThanOrEqual(FLOAT_BYTES * (length + 3 * addedLength));
    expect(memory?.peakBytes).toBeLessThanOrEqual(hbmBytes);
    expect(memory?.usedBytes).toBe(0);
    executor.validate();
    scheduler.close();
  });

  test("can be read at any time", async () => {
    const { executor, scheduler } = world(1 << 26);
    const { template, programs } = growing(length, 1 << 10, 12);
    executor.define("growing", programs);
    const registered = scheduler.register(template);
    let isDone = false;
    const submitted = Promise.all(Array.from({ length: 4 }, () => scheduler.submit(registered, { symbols: {} }).done));
    const done = submitted.finally(() => {
      isDone = true;
    });
    let reads = 0;
    while (!isDone) {
      for (let tensor = 0; tensor < 80; tensor++) {
        const found = executor.read(tensor, 0);
        if (found === undefined) continue;
        reads++;
        expect([found.data[0], found.data[length / 2], found.data[length - 1]].map(Number)).toEqual([1, 1, 1]);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await done;
    expect(reads).toBeGreaterThan(0);
    expect(executor.liveTensors()).toBe(0);
    scheduler.close();
  });
});

describeNative("what an operator takes", () => {
  test("does not count what arrives on its accelerator meanwhile", async () => {
    const side = 256;
    const observed: ObservedOperator[] = [];
    const { executor, scheduler } = world(1 << 25, { onObserved: (each) => void observed.push(each) });
    const products = Array.from({ length: 40 }, (_, at) => ({
      op: "aten::mm",
      args: [{ value: at === 0 ? "ones" : `product${at - 1}` }, { value: "ones" }],
      results: [`product${at}`],
    }));
    const multiply: Program = {
      calls: [{ op: "aten::ones", args: [[side, side]], results: ["ones"] }, ...products],
      outputs: [{ value: "product39" }],
    };
    const sent = 1 << 18;
    executor.define("long", { multiply });
    executor.define("send", { make: ones(sent), take: { calls: [], outputs: [] } });
    const squareBytes = FLOAT_BYTES * side * side;
    const long = scheduler.register({
      name: "long",
      symbols: [],
      operators: [
        {
          name: "multiply",
          outputs: { product: { shape: [side, side], dtype: "float32" } },
          workspaceBytes: 2 * squareBytes,
        },
      ],
      outputs: {},
      partitions: [{ name: "right", accelerators: ["right"], layout: [0] }],
    });
    const send = scheduler.register({
      name: "send",
      symbols: [],
      operators: [
        { name: "make", outputs: { o: floats(sent) } },
        { name: "take", inputs: ["make.o"], outputs: {} },
      ],
      outputs: {},
      partitions: [{ name: "both", accelerators: ["left", "right"], layout: [0, 1] }],
    });
    const submitted = [long, send, send, send].map((template) => scheduler.submit(template, { symbols: {} }).done);
    await Promise.all(submitted);
    const peaks = observed.filter(({ template }) => template === "long").map(({ peakBytes }) => peakBytes);
    expect(peaks).toEqual([3 * squareBytes]);
    scheduler.close();
  });
});

describeNative("weights that the account has no room for", () => {
  test("are refused, and do not come to the device", () => {
    const executor = libtorchExecutor();
    const tensors = { w: { shape: [500], dtype: "float32" } } as const;
    for (const [seed, name] of ["first", "second"].entries()) executor.defineWeights(name, { seed, tensors });
    const accelerators = [{ name: "left", kind: "cpu", hbmBytes: 4096 }];
    executor.open({ cluster: { accelerators }, deliver: () => {} });
    const load = (name: string, bytes: number) =>
      executor.execute([{ type: "loadWeights", accelerator: 0, name, bytes }]);
    load("first", 3000);
    // The device would have room for them.
    expect(() => load("second", 2000)).toThrow(expect.objectContaining({ code: "OVER_CAPACITY" }));
    expect(executor.memory()[0]).toMatchObject({ usedBytes: 2000, peakBytes: 2000 });
    executor.validate();
    executor.close();
  });
});
