import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { SliceScheduler } from "slicescheduler";

export const HOSTILE = '<img src=x onerror="document.title=1">';

const chain = defineTemplate({
  name: "chain",
  symbols: ["n"],
  operators: [
    { name: "attention", outputs: { out: { shape: ["n"], dtype: "uint8" } } },
    { name: "mlp", inputs: ["attention.out"], outputs: { out: { shape: ["n"], dtype: "uint8" } } },
  ],
  outputs: { out: "mlp.out" },
  partitions: [
    { name: "split", accelerators: ["a0", "a1"], layout: [0, 1] },
    { name: "whole", accelerators: ["a1"], layout: [0, 0] },
  ],
});

/** A cluster on simulated time, which passes when a test says so: `busy` has work that runs, that moves and that waits. */
export function world() {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 40e6 });
  const scheduler = new SliceScheduler({
    cluster: {
      accelerators: ["a0", "a1", "a2"].map((name) => ({ name, kind: "demo", hbmBytes: 8e9, absent: name === "a2" })),
      defaultLink: { latencyNs: 10_000, bytesPerSecond: 1e10 },
    },
    executor,
  });
  const template = scheduler.register(chain);
  const submit = (n: number, label: string, priority = "online") =>
    scheduler.submit(template, { symbols: { n }, label, priority });
  return {
    time,
    executor,
    scheduler,
    submit,
    busy: () => {
      submit(2e9, "chat of Ada");
      for (let i = 0; i < 6; i++) submit(1.5e9, i === 0 ? HOSTILE : `batch ${i}`, "offline");
      time.run(time.nowNs() + 60e6);
    },
  };
}
