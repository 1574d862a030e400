/** Nobody starves: the bound stated at Arbiter, under streams of urgent intents without end. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pairs, pick, topologies, topologyOf } from "../test/twin.ts";
import { Arbiter, type ArbitrationOptions, type Topology } from "./index.ts";

interface Stream {
  readonly topology: Topology;
  readonly options: Required<ArbitrationOptions>;
  readonly victimRank: number;
  /** Raised at once whenever a transfer of theirs ends, and at the start. */
  readonly flows: readonly {
    readonly source: number;
    readonly destination: number;
    readonly rank: number;
    readonly holdNs: readonly number[];
  }[];
}

const VICTIM = 0;

interface Outcome {
  /** NaN when it was never selected within the horizon. */
  readonly selectedNs: number;
  readonly boundNs: number;
}

/** Runs the victim 0 → 1, raised at 0, against the stream. */
function contend({ topology, options, victimRank, flows }: Stream, horizonNs: number): Outcome {
  const arbiter = new Arbiter(topology, options);
  const { agingNs, reserveNs } = options;
  const holdMaxNs = Math.max(...flows.flatMap(({ holdNs }) => holdNs));
  const raisedBeforeNs = (victimRank + 2) * agingNs;
  const settledNs = raisedBeforeNs + reserveNs;
  const raisedNs = new Map<number, number>();
  const flowOf = new Map<number, number>();
  const ends = new Map<number, number>();
  let boundNs = Number.NaN;
  let next = 1;
  const raise = (flow: number, nowNs: number) => {
    const { source, destination, rank } = pick(flows, flow);
    flowOf.set(next, flow);
    raisedNs.set(next, nowNs);
    arbiter.intent({ transfer: next++, source, destination, rank, bytes: 1 }, nowNs);
  };
  // The stream is there first, twice each, so that every port it uses is taken and wanted when the victim comes.
  for (let flow = 0; flow < flows.length; flow++) for (let twice = 0; twice < 2; twice++) raise(flow, 0);
  const admit = (nowNs: number): boolean => {
    if (Number.isNaN(boundNs) && nowNs >= settledNs) {
      // The victim is one of these: k + 1 = old.length.
      const old = arbiter.pending(nowNs).filter(({ transfer }) => (raisedNs.get(transfer) ?? 0) < raisedBeforeNs);
      boundNs = settledNs + old.length * holdMaxNs;
    }
    let isVictimIn = false;
    for (const { transfer } of arbiter.select(nowNs)) {
      if (transfer === VICTIM) isVictimIn = true;
      const flow = flowOf.get(transfer) ?? 0;
      ends.set(transfer, nowNs + pick(pick(flows, flow).holdNs, transfer));
    }
    return isVictimIn;
  };
  admit(0);
  arbiter.intent({ transfer: VICTIM, source: 0, destination: 1, rank: victimRank, bytes: 1 }, 0);
  if (admit(0)) return { selectedNs: 0, boundNs: settledNs + holdMaxNs };
  while (ends.size > 0) {
    const nowNs = Math.min(...ends.values());
    if (nowNs > horizonNs) break;
    for (const [transfer, endNs] of [...ends]) {
      if (endNs !== nowNs) continue;
      ends.delete(transfer);
      arbiter.recvReady(transfer, nowNs);
      arbiter.done(transfer, nowNs);
      raise(flowOf.get(transfer) ?? 0, nowNs);
      // The adversary's best moment: as soon as one port is free somebody urgent wants it, before the victim is looked at.
      if (admit(nowNs)) return { selectedNs: nowNs, boundNs: Number.isNaN(boundNs) ? settledNs + holdMaxNs : boundNs };
    }
  }
  return { selectedNs: Number.NaN, boundNs };
}

const flows = (topology: Topology) =>
  fc.array(
    fc
      .record({
        pair: fc.nat(100),
        rank: fc.integer({ min: 0, max: 2 }),
        holdNs: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 3 }),
      })
      .map(({ pair, ...rest }) => {
        const [source, destination] = pick(pairs(topology), pair);
        return { source, destination, ...rest };
      }),
    { minLength: 1, maxLength: 6 },
  );

const streams: fc.Arbitrary<Stream> = topologies.chain((topology) =>
  fc.record({
    topology: fc.constant(topology),
    options: fc.record({ agingNs: fc.integer({ min: 1, max: 60 }), reserveNs: fc.nat(200) }),
    victimRank: fc.nat(4),
    flows: flows(topology),
  }),
);

/** 0 → 2 and 3 → 1 in turns: the egress of 0 and the ingress of 1 are never free at the same instant. */
const staggered: Stream = {
  topology: topologyOf([1, 1, 1, 1], [], () => []),
  options: { agingNs: 50, reserveNs: 100 },
  victimRank: 3,
  flows: [
    { source: 0, destination: 2, rank: 0, holdNs: [20] },
    { source: 3, destination: 1, rank: 0, holdNs: [20, 30, 20] },
    { source: 3, destination: 1, rank: 0, holdNs: [7] },
  ],
};

describe("the bound on waiting", () => {
  it("holds against any stream of urgent intents", () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const { selectedNs, boundNs } = contend(stream, 1e5);
        expect(selectedNs).toBeLessThanOrEqual(boundNs);
      }),
      { numRuns: 400 },
    );
  });

  it("is what reservation and aging are for: the staggered stream starves the victim without either", () => {
    const { selectedNs, boundNs } = contend(staggered, 1e5);
    expect(selectedNs).toBeLessThanOrEqual(boundNs);
    const neverNs = Number.MAX_SAFE_INTEGER;
    for (const options of [
      { agingNs: 50, reserveNs: neverNs },
      { agingNs: neverNs, reserveNs: 100 },
    ]) {
      expect(contend({ ...staggered, options }, 1e5).selectedNs).toBeNaN();
    }
  });
});
