import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pairs, pick, Twin, topologies } from "../test/twin.ts";
import { IntentQueue } from "./index.ts";

type Step =
  | { readonly type: "add"; readonly pair: number; readonly rank: number; readonly agedNs: number }
  | { readonly type: "burst"; readonly pair: number; readonly count: number; readonly rank: number }
  | { readonly type: "remove" | "end" | "occupy"; readonly at: number }
  | { readonly type: "rerank"; readonly at: number; readonly rank: number }
  | { readonly type: "select"; readonly afterNs: number }
  | { readonly type: "clear" };

const at = fc.nat(1000);
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({ type: fc.constant("add" as const), pair: at, rank: fc.nat(4), agedNs: fc.nat(60) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant("burst" as const), pair: at, count: fc.nat(70), rank: fc.nat(2) }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constantFrom("remove" as const, "occupy" as const), at }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant("rerank" as const), at, rank: fc.nat(4) }) },
  { weight: 20, arbitrary: fc.record({ type: fc.constant("end" as const), at }) },
  { weight: 25, arbitrary: fc.record({ type: fc.constant("select" as const), afterNs: fc.nat(25) }) },
  { weight: 1, arbitrary: fc.constant({ type: "clear" as const }) },
);

/** A queue and its twin, driven by the same steps. */
class Pair {
  nowNs = 100;
  next = 0;
  readonly slots = new Map<number, number>();
  readonly twin: Twin;
  readonly queue: IntentQueue;
  readonly ways: readonly (readonly [number, number])[];

  constructor(twin: Twin) {
    this.twin = twin;
    this.queue = new IntentQueue(twin.topology, { agingNs: twin.agingNs, reserveNs: twin.reserveNs });
    this.ways = pairs(twin.topology);
  }

  add(way: number, rank: number, agedNs: number): void {
    const [source, destination] = pick(this.ways, way);
    // Scrambled but unique, so that insertion order and transfer number differ.
    const transfer = (this.next++ * 7919) % 100_003;
    const sinceNs = this.nowNs - agedNs;
    this.slots.set(transfer, this.queue.add(transfer, source, destination, rank, sinceNs));
    this.twin.pending.push({ transfer, source, destination, rank, sinceNs });
  }

  select(): void {
    const expected = this.twin.select(this.nowNs);
    const count = this.queue.select(this.nowNs);
    expect([...this.queue.selected.subarray(0, count)]).toEqual(expected);
    expect(this.queue.size).toBe(this.twin.pending.length);
  }

  run(step: Step): void {
    const { twin, queue } = this;
    if (step.type === "add") this.add(step.pair, step.rank, step.agedNs);
    if (step.type === "burst") for (let n = 0; n < step.count; n++) this.add(step.pair + n, step.rank + (n % 3), 0);
    if (step.type === "remove" && twin.pending.length > 0) {
      const { transfer } = pick(twin.pending, step.at);
      twin.pending = twin.pending.filter((intent) => intent.transfer !== transfer);
      queue.remove(this.slots.get(transfer) ?? -1);
    }
    if (step.type === "rerank" && twin.pending.length > 0) {
      const { transfer } = pick(twin.pending, step.at);
      const { rank } = step;
      twin.pending = twin.pending.map((intent) => (intent.transfer === transfer ? { ...intent, rank } : intent));
      queue.rerank(this.slots.get(transfer) ?? -1, rank);
    }
    if (step.type === "occupy") {
      const [source, destination] = pick(this.ways, step.at);
      if (!queue.ports.fits(source, destination)) return;
      queue.occupy(source, destination);
      twin.active.push({ transfer: -1, source, destination });
    }
    if (step.type === "end" && twin.active.length > 0) {
      const ended = pick(twin.active, step.at);
      twin.active = twin.active.filter((transfer) => transfer !== ended);
      queue.release(ended.source, ended.destination);
    }
    if (step.type === "select") {
      this.nowNs += step.afterNs;
      this.select();
    }
    if (step.type === "clear") {
      queue.clear();
      twin.pending = [];
      twin.active = [];
    }
  }
}

const worlds = fc
  .record({
    topology: topologies,
    agingNs: fc.integer({ min: 1, max: 50 }),
    reserveNs: fc.integer({ min: 0, max: 120 }),
  })
  .map(({ topology, agingNs, reserveNs }) => new Twin(topology, agingNs, reserveNs));

describe("IntentQueue", () => {
  it("selects exactly what the literal rule selects, in its order", () => {
    fc.assert(
      fc.property(worlds, fc.array(steps, { minLength: 5, maxLength: 80 }), (twin, run) => {
        const pair = new Pair(twin);
        for (const step of run) pair.run(step);
        pair.select();
      }),
      { numRuns: 400 },
    );
  });

  it("is conflict-free and leaves out nothing that fits unless an older one reserves", () => {
    fc.assert(
      fc.property(worlds, fc.array(steps, { minLength: 5, maxLength: 60 }), (twin, run) => {
        const pair = new Pair(twin);
        for (const step of run) pair.run(step);
        pair.select();
        const { ports } = pair.queue;
        for (let port = 0; port < ports.ports; port++) {
          const { kind, index } = ports.name(port);
          const held = twin.held(`${kind} ${index}`);
          expect(held).toBeLessThanOrEqual(ports.capacity(port));
          expect(ports.left(port)).toBe(ports.capacity(port) - held);
        }
        const order = twin.inOrder(pair.nowNs);
        for (const [place, intent] of order.entries()) {
          if (!ports.fits(intent.source, intent.destination)) continue;
          const way = twin.way(intent);
          const older = order.slice(0, place).filter(({ sinceNs }) => pair.nowNs - sinceNs >= twin.reserveNs);
          expect(older.some((other) => twin.way(other).some((port) => way.includes(port)))).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("is as new after clear", () => {
    fc.assert(
      fc.property(
        worlds,
        fc.array(steps, { maxLength: 40 }),
        fc.array(steps, { maxLength: 40 }),
        (twin, first, second) => {
          const used = new Pair(twin);
          for (const step of first) used.run(step);
          used.run({ type: "clear" });
          for (const step of second) used.run(step);
          used.select();
          used.queue.clear();
          expect(used.queue.size).toBe(0);
          for (let port = 0; port < used.queue.ports.ports; port++) {
            expect(used.queue.ports.left(port)).toBe(used.queue.ports.capacity(port));
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
