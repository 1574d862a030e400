import { type Executor, type ExecutorEvent, type ExecutorInstruction, SimulatedTime } from "@slicescheduler/executor";
import { expect, test } from "vitest";
import { delayedExecutor } from "./delayed-executor.ts";

function line(toExecutorNsMax: number, toMasterNsMax: number) {
  const time = new SimulatedTime();
  const arrived: [number, number][] = [];
  const told: [number, number][] = [];
  let deliver: (event: ExecutorEvent) => void = () => {};
  const far: Executor = {
    manifest: { name: "far", simulatedTime: true },
    clock: time,
    open: (context) => {
      deliver = (event) => context.deliver(event);
    },
    execute: (instructions) => {
      for (const it of instructions) if (it.type === "withdraw") arrived.push([it.issueNumber, time.nowNs()]);
    },
    close: () => {},
  };
  const near = delayedExecutor(far, time, { seed: 5, toExecutorNsMax, toMasterNsMax });
  near.open({
    cluster: { accelerators: [] },
    deliver: (event) => told.push([event.type === "withdrawn" ? event.issueNumber : -1, time.nowNs()]),
  });
  const withdraw = (issueNumber: number): ExecutorInstruction => ({ type: "withdraw", issueNumber });
  return {
    time,
    near,
    arrived,
    told,
    withdraw,
    tell: (issueNumber: number) => deliver({ type: "withdrawn", issueNumber }),
  };
}

test("messages arrive late, each after its own delay, in the order in which they were sent", () => {
  const { time, near, arrived, told, withdraw, tell } = line(100, 40);
  const send = (number: number) => {
    near.execute([withdraw(number)]);
    tell(number);
  };
  send(0);
  expect([arrived, told]).toEqual([[], []]);
  for (let number = 1; number < 50; number++) time.at(10 * number, { kind: 2, number }, () => send(number));
  time.run();
  for (const [messages, nsMax] of [
    [arrived, 100],
    [told, 40],
  ] as const) {
    expect(messages.map(([number]) => number)).toEqual(Array.from({ length: 50 }, (_, number) => number));
    const delaysNs = messages.map(([number, atNs]) => atNs - 10 * number);
    expect(new Set(delaysNs).size).toBeGreaterThan(5);
    expect(Math.min(...delaysNs)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delaysNs)).toBeLessThanOrEqual(nsMax);
  }
});

test("nothing arrives once it is closed", () => {
  const { time, near, arrived, told, withdraw, tell } = line(3, 3);
  near.execute([withdraw(1)]);
  tell(1);
  near.close();
  time.run();
  expect([arrived, told]).toEqual([[], []]);
});
