import { expect, test } from "vitest";
import { EVENT_KIND, SimulatedTime } from "./index.ts";

const anyTime = { kind: EVENT_KIND.application, number: 0 };

test("the clock stands still between events and ends at the time asked for", () => {
  const time = new SimulatedTime();
  const seen: number[] = [];
  time.at(10, anyTime, () => seen.push(time.nowNs()));
  time.at(20, anyTime, () => seen.push(time.nowNs()));
  expect(time.run(15)).toBe(1);
  expect(time.nowNs()).toBe(15);
  expect(time.run()).toBe(1);
  expect(time.nowNs()).toBe(20);
  expect(seen).toEqual([10, 20]);
});

test("operators end before transfers, and the application comes last", () => {
  const time = new SimulatedTime();
  const seen: string[] = [];
  for (const kind of ["application", "transfer", "operator"] as const)
    time.at(3, { kind: EVENT_KIND[kind], number: 0 }, () => seen.push(kind));
  time.run();
  expect(seen).toEqual(["operator", "transfer", "application"]);
});

test("events that are taken back, however many, leave the order of the others and the end of time alone", () => {
  const time = new SimulatedTime();
  const seen: number[] = [];
  const timers = Array.from({ length: 2000 }, (_, i) => {
    const atNs = ((i * 7919) % 1009) + 1;
    return time.at(atNs, { kind: EVENT_KIND.application, number: i }, () => seen.push(atNs * 2000 + i));
  });
  for (const [i, timer] of timers.entries()) if (i % 10 > 0) time.cancel(timer);
  const forget = time.callAt(1e12, () => seen.push(-1));
  for (let i = 0; i < 200; i++) time.callAt(1e12 + i, () => seen.push(-1))();
  forget();
  expect(time.pending).toBe(200);
  expect(time.run()).toBe(200);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(time.nowNs()).toBeLessThanOrEqual(1009);
});

test("an error of a callback comes out of run, and the rest can still run", () => {
  const time = new SimulatedTime();
  let ran = false;
  time.at(1, { kind: 0, number: 0 }, () => {
    throw new RangeError("broken");
  });
  time.at(1, { kind: 0, number: 1 }, () => {
    ran = true;
  });
  expect(() => time.run()).toThrow(RangeError);
  expect(ran).toBe(false);
  expect(time.run()).toBe(1);
  expect(ran).toBe(true);
});

test("run is never re-entrant", () => {
  const time = new SimulatedTime();
  time.at(1, anyTime, () => time.run());
  time.at(2, anyTime, () => time.step());
  expect(() => time.run()).toThrow(expect.objectContaining({ code: "REENTRANT" }));
  expect(() => time.run()).toThrow(expect.objectContaining({ code: "REENTRANT" }));
  expect(time.run()).toBe(0);
});

test("refuses times in the past and numbers that are not whole", () => {
  const time = new SimulatedTime();
  time.run(5);
  expect(() => time.at(4, anyTime, () => {})).toThrow(expect.objectContaining({ code: "TIME_IN_PAST" }));
  expect(() => time.run(4)).toThrow(expect.objectContaining({ code: "TIME_IN_PAST" }));
  expect(() => time.run(Number.NaN)).toThrow(expect.objectContaining({ code: "TIME_IN_PAST" }));
  for (const atNs of [5.5, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => time.at(atNs, anyTime, () => {})).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  expect(() => time.at(6, { kind: 0.5, number: 0 }, () => {})).toThrow(
    expect.objectContaining({ code: "INVALID_OPTION" }),
  );
  expect(time.pending).toBe(0);
});

test("advances by itself, and answers of promises come before the next event", async () => {
  const time = new SimulatedTime({ autoAdvance: true });
  const at = (atNs: number) => new Promise<void>((resolve) => time.at(atNs, anyTime, resolve));
  const later = at(100);
  await at(10);
  expect(time.nowNs()).toBe(10);
  await at(20);
  expect(time.nowNs()).toBe(20);
  await later;
  expect(time.nowNs()).toBe(100);
  expect(time.pending).toBe(0);
});

test("does not advance by itself unless asked to", async () => {
  const time = new SimulatedTime();
  time.at(10, anyTime, () => {});
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(time.nowNs()).toBe(0);
});
