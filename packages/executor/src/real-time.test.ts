import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EVENT_KIND, type HostTimers, RealTime, type SimulatedTimer, virtualExecutor } from "./index.ts";

const anyTime = { kind: EVENT_KIND.application, number: 0 };

/** A host whose time passes by hand. Its timers may come up to a millisecond early, as real ones do. */
class Host implements HostTimers {
  nowMs = 1234.5;
  readonly delays: number[] = [];
  #alarms: { atMs: number; callback: () => void }[] = [];

  after(delayMs: number, callback: () => void): () => void {
    this.delays.push(delayMs);
    const alarm = { atMs: this.nowMs + delayMs, callback };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
    };
  }

  get waiting(): number {
    return this.#alarms.length;
  }

  /** Goes to the next alarm, or past it, and rings it. */
  ring(lateMs = 0): boolean {
    const [first] = this.#alarms.sort((a, b) => a.atMs - b.atMs);
    if (first === undefined) return false;
    this.#alarms.shift();
    // With a delay of 0 some time passes too, or a clock that asks again and again would never get anywhere.
    this.nowMs = Math.max(this.nowMs + 0.1, first.atMs + lateMs);
    first.callback();
    return true;
  }
}

function newTime() {
  const host = new Host();
  return { host, time: new RealTime({ nowMs: () => host.nowMs, timers: host }) };
}

describe("real time with a host by hand", () => {
  test("counts whole nanoseconds from 0 and never steps back", () => {
    const { host, time } = newTime();
    expect(time.nowNs()).toBe(0);
    host.nowMs += 1.25;
    expect(time.nowNs()).toBe(1_250_000);
    host.nowMs -= 1;
    expect(time.nowNs()).toBe(1_250_000);
    host.nowMs += 0.5;
    expect(time.nowNs()).toBe(1_250_000);
    host.nowMs += 0.75;
    expect(time.nowNs()).toBe(1_500_000);
  });

  test("calls back not before the time, however early the host is, and takes what has passed for now", () => {
    const { host, time } = newTime();
    const seen: number[] = [];
    time.at(2_700_000, anyTime, () => seen.push(time.nowNs()));
    host.ring(-1);
    expect(seen).toEqual([]);
    while (seen.length === 0) host.ring();
    expect(seen[0]).toBeGreaterThanOrEqual(2_700_000);
    time.callAt(5, () => seen.push(-1));
    expect(seen).toHaveLength(1);
    host.ring();
    expect(seen[1]).toBe(-1);
    expect(host.ring()).toBe(false);
  });

  test("a delay longer than host timers take is waited for in parts", () => {
    const { host, time } = newTime();
    const atNs = 60 * 24 * 3600 * 1e9;
    let calledNs = 0;
    time.callAt(atNs, () => {
      calledNs = time.nowNs();
    });
    while (calledNs === 0) host.ring();
    expect(calledNs).toBeGreaterThanOrEqual(atNs);
    expect(calledNs).toBeLessThan(atNs + 1e7);
    expect(Math.max(...host.delays)).toBe(2 ** 31 - 1);
    expect(host.delays.filter((delay) => delay === 2 ** 31 - 1)).toHaveLength(2);
  });

  test("what is taken back costs nothing, and no alarm is left when nothing waits", () => {
    const { host, time } = newTime();
    const far = time.callAt(1e15, () => {});
    for (let i = 0; i < 10_000; i++) time.callAt(1e14 + i, () => {})();
    expect(time.pending).toBe(1);
    expect(host.waiting).toBe(1);
    far();
    far();
    expect([time.pending, host.waiting]).toEqual([0, 0]);
  });

  test("what a callback throws comes out of the host's timer, and the events behind it run", () => {
    const { host, time } = newTime();
    let ran = false;
    time.at(0, { kind: 0, number: 0 }, () => {
      throw new RangeError("broken");
    });
    time.at(0, { kind: 0, number: 1 }, () => {
      ran = true;
    });
    expect(() => host.ring()).toThrow(RangeError);
    expect(ran).toBe(false);
    host.ring();
    expect(ran).toBe(true);
  });

  test("refuses numbers that are not whole", () => {
    const { time } = newTime();
    const invalid = expect.objectContaining({ code: "INVALID_OPTION" });
    for (const atNs of [0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => time.at(atNs, anyTime, () => {})).toThrow(invalid);
    }
    expect(() => time.callAt(Number.NaN, () => {})).toThrow(invalid);
  });

  test("events that are due run in the order of a list that is sorted before each of them", () => {
    const event = fc.record({ waitMs: fc.nat({ max: 5 }), kind: fc.nat({ max: 2 }), number: fc.nat({ max: 3 }) });
    const ring = fc.record({ lateMs: fc.integer({ min: -1, max: 6 }) });
    const commands = fc.array(fc.oneof(event, ring, fc.record({ cancel: fc.nat() })), { maxLength: 60 });
    fc.assert(
      fc.property(commands, (drawn) => {
        const { host, time } = newTime();
        const timers: SimulatedTimer[] = [];
        let waiting: { atNs: number; kind: number; number: number; id: number }[] = [];
        const run = (id: number) => {
          const due = waiting.filter(({ atNs }) => atNs <= time.nowNs());
          due.sort((a, b) => a.atNs - b.atNs || a.kind - b.kind || a.number - b.number || a.id - b.id);
          expect(due[0]?.id).toBe(id);
          waiting = waiting.filter((one) => one.id !== id);
        };
        for (const command of drawn) {
          if ("waitMs" in command) {
            const { waitMs, ...order } = command;
            const id = timers.length;
            const atNs = time.nowNs() + waitMs * 1e6;
            waiting.push({ atNs, ...order, id });
            timers.push(time.at(atNs, order, () => run(id)));
          } else if ("cancel" in command) {
            const id = command.cancel % Math.max(timers.length, 1);
            const timer = timers[id];
            if (timer === undefined) continue;
            expect(time.cancel(timer)).toBe(waiting.some((one) => one.id === id));
            waiting = waiting.filter((one) => one.id !== id);
          } else host.ring(command.lateMs);
          expect(time.pending).toBe(waiting.length);
          expect(host.waiting).toBe(waiting.length === 0 ? 0 : 1);
        }
        while (host.ring());
        expect(waiting).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

test("with `unref`, an event that waits lets the process end", () => {
  const waiting = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = waiting();
  const letGo = new RealTime({ unref: true }).callAt(1e15, () => {});
  expect(waiting()).toBe(before);
  const kept = new RealTime().callAt(1e15, () => {});
  expect(waiting()).toBe(before + 1);
  for (const takeBack of [letGo, kept]) takeBack();
  expect(waiting()).toBe(before);
});

test("with the clock and the timers of the process, a virtual executor takes real time", async () => {
  const time = new RealTime();
  const heard: string[] = [];
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 1_500_000 });
  expect(executor.manifest.simulatedTime).toBe(false);
  const ended = new Promise<number>((resolve) => {
    executor.open({
      cluster: { accelerators: [{ name: "only", kind: "virtual", hbmBytes: 1000 }] },
      deliver: (event) => {
        heard.push(event.type);
        if (event.type === "operatorDone") resolve(event.observedNs);
      },
    });
  });
  const partitions = [{ name: "all", accelerators: ["only"], layout: [0] }];
  const operators = [{ name: "first", outputs: { out: { shape: [8], dtype: "int8" as const } } }];
  executor.execute([
    { type: "registerTemplate", template: { name: "one", symbols: [], operators, outputs: {}, partitions } },
    {
      type: "issue",
      issueNumber: 0,
      accelerator: 0,
      instance: 0,
      template: "one",
      operator: 0,
      symbols: {},
      rank: 0,
      activated: true,
      inputs: [],
      outputs: [{ tensor: 0, bytes: 8, aliases: null }],
      workspaceBytes: 0,
    },
  ]);
  expect(heard).toEqual(["operatorStarted"]);
  expect(await ended).toBeGreaterThanOrEqual(1_500_000);
  expect(heard).toEqual(["operatorStarted", "operatorDone"]);
  executor.close();
  expect(time.pending).toBe(0);
});
