/** Nobody starves: the bound stated at Arbiter, under streams of urgent intents without end. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pairs, pick, topologies, topologyOf } from "../test/twin.ts";
import { Arbiter, type ArbitrationOptions, type Topology } from "./index.ts";

type Options = Pick<Required<ArbitrationOptions>, "agingNs" | "reserveNs" | "deadlineMinNs">;

/** Something that happens to one of the transfers of the stream, or to the victim, at a time of its own. */
interface Meddling {
  readonly type: "cancel" | "rerank" | "rerankVictim";
  readonly atNs: number;
  readonly pick: number;
  readonly rank: number;
}

interface Stream {
  readonly topology: Topology;
  readonly options: Options;
  readonly victimRank: number;
  /** Raised at once whenever a transfer of theirs ends, and at the start. */
  readonly flows: readonly {
    readonly source: number;
    readonly destination: number;
    readonly rank: number;
    /** How long they move; 0 is for ever: nothing is heard of their end, and nothing but the deadline frees their ports. */
    readonly holdNs: readonly number[];
  }[];
  /** By time. */
  readonly meddling: readonly Meddling[];
}

const VICTIM = 0;
const HORIZON_NS = 1e5;
/** More steps at one instant than there is meddling is a loop that goes nowhere. */
const STEPS_AT_ONCE_MAX = 30;

interface Outcome {
  /** NaN when it was never selected within the horizon. */
  readonly selectedNs: number;
  readonly boundNs: number;
}

/** The victim 0 → 1, raised at 0, against the stream. */
class Contest {
  readonly #stream: Stream;
  readonly #arbiter: Arbiter;
  readonly #raisedNs = new Map<number, number>();
  readonly #flowOf = new Map<number, number>();
  readonly #ends = new Map<number, number>();
  readonly #raisedBeforeNs: number;
  readonly #settledNs: number;
  #next = 1;
  /** k + 1 of the bound: old ones with the victim; NaN before T. */
  #old = Number.NaN;
  /** m of the bound. */
  #reranks = 0;
  #selectedNs = Number.NaN;

  constructor(stream: Stream) {
    this.#stream = stream;
    const { options, victimRank, topology } = stream;
    this.#arbiter = new Arbiter(topology, options);
    this.#raisedBeforeNs = (victimRank + 2) * options.agingNs;
    this.#settledNs = this.#raisedBeforeNs + options.reserveNs;
  }

  run(): Outcome {
    const { flows, victimRank, meddling } = this.#stream;
    // The stream is there first, twice each, so that every port it uses is taken and wanted when the victim comes.
    for (let flow = 0; flow < flows.length; flow++) for (let twice = 0; twice < 2; twice++) this.#raise(flow, 0);
    this.#admit(0);
    this.#arbiter.intent({ transfer: VICTIM, source: 0, destination: 1, rank: victimRank, bytes: 1 }, 0);
    this.#admit(0);
    let meddled = 0;
    let [lastNs, steps] = [0, 0];
    while (Number.isNaN(this.#selectedNs)) {
      const meddleNs = meddling[meddled]?.atNs ?? Number.POSITIVE_INFINITY;
      const nowNs = Math.min(meddleNs, this.#arbiter.nextDeadlineNs, ...this.#ends.values());
      if (nowNs > HORIZON_NS) break;
      steps = nowNs === lastNs ? steps + 1 : 0;
      lastNs = nowNs;
      expect(steps).toBeLessThan(STEPS_AT_ONCE_MAX);
      if (nowNs === meddleNs) this.#meddle(meddling[meddled++] as Meddling);
      this.#end(nowNs);
      for (const { transfer } of this.#arbiter.expire(nowNs)) this.#raise(this.#flowOf.get(transfer) ?? 0, nowNs);
      this.#admit(nowNs);
    }
    return { selectedNs: this.#selectedNs, boundNs: this.#boundNs() };
  }

  #boundNs(): number {
    const { flows, options } = this.#stream;
    const holdNs = flows.flatMap(({ holdNs }) => holdNs.map((ns) => (ns === 0 ? options.deadlineMinNs : ns)));
    const terms = Number.isNaN(this.#old) ? 1 : this.#old + this.#reranks;
    return this.#settledNs + terms * Math.min(options.deadlineMinNs, Math.max(...holdNs));
  }

  #raise(flow: number, nowNs: number): void {
    const { source, destination, rank } = pick(this.#stream.flows, flow);
    this.#flowOf.set(this.#next, flow);
    this.#raisedNs.set(this.#next, nowNs);
    this.#arbiter.intent({ transfer: this.#next++, source, destination, rank, bytes: 1 }, nowNs);
  }

  #admit(nowNs: number): void {
    if (!Number.isNaN(this.#selectedNs)) return;
    if (Number.isNaN(this.#old) && nowNs >= this.#settledNs) {
      this.#old = this.#arbiter.pending(nowNs).filter(({ transfer }) => this.#isOld(transfer)).length;
    }
    for (const { transfer } of this.#arbiter.select(nowNs)) {
      if (transfer === VICTIM) this.#selectedNs = nowNs;
      this.#arbiter.recvReady(transfer, nowNs);
      const holdNs = pick(pick(this.#stream.flows, this.#flowOf.get(transfer) ?? 0).holdNs, transfer);
      if (holdNs > 0) this.#ends.set(transfer, nowNs + holdNs);
    }
  }

  #isOld(transfer: number): boolean {
    return (this.#raisedNs.get(transfer) ?? 0) < this.#raisedBeforeNs;
  }

  /** The adversary's best moment: as soon as one port is free somebody urgent wants it, before the next one is free. */
  #end(nowNs: number): void {
    for (const [transfer, endNs] of [...this.#ends]) {
      if (endNs !== nowNs) continue;
      this.#ends.delete(transfer);
      // One that was quarantined has been replaced already.
      if (this.#arbiter.done(transfer, nowNs) === "quarantined") continue;
      this.#raise(this.#flowOf.get(transfer) ?? 0, nowNs);
      this.#admit(nowNs);
    }
  }

  #meddle({ type, atNs, pick: at, rank }: Meddling): void {
    if (type === "rerankVictim") {
      // Never less urgent than the bound says.
      if (Number.isNaN(this.#selectedNs)) this.#arbiter.rerank(VICTIM, Math.min(rank, this.#stream.victimRank));
      return;
    }
    const live = this.#arbiter.transfers().filter(({ transfer }) => transfer !== VICTIM);
    if (live.length === 0) return;
    const { transfer, state } = pick(live, at);
    if (type === "cancel") {
      if (this.#arbiter.cancel(transfer, atNs) === "gone") this.#raise(this.#flowOf.get(transfer) ?? 0, atNs);
    } else if (this.#arbiter.rerank(transfer, rank) && state === "intent") {
      if (atNs >= this.#settledNs && this.#isOld(transfer)) this.#reranks++;
    }
  }
}

const flows = (topology: Topology) =>
  fc.array(
    fc
      .record({
        pair: fc.nat(100),
        rank: fc.integer({ min: 0, max: 2 }),
        holdNs: fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 3 }),
      })
      .map(({ pair, ...rest }) => {
        const [source, destination] = pick(pairs(topology), pair);
        return { source, destination, ...rest };
      }),
    { minLength: 1, maxLength: 6 },
  );

const meddling: fc.Arbitrary<Meddling[]> = fc
  .array(
    fc.record({
      type: fc.constantFrom("cancel" as const, "rerank" as const, "rerankVictim" as const),
      atNs: fc.integer({ min: 1, max: 800 }),
      pick: fc.nat(1000),
      rank: fc.nat(6),
    }),
    { maxLength: 25 },
  )
  .map((drawn) => drawn.sort((a, b) => a.atNs - b.atNs));

const streams: fc.Arbitrary<Stream> = topologies.chain((topology) =>
  fc.record({
    topology: fc.constant(topology),
    options: fc.record({
      agingNs: fc.integer({ min: 1, max: 60 }),
      reserveNs: fc.nat(200),
      deadlineMinNs: fc.integer({ min: 1, max: 90 }),
    }),
    victimRank: fc.nat(4),
    flows: flows(topology),
    meddling: fc.oneof(fc.constant([]), meddling),
  }),
);

const NEVER_NS = Number.MAX_SAFE_INTEGER;

/** 0 → 2 and 3 → 1 in turns: the egress of 0 and the ingress of 1 are never free at the same instant. */
const staggered: Stream = {
  topology: topologyOf([1, 1, 1, 1], [], () => []),
  options: { agingNs: 50, reserveNs: 100, deadlineMinNs: NEVER_NS },
  victimRank: 3,
  flows: [
    { source: 0, destination: 2, rank: 0, holdNs: [20] },
    { source: 3, destination: 1, rank: 0, holdNs: [20, 30, 20] },
    { source: 3, destination: 1, rank: 0, holdNs: [7] },
  ],
  meddling: [],
};

describe("the bound on waiting", () => {
  it("holds against any stream of urgent intents, also with cancels, changes of rank and ends that never come", () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const { selectedNs, boundNs } = new Contest(stream).run();
        expect(selectedNs).toBeLessThanOrEqual(boundNs);
      }),
      { numRuns: 600 },
    );
  });

  it("is what reservation and aging are for: the staggered stream starves the victim without either", () => {
    const { selectedNs, boundNs } = new Contest(staggered).run();
    expect(selectedNs).toBeLessThanOrEqual(boundNs);
    for (const changed of [{ reserveNs: NEVER_NS }, { agingNs: NEVER_NS }]) {
      const { selectedNs: without } = new Contest({
        ...staggered,
        options: { ...staggered.options, ...changed },
      }).run();
      expect(without).toBeNaN();
    }
  });

  it("is what deadlines are for: behind a transfer that never ends nobody goes without them", () => {
    const stuck: Stream = { ...staggered, flows: [{ source: 0, destination: 2, rank: 0, holdNs: [0, 20] }] };
    const options = { ...stuck.options, deadlineMinNs: 70 };
    const { selectedNs, boundNs } = new Contest({ ...stuck, options }).run();
    expect(selectedNs).toBeLessThanOrEqual(boundNs);
    expect(new Contest(stuck).run().selectedNs).toBeNaN();
  });
});
