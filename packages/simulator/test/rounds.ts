/** Random programs written down as rounds, and what their candidates come to one by one. */
import fc from "fast-check";
import { type SimOperator, type SimTensor, Simulator, SimulatorError, type SimulatorOptions } from "../src/index.ts";
import { type CandidateResult, Round } from "../src/pool.ts";
import type { Adders, Call, Program } from "./programs.ts";

/** Calls that are refused, each for another reason, or when the candidate is run. */
const REFUSED: readonly Call[] = [
  (to) => to.addOperator(99, 1, 0, 7000, 0),
  (to) => to.addOperator(0, Number.NaN, 0, 7000, 0),
  (to) => to.addTensor(0, 2 ** 53, false, -1),
  (to) => to.addTensor(0, -1, true, -1),
  (to) => to.addInput(9999, 0, -1),
  (to) => to.addInput(0, 9999, -1),
  (to) => to.addOutput(9999, 1, false, -1),
  (to) => to.setRunning(9999, 1),
  (to) => to.setHeld(9999, 0, true),
  (to) => to.setTransferring(0, 0, 0, 0.5),
  (to) => to.setIntentSince(9999, 0, 0),
  (to) => to.addTransfer(9999, 0, 0, 0),
  // Two run on one accelerator, which shows when it is planned.
  (to) => [1, 2].map((each) => to.setRunning(to.addOperator(0, 5, 0, 8000 + each, 0), 3)),
];

export interface Case {
  readonly program: Program;
  /** Those of the program, several times, some of them refused. */
  readonly candidates: readonly (readonly Call[])[];
  readonly abandonAboveScore: number;
}

export function caseOf(programs: fc.Arbitrary<Program>): fc.Arbitrary<Case> {
  return fc
    .record({
      program: programs,
      picks: fc.array(
        fc.record({ candidate: fc.nat(), refused: fc.option(fc.nat(), { freq: 3 }), isAtEnd: fc.boolean() }),
        { minLength: 1, maxLength: 10 },
      ),
      bound: fc.constantFrom(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 4, 9),
    })
    .map(({ program, picks, bound }) => ({
      program,
      candidates: picks.map(({ candidate, refused, isAtEnd }) => {
        const calls = program.candidates[candidate % program.candidates.length] ?? [];
        // The option's `null` stands for none.
        const bad = refused === null ? [] : [REFUSED[refused % REFUSED.length] as Call];
        return isAtEnd ? [...calls, ...bad] : [...bad, ...calls];
      }),
      abandonAboveScore: program.nowNs + bound,
    }));
}

export function roundOf({ program, candidates }: Case): Round {
  const round = new Round(program.options);
  round.begin(program.nowNs, program.accelerators);
  for (const call of program.base) call(round as unknown as Adders);
  for (const candidate of candidates) {
    round.candidate();
    for (const call of candidate) call(round as unknown as Adders);
  }
  return round;
}

/** Each candidate on a simulator that has seen no other. */
export function oneByOne({ program, candidates, abandonAboveScore }: Case): CandidateResult[] {
  return candidates.map((candidate) => {
    const simulator = new Simulator(program.options);
    simulator.begin(program.nowNs, program.accelerators);
    for (const call of program.base) call(simulator as unknown as Adders);
    simulator.mark();
    try {
      for (const call of candidate) call(simulator as unknown as Adders);
      const { outcome, scoreNs, makespanNs, simulatedOperators } = simulator.run({ abandonAboveScore });
      const result = outcome === "abandoned" ? NOTHING : { scoreNs, makespanNs, simulatedOperators };
      return { outcome, ...result, outOfMemory: simulator.outOfMemory(), error: null };
    } catch (error) {
      if (!(error instanceof SimulatorError)) throw error;
      return { outcome: "failed", ...NOTHING, outOfMemory: null, error };
    }
  });
}

const NOTHING = { scoreNs: null, makespanNs: null, simulatedOperators: null };

/** By hand: the least score among the finished, the first of equal ones. */
export function bestOf(candidates: readonly CandidateResult[]): number {
  const scores = candidates.map(({ outcome, scoreNs }) =>
    outcome === "finished" ? (scoreNs ?? Number.NaN) : Number.NaN,
  );
  const least = Math.min(...scores.filter((it) => !Number.isNaN(it)));
  return scores.indexOf(least);
}

/** Errors as data, so that they are compared field by field. */
export function plain(candidates: readonly CandidateResult[]) {
  return candidates.map(({ error, ...rest }) => ({
    ...rest,
    error: error === null ? null : { code: error.code, message: error.message, details: error.details },
  }));
}

export const TWO: SimulatorOptions = {
  topology: { accelerators: 2, portCapacity: [1, 1], linkCapacity: [], route: () => [] },
  transferNs: (_source, _destination, bytes) => 10 + bytes,
};

/** A result on accelerator 0 that each of `candidates` candidates reads, with chains of `operators` operators. */
export function chains(candidates: number, operators: number): Round {
  const round = new Round(TWO);
  const states = [0, 1].map(() => ({ capacityBytes: 1e6, fixedBytes: 0 }));
  round.begin(0, states);
  const input = round.addTensor(0, 100, true);
  round.setRunning(round.addOperator(0, 50, 0, 0, 10), 20);
  for (let candidate = 0; candidate < candidates; candidate++) {
    round.candidate();
    let from: SimTensor = input;
    for (let each = 0; each < operators; each++) {
      const operator: SimOperator = round.addOperator(candidate % 2, 5 + candidate, 0, 1 + each, 0);
      round.addInput(operator, from);
      from = round.addOutput(operator, 1, false);
    }
  }
  return round;
}
