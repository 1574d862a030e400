import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { expect, test } from "vitest";
import { SliceScheduler } from "./index.ts";

const bytes = (count: number | string) => ({ shape: [count], dtype: "uint8" as const });

function world(names: readonly string[], hbmBytes: number) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const accelerators = names.map((name) => ({ name, kind: "demo", hbmBytes }));
  const scheduler = new SliceScheduler({ cluster: { accelerators }, executor });
  const told: string[] = [];
  scheduler.on("standstill", ({ reason }) => told.push(reason));
  return { time, scheduler, told };
}

test("an instance begins after those it reads from, so that it never keeps them from their memory", () => {
  const { time, scheduler, told } = world(["a"], 100_000);
  const at = { partitions: [{ name: "one", accelerators: ["a"], layout: [0] }] };
  const source = scheduler.register({
    name: "source",
    symbols: ["n"],
    operators: [{ name: "make", outputs: { out: bytes("n") } }],
    outputs: { out: "make.out" },
    ...at,
  });
  const sink = scheduler.register({
    name: "sink",
    symbols: ["n"],
    inputs: { before: bytes("n") },
    operators: [
      { name: "early", outputs: { out: bytes("n") } },
      { name: "late", inputs: ["early.out", "before"], outputs: { out: bytes(1) } },
    ],
    outputs: { out: "late.out" },
    partitions: [{ name: "one", accelerators: ["a"], layout: [0, 0] }],
  });
  const limits = [
    { template: source, symbols: { n: 710 } },
    { template: sink, symbols: { n: 710 } },
  ];
  const request = scheduler.openRequest({ limits, concurrentInstances: 1 });
  // More than the claim has room for: the last of them, at least, waits.
  const wide = [1, 2, 3, 4].map(() => scheduler.submit(source, { request, symbols: { n: 710 } }));
  const made = scheduler.submit(source, { request, symbols: { n: 710 } });
  const read = scheduler.submit(sink, { request, symbols: { n: 710 }, inputs: { before: made.output("out") } });
  const [early] = scheduler.explain(read.id)?.operators ?? [];
  expect(early?.waiting).toEqual({ why: "instance", behind: made.id });
  time.run();
  for (const { id } of [...wide, made, read]) expect(scheduler.explain(id)?.state).toBe("gone");
  expect(told).toEqual([]);
});

test("who waits for one that may pause stops nobody else", () => {
  const { time, scheduler, told } = world(["a", "b"], 1000);
  const template = scheduler.register({
    name: "block",
    symbols: ["n"],
    operators: [{ name: "make", outputs: { out: bytes("n") } }],
    outputs: { out: "make.out" },
    partitions: [
      { name: "a", accelerators: ["a"], layout: [0] },
      { name: "b", accelerators: ["b"], layout: [0] },
    ],
  });
  const submit = (n: number, partition: string, mayPause: boolean) => {
    const limits = [{ template, symbols: { n } }];
    const request = scheduler.openRequest({ limits, mayPause, partitions: [partition] });
    return scheduler.submit(template, { request, symbols: { n }, retain: mayPause ? ["out"] : [] });
  };
  const chat = submit(300, "a", true);
  time.run();
  const large = submit(800, "a", false);
  // Past the patience of 10 s.
  time.run(20e9);
  const small = [submit(100, "b", false), submit(100, "a", false)];
  time.run(30e9);
  for (const { id } of small) expect(scheduler.explain(id)?.operators.length ?? 0).toBe(0);
  expect(scheduler.explain(large.id)?.operators[0]?.waiting).toMatchObject({ why: "memory", heldBy: [0] });
  chat.release("out");
  expect(told).toEqual([]);
});
