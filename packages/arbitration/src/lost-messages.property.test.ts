/** Messages that are lost, late or doubled, and no work but what is there at the beginning: only the timer drives what is stuck. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { pairs, pick, topologies } from "../test/twin.ts";
import { Arbiter, type Topology } from "./index.ts";

interface Fate {
  readonly way: number;
  readonly rank: number;
  /** When recvReady is heard after the selection, each time it is; and the end after that. Nothing is heard of what is lost. */
  readonly readyNs: readonly number[];
  readonly endNs: readonly number[];
  readonly cancelNs: number;
}

interface Message {
  readonly atNs: number;
  readonly transfer: number;
  readonly type: "recvReady" | "end" | "cancel";
}

const DEADLINE_NS = 50;
/** Each transfer is heard of 7 times at most, and quarantined once. */
const STEPS_MAX = 100;

class World {
  readonly arbiter: Arbiter;
  readonly #fates: readonly Fate[];
  readonly #messages: Message[] = [];
  /** By transfer: how often its buffers were given back. */
  readonly freed: number[];
  readonly quarantined = new Set<number>();
  nowNs = 0;
  late = 0;

  constructor(topology: Topology, fates: readonly Fate[]) {
    this.arbiter = new Arbiter(topology, { deadlineMinNs: DEADLINE_NS });
    this.#fates = fates;
    this.freed = fates.map(() => 0);
    const ways = pairs(topology);
    for (const [transfer, { way, rank, cancelNs }] of fates.entries()) {
      const [source, destination] = pick(ways, way);
      this.arbiter.intent({ transfer, source, destination, rank, bytes: 1 }, 0);
      this.#tell("cancel", transfer, [cancelNs]);
    }
    this.#select();
  }

  #tell(type: Message["type"], transfer: number, delaysNs: readonly number[]): void {
    // A delay of 0 is for ever.
    for (const ns of delaysNs) if (ns > 0) this.#messages.push({ atNs: this.nowNs + ns, transfer, type });
  }

  #select(): void {
    for (const { transfer } of this.arbiter.select(this.nowNs)) {
      this.#tell("recvReady", transfer, this.#fates[transfer]?.readyNs ?? []);
    }
  }

  /** The next message or deadline; false when neither will come any more. */
  step(): boolean {
    const next = this.#messages.sort((a, b) => a.atNs - b.atNs)[0];
    const deadlineNs = this.arbiter.nextDeadlineNs;
    if (next !== undefined && next.atNs < deadlineNs) {
      this.nowNs = next.atNs;
      this.#messages.shift();
      this.#hear(next);
    } else if (deadlineNs < Number.POSITIVE_INFINITY) {
      this.nowNs = deadlineNs;
      for (const { transfer } of this.arbiter.expire(deadlineNs)) this.quarantined.add(transfer);
    } else {
      return false;
    }
    this.#select();
    this.arbiter.validate();
    return true;
  }

  /** What a master does with a message, in which it trusts no further than the state of the transfer. */
  #hear({ type, transfer }: Message): void {
    const { arbiter, nowNs } = this;
    const state = arbiter.state(transfer);
    if (type === "cancel") {
      if (state !== "gone" && arbiter.cancel(transfer, nowNs) === "gone") this.#free(transfer);
      return;
    }
    const isDuplicate = type === "recvReady" && (state === "sending" || state === "cancelling");
    if (state === "gone" || state === "intent" || isDuplicate) {
      this.late++;
    } else if (type === "recvReady") {
      // One that is overdue is given up where its buffer is, which is then its end.
      if (arbiter.recvReady(transfer, nowNs) === "sending")
        this.#tell("end", transfer, this.#fates[transfer]?.endNs ?? []);
      else this.#tell("end", transfer, [1]);
    } else {
      expect(arbiter.done(transfer, nowNs)).toBe(state);
      this.#free(transfer);
    }
  }

  #free(transfer: number): void {
    this.freed[transfer] = (this.freed[transfer] ?? 0) + 1;
  }

  lose(accelerator: number): void {
    for (const transfer of this.arbiter.acceleratorLost(accelerator, this.nowNs)) this.#free(transfer);
  }
}

const delay = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 90 }) },
);
const fates: fc.Arbitrary<Fate[]> = fc.array(
  fc.record({
    way: fc.nat(100),
    rank: fc.nat(2),
    readyNs: fc.array(delay, { minLength: 1, maxLength: 2 }),
    endNs: fc.array(delay, { minLength: 1, maxLength: 3 }),
    cancelNs: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 90 }) },
    ),
  }),
  { minLength: 1, maxLength: 10 },
);

it("whatever is lost, late or doubled, all intents get their turn by the timer alone, and buffers come back once", () => {
  const seen = { quarantined: 0, lateEnds: 0, late: 0, left: 0 };
  fc.assert(
    fc.property(topologies, fates, (topology, drawn) => {
      const world = new World(topology, drawn);
      for (let steps = 0; world.step(); steps++) expect(steps).toBeLessThan(STEPS_MAX);
      const { arbiter, freed, quarantined, nowNs } = world;
      expect(arbiter.pending(nowNs), arbiter.describe(nowNs)).toEqual([]);
      for (const transfer of drawn.keys()) {
        // Nothing is left but what is quarantined and of which no end was heard.
        const state = arbiter.state(transfer);
        expect(freed[transfer]).toBe(state === "gone" ? 1 : 0);
        if (state === "gone") seen.lateEnds += quarantined.has(transfer) ? 1 : 0;
        else expect(state).toBe("quarantined");
      }
      // One after the other at the worst, each for two deadlines.
      expect(nowNs).toBeLessThanOrEqual(2 * DEADLINE_NS * drawn.length + 91 + 91);
      seen.quarantined += quarantined.size;
      seen.late += world.late;
      seen.left += arbiter.transfers().length;
      for (let accelerator = 0; accelerator < topology.accelerators; accelerator++) world.lose(accelerator);
      expect(freed).toEqual(drawn.map(() => 1));
      expect(arbiter.transfers()).toEqual([]);
      arbiter.validate();
    }),
    { numRuns: 300 },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(30);
});
