import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { cluster, program, programOn } from "../../test/programs.ts";
import { bestOf, type Case, caseOf, oneByOne, plain, roundOf } from "../../test/rounds.ts";
import { RoundEvaluator, type RoundResult, SimulatorPool } from "../pool.ts";

const seen = new Map<string, number>();

function expectedOf(it: Case) {
  const alone = oneByOne(it);
  for (const { outcome } of alone) seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  return { candidates: plain(alone), best: bestOf(alone) };
}

function mustEqual({ candidates, best }: RoundResult, expected: ReturnType<typeof expectedOf>): void {
  const found = { candidates: plain(candidates), best };
  if (!isDeepStrictEqual(found, expected)) expect(found).toStrictEqual(expected);
}

afterAll(() => {
  for (const outcome of ["finished", "outOfMemory", "standstill", "abandoned", "failed"])
    expect(seen.get(outcome), outcome).toBeGreaterThan(2);
});

test("a round on one thread comes to what each candidate comes to alone", () => {
  fc.assert(
    fc.property(caseOf(program), (it) => {
      const { abandonAboveScore } = it;
      mustEqual(new RoundEvaluator(it.program.options).evaluate(roundOf(it), { abandonAboveScore }), expectedOf(it));
    }),
    { numRuns: 250 },
  );
});

describe("a pool comes to what each candidate comes to alone", () => {
  // The links and ports of a pool stay; all else is drawn for each round.
  for (const [index, fixed] of fc.sample(cluster, { seed: 7, numRuns: 3 }).entries()) {
    const { accelerators, engines, links, agingNs, reserveNs } = fixed;
    const clusters = cluster.map((it) => ({ ...it, accelerators, engines, links, agingNs, reserveNs }));
    const cases = caseOf(programOn(clusters));
    test(`of 1, 2 and 4 workers, cluster ${index} of ${accelerators} accelerators`, async () => {
      const [example] = fc.sample(cases, 1);
      const { options } = (example as Case).program;
      const pools = [1, 2, 4].map((workers) => new SimulatorPool({ ...options, workers }));
      try {
        await fc.assert(
          fc.asyncProperty(cases, async (it) => {
            const round = roundOf(it);
            const { abandonAboveScore } = it;
            const results = await Promise.all(pools.map((pool) => pool.evaluate(round, { abandonAboveScore })));
            const expected = expectedOf(it);
            for (const result of results) mustEqual(result, expected);
          }),
          { numRuns: 40 },
        );
      } finally {
        await Promise.all(pools.map((pool) => pool.close()));
      }
    });
  }
});
