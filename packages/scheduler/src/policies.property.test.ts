import type { CompiledPartition } from "@slicescheduler/gmg";
import fc from "fast-check";
import { expect, test } from "vitest";
import { simulationGuided } from "./policies.ts";
import type { Candidate, Round } from "./types.ts";

/** Few different numbers, so that there are ties of every kind. */
const candidates = fc.array(
  fc.record({
    scoreNs: fc.option(fc.integer({ min: 3, max: 8 })),
    leastNs: fc.integer({ min: 3, max: 8 }),
    movedBytes: fc.nat(2),
  }),
  { minLength: 2, maxLength: 8 },
);

test("chooses as if all were simulated, whatever is known beforehand, and simulates none that could not win", () => {
  fc.assert(
    fc.property(candidates, fc.array(fc.nat(), { minLength: 8, maxLength: 8 }), fc.boolean(), (all, keys, isKnown) => {
      const named = all.map(({ scoreNs, leastNs, movedBytes }, i) => ({
        scoreNs: scoreNs ?? Number.POSITIVE_INFINITY,
        leastNs: Math.min(leastNs, scoreNs ?? leastNs),
        candidate: { partition: { name: `p${keys[i]} ${i}` } as CompiledPartition, movedBytes },
      }));
      const of = (asked: Candidate) => named.find(({ candidate }) => candidate === asked) ?? failUnknown();
      const simulated: Candidate[] = [];
      const round: Round = {
        nowNs: 0,
        batch: [],
        candidates: named.map(({ candidate }) => candidate),
        simulate: (candidate, abandonAboveNs = Number.POSITIVE_INFINITY) => {
          simulated.push(candidate);
          const { scoreNs } = of(candidate);
          return scoreNs === Number.POSITIVE_INFINITY || scoreNs > abandonAboveNs ? null : scoreNs;
        },
        ...(isKnown ? { leastNs: (candidate: Candidate) => of(candidate).leastNs } : {}),
      };
      const choice = simulationGuided.choose(round);
      const finished = named.filter(({ scoreNs }) => scoreNs < Number.POSITIVE_INFINITY);
      const [best] = finished.toSorted((a, b) => a.scoreNs - b.scoreNs || tied(a.candidate, b.candidate));
      expect(choice.candidate).toBe((best ?? named[0])?.candidate);
      expect(new Set(simulated).size).toBe(simulated.length);
      if (!isKnown || best === undefined) return;
      for (const candidate of simulated) expect(of(candidate).leastNs).toBeLessThanOrEqual(best.scoreNs);
    }),
    { numRuns: 2000 },
  );
});

function tied(a: Candidate, b: Candidate): number {
  return a.movedBytes - b.movedBytes || (a.partition.name < b.partition.name ? -1 : 1);
}

function failUnknown(): never {
  throw new Error("it is none of the candidates");
}
