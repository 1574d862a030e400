import { expect, test } from "vitest";
import { SliceScheduler } from "slicescheduler";
import { describeNative } from "./native/describe-native.fixture.ts";
import { type FetchedTensor, libtorchExecutor, type ObservedOperator } from "./index.ts";

const cluster = {
  accelerators: ["left", "right"].map((name) => ({ name, kind: "cpu", hbmBytes: 1 << 20 })),
  defaultLink: { latencyNs: 10_000, bytesPerSecond: 1e9 },
};
const row = { shape: ["count"], dtype: "float64" } as const;

describeNative("the libtorch executor", () => {
  test("runs programs end to end, on one accelerator and across two", async () => {
    const fetched: FetchedTensor[] = [];
    const observed: ObservedOperator[] = [];
    const executor = libtorchExecutor({
      onFetched: (each) => void fetched.push(each),
      onObserved: (each) => void observed.push(each),
    });
    executor.define("total", {
      count: {
        calls: [{ op: "aten::arange", args: [{ symbol: "count" }], kwargs: { dtype: { dtype: "float64" } }, results: ["n"] }],
        outputs: [{ value: "n" }],
      },
      add: {
        calls: [
          { op: "aten::sum", args: [{ input: 0 }], results: ["sum"] },
          { fetch: "sum", args: [{ value: "sum" }] },
        ],
        outputs: [],
      },
    });
    const scheduler = new SliceScheduler({ cluster, executor });
    const total = scheduler.register({
      name: "total",
      symbols: ["count"],
      operators: [
        { name: "count", outputs: { numbers: row } },
        { name: "add", inputs: ["count.numbers"], outputs: {}, workspaceBytes: 64 },
      ],
      outputs: {},
      partitions: [
        { name: "one", accelerators: ["left"], layout: [0, 0] },
        { name: "both", accelerators: ["left", "right"], layout: [0, 1] },
      ],
    });
    const counts = [10, 100, 1_000];
    for (const partitions of [["one"], ["both"]])
      await Promise.all(counts.map((count) => scheduler.submit(total, { symbols: { count }, partitions }).done));
    const sums = fetched.map(({ data }) => Number(data[0])).sort((a, b) => a - b);
    expect(sums).toEqual([45, 45, 4_950, 4_950, 499_500, 499_500]);
    expect(observed).toHaveLength(12);
    expect(executor.liveTensors()).toBe(0);
    executor.validate();
    scheduler.close();
  });
});
