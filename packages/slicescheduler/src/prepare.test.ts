import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { expect, test, vi } from "vitest";
import { SliceScheduler } from "./index.ts";

const cluster = { accelerators: [{ name: "a", kind: "demo", hbmBytes: 1000 }] };

function world() {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const execute = vi.spyOn(executor, "execute");
  const scheduler = new SliceScheduler({ cluster, executor });
  const template = scheduler.register({
    name: "work",
    symbols: ["n"],
    operators: [{ name: "work", outputs: { out: { shape: ["n"], dtype: "uint8" } } }],
    outputs: {},
    partitions: [{ name: "a", accelerators: ["a"], layout: [0] }],
  });
  const issues = () =>
    execute.mock.calls.flatMap(([instructions]) => instructions.filter(({ type }) => type === "issue"));
  return { time, scheduler, template, issues };
}

test("prepare hears the number of the instance before the executor does", async () => {
  const { time, scheduler, template, issues } = world();
  const heard: (readonly [number, number])[] = [];
  const prepare = (instance: number) => void heard.push([instance, issues().length]);
  const handles = [1, 2].map(() => scheduler.submit(template, { symbols: { n: 8 }, prepare }));
  expect(heard.map(([instance]) => instance)).toEqual(handles.map(({ id }) => id));
  // The first was issued at once, and not before it was prepared.
  expect(heard.map(([, issued]) => issued)).toEqual([0, 1]);
  time.run();
  await Promise.all(handles.map(({ done }) => done));
});

test("what prepare throws comes out, and nothing is submitted or left", () => {
  const { time, scheduler, template, issues } = world();
  const prepare = () => {
    throw new RangeError("no such prompt");
  };
  expect(() => scheduler.submit(template, { symbols: { n: 8 }, prepare })).toThrow("no such prompt");
  time.run();
  expect(issues()).toEqual([]);
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0 });
});

test("prepare may not submit, and what it wanted can be submitted afterwards", async () => {
  const { time, scheduler, template } = world();
  const submit = () => scheduler.submit(template, { symbols: { n: 8 } });
  expect(() => scheduler.submit(template, { symbols: { n: 8 }, prepare: () => void submit() })).toThrow(/prepare/);
  const handle = submit();
  time.run();
  await handle.done;
  expect(scheduler.stats()).toMatchObject({ requests: 0, instances: 0 });
});

test("a submission that is refused was prepared for nothing, and its number is not given again", () => {
  const { scheduler, template } = world();
  const heard: number[] = [];
  const prepare = (instance: number) => void heard.push(instance);
  expect(() => scheduler.submit(template, { symbols: { n: 5_000 }, prepare })).toThrow(/can never be laid/);
  const next = scheduler.submit(template, { symbols: { n: 8 }, prepare });
  expect(new Set(heard).size).toBe(heard.length);
  expect(heard.at(-1)).toBe(next.id);
});
