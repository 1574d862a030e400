/** The scheduler that docs/how-to.md begins with: two accelerators, in simulated time, and one template whose operator takes 1 µs per token. */
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { SliceScheduler, type SliceSchedulerOptions } from "slicescheduler";

export const cluster = {
  accelerators: ["a0", "a1"].map((name) => ({ name, kind: "demo", hbmBytes: 16e9 })),
};

export function demo(options: Partial<SliceSchedulerOptions> = {}) {
  const time = new SimulatedTime({ autoAdvance: true });
  const executor = virtualExecutor({ seed: 1, time, operatorNs: ({ symbols }) => 1000 * (symbols["tokens"] ?? 0) });
  const scheduler = new SliceScheduler({ cluster, executor, ...options });
  const forward = scheduler.register({
    name: "forward",
    symbols: ["tokens"],
    operators: [{ name: "layers", outputs: { hidden: { shape: ["tokens", 4096], dtype: "bfloat16" } } }],
    outputs: { hidden: "layers.hidden" },
    partitions: cluster.accelerators.map(({ name }) => ({ name, accelerators: [name], layout: [0] })),
  });
  return { time, scheduler, forward };
}
