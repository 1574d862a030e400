import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { type MetricsSink, SliceScheduler } from "slicescheduler";

const pass = defineTemplate({
  name: "pass",
  symbols: ["n"],
  operators: [
    { name: "first", outputs: { out: { shape: ["n"], dtype: "uint8" } } },
    { name: "second", inputs: ["first.out"], outputs: { out: { shape: ["n"], dtype: "uint8" } } },
  ],
  outputs: { out: "second.out" },
  partitions: [{ name: "split", accelerators: ["a", 'b "quoted\\'], layout: [0, 1] }],
});

/** A busy little cluster that is measured by a sink: done, cancelled, refused, failed, lost. */
export function measured(sink: MetricsSink) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 3_000_000 });
  let hostNs = 0;
  const scheduler = new SliceScheduler({
    cluster: {
      accelerators: ["a", 'b "quoted\\'].map((name) => ({ name, kind: "demo", hbmBytes: 1000 })),
      defaultLink: { latencyNs: 10_000, bytesPerSecond: 1e5 },
    },
    executor,
    hostNowNs: () => (hostNs += 50_000),
    scheduling: { tenants: { "acme\ncorp": {}, other: {} } },
    metrics: { sink },
  });
  const template = scheduler.register(pass);
  for (let i = 0; i < 6; i++) {
    const tenant = i % 2 === 0 ? "acme\ncorp" : "";
    const handle = scheduler.submit(template, {
      symbols: { n: 100 + i },
      tenant,
      priority: i < 4 ? "online" : "offline",
    });
    if (i === 5) handle.cancel();
  }
  try {
    scheduler.submit(template, { symbols: { n: 2000 } });
  } catch {
    // It is counted.
  }
  executor.failOperator(2);
  time.run(20_000_000);
  executor.loseAccelerator("a");
  time.run(21_000_000);
  executor.returnAccelerator("a");
  scheduler.submit(template, { symbols: { n: 5 } });
  time.run();
  return { time, executor, scheduler, template };
}
