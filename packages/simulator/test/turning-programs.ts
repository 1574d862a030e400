/**
 * Programs in which intents of one component wait long for each other's ports, ageing fast, while operators of another one, which
 * has nothing to do with them, end in between.
 */
import fc from "fast-check";
import type { Call, Program } from "./programs.ts";

/** Accelerators that exchange tensors; those after them only compute. */
const EXCHANGING = 3;
const ACCELERATORS = 5;

/** From accelerator 0, which sends one at a time: to 1, or to 2, which the first flight blocks for long. */
const exchange = fc.record({
  to: fc.integer({ min: 1, max: EXCHANGING - 1 }),
  rank: fc.nat(1),
  bytes: fc.integer({ min: 1, max: 20 }),
  /** How long it takes to make what is sent; null: it is there at begin. */
  madeNs: fc.option(fc.integer({ min: 1, max: 10 }), { freq: 1 }),
  intentAgoNs: fc.option(fc.nat(20), { freq: 2 }),
});
const elsewhere = fc.array(
  fc.record({
    accelerator: fc.integer({ min: EXCHANGING, max: ACCELERATORS - 1 }),
    durationNs: fc.integer({ min: 1, max: 12 }),
  }),
  { maxLength: 8 },
);

const NOW_NS = 20;

export const turningProgram: fc.Arbitrary<Program> = fc
  .record({
    agingNs: fc.integer({ min: 4, max: 20 }),
    reserveNs: fc.oneof({ weight: 5, arbitrary: fc.nat(5) }, { weight: 1, arbitrary: fc.constant(1e9) }),
    blockedNs: fc.integer({ min: 40, max: 100 }),
    sendingNs: fc.integer({ min: 1, max: 20 }),
    exchanges: fc.array(exchange, { minLength: 2, maxLength: 3 }),
    elsewhere,
    candidates: fc.array(fc.record({ exchanges: fc.array(exchange, { maxLength: 2 }), elsewhere }), {
      minLength: 1,
      maxLength: 3,
    }),
  })
  .map((it) => {
    const base = new Calls();
    base.flight(1, 2, it.blockedNs);
    base.flight(0, 1, it.sendingNs);
    for (const each of it.exchanges) base.exchange(each);
    for (const each of it.elsewhere) base.operator(each.accelerator, each.durationNs, 0);
    return {
      options: {
        topology: {
          accelerators: ACCELERATORS,
          portCapacity: new Array<number>(ACCELERATORS).fill(1),
          linkCapacity: [],
          route: () => [],
        },
        transferNs: (_source: number, _destination: number, bytes: number) => bytes,
        agingNs: it.agingNs,
        reserveNs: it.reserveNs,
      },
      nowNs: NOW_NS,
      accelerators: Array.from({ length: ACCELERATORS }, () => ({ capacityBytes: 1e6, fixedBytes: 0 })),
      base: base.calls,
      candidates: it.candidates.map((candidate) => {
        const calls = new Calls(base);
        for (const each of candidate.exchanges) calls.exchange({ ...each, intentAgoNs: null });
        for (const each of candidate.elsewhere) calls.operator(each.accelerator, each.durationNs, 0);
        return calls.calls;
      }),
    };
  });

type Of<T> = T extends fc.Arbitrary<infer U> ? U : never;

class Calls {
  readonly calls: Call[] = [];
  #operators: number;
  #tensors: number;

  constructor(after?: Calls) {
    this.#operators = after === undefined ? 0 : after.#operators;
    this.#tensors = after === undefined ? 0 : after.#tensors;
  }

  operator(accelerator: number, durationNs: number, rank: number): number {
    const operator = this.#operators++;
    this.calls.push((to) => to.addOperator(accelerator, durationNs, rank, operator, 0));
    return operator;
  }

  flight(source: number, destination: number, remainingNs: number): void {
    const tensor = this.#tensors++;
    this.calls.push((to) => to.addTensor(source, 1, true, -1));
    this.calls.push((to) => to.setTransferring(tensor, source, destination, remainingNs));
  }

  /** A tensor, made or there, and an operator that reads it elsewhere. */
  exchange({ to: destination, rank, bytes, madeNs, intentAgoNs }: Of<typeof exchange>): void {
    const tensor = this.#tensors++;
    if (madeNs === null) {
      this.calls.push((to) => to.addTensor(0, bytes, true, -1));
      if (intentAgoNs !== null) this.calls.push((to) => to.setIntentSince(tensor, destination, NOW_NS - intentAgoNs));
    } else {
      const maker = this.operator(0, madeNs, rank);
      this.calls.push((to) => to.addOutput(maker, bytes, false, -1));
    }
    const reader = this.operator(destination, 1, rank);
    this.calls.push((to) => to.addInput(reader, tensor, -1));
  }
}
