import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { type Adders, type Call, type Program, program } from "../test/programs.ts";
import { SlowSimulator } from "../test/slow-simulator.ts";
import { turningProgram } from "../test/turning-programs.ts";
import { Evaluation } from "./evaluation.ts";
import { Simulator } from "./index.ts";

/** Everything a run tells, in the shape of the twin's results. */
function observe(simulator: Simulator, { accelerators }: Program, operators: number, timeline = true) {
  const { outcome, makespanNs, simulatedOperators, scoreNs } = simulator.run({ timeline });
  if (!Object.is(scoreNs, simulator.score()))
    throw new Error(`score() is ${simulator.score()}, the result says ${scoreNs}`);
  const each = accelerators.map((_, index) => index);
  const handles = Array.from({ length: operators }, (_, index) => index as Parameters<Simulator["doneNs"]>[0]);
  return {
    outcome,
    makespanNs,
    simulatedOperators,
    score: scoreNs,
    startNs: handles.map((it) => simulator.startNs(it)),
    doneNs: handles.map((it) => simulator.doneNs(it)),
    peakBytes: each.map((it) => simulator.peakBytes(it)),
    busyNs: each.map((it) => simulator.busyNs(it)),
    outOfMemory: simulator.outOfMemory(),
    transfers: simulator.transfers(),
    timelines: each.map((it) => simulator.hbmTimeline(it)),
    waiters: simulator
      .waiters()
      .map(({ operator, transfer, tensors }) => (operator === -1 ? { transfer } : { operator, tensors })),
  };
}

function twin({ options, nowNs, accelerators, base }: Program, candidate: readonly Call[]) {
  const slow = new SlowSimulator(options);
  let operators = 0;
  const counting = countOperators(slow, () => operators++);
  slow.begin(nowNs, accelerators);
  for (const call of base) call(counting);
  slow.mark();
  for (const call of candidate) call(counting);
  return { expected: slow.run(), operators };
}

function countOperators(to: Adders, count: () => void): Adders {
  return new Proxy(to, {
    get: (target, name: keyof Adders) => {
      if (name === "addOperator") count();
      return target[name].bind(target);
    },
  });
}

function begun({ options, nowNs, accelerators, base }: Program): Simulator {
  const simulator = new Simulator(options);
  simulator.begin(nowNs, accelerators);
  for (const call of base) call(simulator as unknown as Adders);
  simulator.mark();
  return simulator;
}

/** To the bit; `expect` costs far more and is asked for the difference only. */
function mustEqual(observed: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(observed, expected)) expect(observed).toStrictEqual(expected);
}

describe("the simulator equals its slow twin", () => {
  test("in every field, for each candidate over the same base, also when run again", { timeout: 30_000 }, () => {
    const outcomes = new Map<string, number>();
    // Candidates that are planned with their base test nothing of overlays.
    const overlays = vi.spyOn(Evaluation.prototype, "evaluateOverlay");
    fc.assert(
      fc.property(program, (it) => {
        const simulator = begun(it);
        for (const [index, candidate] of it.candidates.entries()) {
          simulator.rewind();
          for (const call of candidate) call(simulator as unknown as Adders);
          // One that is run, perhaps abandoned, and not looked at leaves nothing behind.
          simulator.run(index % 2 === 0 ? {} : { abandonAboveScore: it.nowNs + 4 });
          const { expected, operators } = twin(it, candidate);
          if (index > 0) {
            const timelines = expected.timelines.map(() => []);
            mustEqual(observe(simulator, it, operators, false), { ...expected, timelines });
          }
          const observed = observe(simulator, it, operators);
          mustEqual(observed, expected);
          // With a timeline everything is run anew; without, some of it is known from before.
          const timelines = expected.timelines.map(() => []);
          mustEqual(observe(simulator, it, operators, false), { ...expected, timelines });
          outcomes.set(observed.outcome, (outcomes.get(observed.outcome) ?? 0) + 1);
        }
      }),
      { numRuns: 300 },
    );
    for (const outcome of ["finished", "outOfMemory", "standstill"]) expect(outcomes.get(outcome)).toBeGreaterThan(10);
    expect(overlays.mock.calls.length).toBeGreaterThan(100);
    overlays.mockRestore();
  });

  test("where only the events of another component turn the order of intents", () => {
    fc.assert(
      fc.property(turningProgram, (it) => {
        const simulator = begun(it);
        const alone = twin(it, []);
        mustEqual(observe(simulator, it, alone.operators), alone.expected);
        for (const candidate of it.candidates) {
          simulator.rewind();
          for (const call of candidate) call(simulator as unknown as Adders);
          const { expected, operators } = twin(it, candidate);
          const timelines = expected.timelines.map(() => []);
          mustEqual(observe(simulator, it, operators, false), { ...expected, timelines });
          mustEqual(observe(simulator, it, operators), expected);
        }
      }),
      { numRuns: 400 },
    );
  });

  test("and leaves the base as it was after rewinding", () => {
    fc.assert(
      fc.property(program, (it) => {
        const simulator = begun(it);
        for (const candidate of it.candidates) {
          for (const call of candidate) call(simulator as unknown as Adders);
          simulator.run();
          simulator.rewind();
        }
        const { expected, operators } = twin(it, []);
        mustEqual(observe(simulator, it, operators), expected);
      }),
      { numRuns: 150 },
    );
  });
});

test("abandoning hopeless candidates chooses the same one", () => {
  let abandoned = 0;
  fc.assert(
    fc.property(program, (it) => {
      const simulator = begun(it);
      const best = (stopsEarly: boolean) => {
        let bestScore = Number.POSITIVE_INFINITY;
        const ties: number[] = [];
        for (const [index, candidate] of it.candidates.entries()) {
          simulator.rewind();
          for (const call of candidate) call(simulator as unknown as Adders);
          const { outcome, scoreNs } = simulator.run(stopsEarly ? { abandonAboveScore: bestScore } : {});
          if (outcome === "abandoned") abandoned++;
          if (outcome !== "finished" || !(scoreNs <= bestScore)) continue;
          if (scoreNs < bestScore) ties.length = 0;
          bestScore = scoreNs;
          ties.push(index);
        }
        return { bestScore, ties };
      };
      expect(best(true)).toEqual(best(false));
    }),
    { numRuns: 300 },
  );
  expect(abandoned).toBeGreaterThan(10);
});
