/** A SliceScheduler over lanes: signals of two priorities are made on one lane, smoothed and summed up on the same or the other. `node examples/run.mjs own-executor` runs it. */
import { SliceScheduler } from "slicescheduler";
import { type Kernel, LaneExecutor } from "./lane-executor.ts";

/** By the instance that computed it. Kernels are how results leave the lanes. */
const sums = new Map<number, number>();

const kernels: Readonly<Record<string, Kernel>> = {
  make: ({ outputs: [signal] }) => {
    for (const at of signal?.keys() ?? []) signal?.fill(at % 3, at, at + 1);
  },
  smooth: async ({ inputs: [signal], outputs: [smooth] }) => {
    if (signal === undefined || smooth === undefined) return;
    for (const at of smooth.keys()) {
      const [before, here, after] = [signal.at(at - 1) ?? 0, signal[at] ?? 0, signal[(at + 1) % signal.length] ?? 0];
      smooth[at] = (before + here + after) / 3;
    }
  },
  sum: ({ instance, inputs: [smooth] }) => {
    sums.set(instance, smooth?.reduce((sum, value) => sum + value, 0) ?? Number.NaN);
  },
};

const cluster = {
  accelerators: ["left", "right"].map((name) => ({ name, kind: "lane", hbmBytes: 64 * 1024 })),
  defaultLink: { latencyNs: 50_000, bytesPerSecond: 1e9 },
};
const executor = new LaneExecutor(kernels);
const scheduler = new SliceScheduler({ cluster, executor });
const signal = { shape: ["samples"], dtype: "float64" } as const;
const pipeline = scheduler.register({
  name: "pipeline",
  symbols: ["samples"],
  operators: [
    { name: "make", outputs: { signal } },
    { name: "smooth", inputs: ["make.signal"], outputs: { signal } },
    { name: "sum", inputs: ["smooth.signal"], outputs: {} },
  ],
  outputs: {},
  partitions: [
    { name: "left", accelerators: ["left"], layout: [0, 0, 0] },
    { name: "across", accelerators: ["left", "right"], layout: [0, 1, 1] },
  ],
});

/** The sum over a smoothed signal of so many samples, as the lanes computed it. */
export async function smoothedSum(samples: number, priority: "online" | "offline"): Promise<number> {
  const handle = scheduler.submit(pipeline, { symbols: { samples }, priority });
  await handle.done;
  return sums.get(handle.id) ?? Number.NaN;
}

/** What the master still has, and how many tensors the lanes still hold. */
export const left = () => ({ ...scheduler.stats(), tensors: executor.tensors });
