/** Nothing is known of what takes how long where: how it is found out, and what that costs. */
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SliceScheduler } from "./index.ts";

interface Device {
  readonly name: string;
  readonly kind: string;
  /** What an operator takes there. */
  readonly trueNs: number;
}

/** Devices of kinds whose rates nobody declared, one operator a request, each accelerator a candidate. */
function world(devices: readonly Device[]) {
  const time = new SimulatedTime();
  const trueNs = new Map(devices.map((it) => [it.name, it.trueNs]));
  const executor = virtualExecutor({
    seed: 1,
    time,
    operatorNs: ({ accelerator }) => trueNs.get(accelerator.name) ?? Number.NaN,
  });
  const accelerators = devices.map(({ name, kind }) => ({ name, kind, hbmBytes: 1e9 }));
  const scheduler = new SliceScheduler({ cluster: { accelerators }, executor });
  const work = scheduler.register(
    defineTemplate({
      name: "work",
      symbols: ["n"],
      operators: [{ name: "run", outputs: { out: { shape: ["n"], dtype: "uint8" } }, flops: "n * 1000" }],
      outputs: { out: "run.out" },
      partitions: devices.map(({ name }) => ({ name, accelerators: [name], layout: [0] })),
    }),
  );
  /** Where and when, in order. */
  const issued: Moment[] = [];
  const done: Moment[] = [];
  scheduler.on("operatorIssued", ({ acceleratorName, atNs }) => issued.push({ on: acceleratorName, atNs }));
  scheduler.on("operatorDone", ({ acceleratorName, atNs }) => done.push({ on: acceleratorName, atNs }));
  const submit = (count: number, partitions?: readonly string[]) => {
    for (let i = 0; i < count; i++) {
      scheduler.submit(work, { symbols: { n: 1 + (i % 50) }, ...(partitions === undefined ? {} : { partitions }) });
    }
  };
  return { time, scheduler, submit, issued, done };
}

interface Moment {
  readonly on: string;
  readonly atNs: number;
}

/** How many at that instant, on that accelerator. */
const countAt = (moments: readonly Moment[], atNs: number, name: string): number =>
  moments.filter((it) => it.atNs === atNs && it.on === name).length;

const twoKinds = fc
  .record({
    of: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 2 }),
    times: fc.constantFrom(20, 1 / 20),
  })
  .map(({ of: [plain = 1, odd = 1], times }): readonly Device[] => [
    ...Array.from({ length: plain }, (_, i) => ({ name: `plain${i}`, kind: "plain", trueNs: 10e6 })),
    ...Array.from({ length: odd }, (_, i) => ({ name: `odd${i}`, kind: "odd", trueNs: 10e6 * times })),
  ]);

test("before the first result every accelerator gets its share, and after it every kind has been tried", () => {
  fc.assert(
    fc.property(twoKinds, fc.integer({ min: 1, max: 8 }), (devices, each) => {
      const { time, scheduler, submit, issued, done } = world(devices);
      submit(each * devices.length);
      time.run();
      for (const { name, trueNs } of devices) {
        expect(countAt(issued, 0, name)).toBe(each);
        expect(done.find(({ on }) => on === name)?.atNs).toBe(trueNs);
      }
      expect(scheduler.stats()).toMatchObject({ requests: 0, issuedOperators: 0 });
    }),
    { numRuns: 30 },
  );
});

test("what is known of one kind does not send everything to another one that is not known", () => {
  fc.assert(
    fc.property(twoKinds, fc.integer({ min: 2, max: 10 }), (devices, each) => {
      const { time, submit, issued } = world(devices);
      // Thousands of times what declared work and assumed rates say, so by those the other kind would be the better one by far.
      submit(
        20,
        devices.flatMap(({ name, kind }) => (kind === "plain" ? [name] : [])),
      );
      time.run();
      const atNs = time.nowNs();
      submit(each * devices.length);
      time.run();
      // Declared rates being the same, every one is expected to be as fast as the known ones.
      for (const { name } of devices) expect(Math.abs(countAt(issued, atNs, name) - each)).toBeLessThanOrEqual(1);
    }),
    { numRuns: 30 },
  );
});

test("once both kinds are known the work is divided by their true speeds", () => {
  fc.assert(
    fc.property(twoKinds, (devices) => {
      const { time, submit, issued } = world(devices);
      for (let wave = 0; wave < 6; wave++) {
        submit(2 * devices.length);
        time.run();
      }
      const atNs = time.nowNs();
      submit(6 * devices.length);
      time.run();
      // One after the other where it ends first.
      const best = new Map(devices.map(({ name }) => [name, 0]));
      const endNs = ({ name, trueNs }: Device) => trueNs * (1 + (best.get(name) ?? 0));
      for (let i = 0; i < 6 * devices.length; i++) {
        const first = devices.reduce((a, b) => (endNs(b) < endNs(a) ? b : a));
        best.set(first.name, 1 + (best.get(first.name) ?? 0));
      }
      for (const { name } of devices) {
        expect(Math.abs(countAt(issued, atNs, name) - (best.get(name) ?? 0))).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 30 },
  );
});

test("one of a kind that is three times as slow as the others gets a third of what they get", () => {
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 6 }), fc.nat(5), (count, pick) => {
      const slow = pick % count;
      const devices = Array.from({ length: count }, (_, i) => ({
        name: `a${i}`,
        kind: "demo",
        trueNs: i === slow ? 30e6 : 10e6,
      }));
      const { time, submit, issued } = world(devices);
      for (let wave = 0; wave < 12; wave++) {
        submit(2 * count);
        time.run();
      }
      const atNs = time.nowNs();
      submit(3 * (count - 1) + 1);
      time.run();
      for (const { name } of devices) {
        expect(countAt(issued, atNs, name)).toBe(name === `a${slow}` ? 1 : 3);
      }
    }),
    { numRuns: 20 },
  );
});
