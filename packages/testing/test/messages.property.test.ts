import type { MessageFaults } from "@slicescheduler/executor";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runWorkload, worlds } from "../src/index.ts";

const RUNS = 60;

/** What keeps every message: late and doubled ones of each accelerator in its order, or overtaken by those behind them. */
function messages(): fc.Arbitrary<MessageFaults> {
  const rate = fc.constantFrom(0, 0.1, 0.5, 1);
  const nsMax = fc.constantFrom(1, 5, 40, 300);
  return fc.record({
    late: fc.record({ any: fc.record({ rate, nsMax }) }),
    doubled: fc.record({ any: fc.record({ rate }) }),
    reordered: fc.record({ any: fc.record({ rate, nsMax }) }),
  });
}

test("reports that are late, doubled and out of order break nothing: every instance has its outcome, and nothing is left", async () => {
  const seen = { late: 0, early: 0, done: 0 };
  await fc.assert(
    fc.asyncProperty(worlds({ cancels: true, acceleratorsMin: 2 }), messages(), async (world, faults) => {
      // Recounted after every event, and at the end nothing may be left.
      const arbitration = { ...world.arbitration, deadlineMinNs: 1e9 };
      const { stats, outcomes, refusals } = await runWorkload({ ...world, arbitration, messages: faults });
      seen.late += stats.lateEvents;
      seen.early += stats.earlyEvents;
      seen.done += outcomes.filter((outcome) => outcome === "done").length;
      expect(outcomes.filter((outcome) => outcome === null)).toHaveLength(refusals.length);
      // Nothing failed that only a message held up; what needs a cancelled instance has to.
      if (!outcomes.includes("cancelled")) expect(outcomes).not.toContain("failed");
    }),
    { numRuns: RUNS },
  );
  // The property is about something.
  expect(Math.min(seen.late, seen.early, seen.done)).toBeGreaterThan(RUNS);
});

test("reports that only come twice change no outcome, no time and no instruction", async () => {
  await fc.assert(
    fc.asyncProperty(worlds({ cancels: true }), fc.nat(), async (world, seed) => {
      const quiet = await runWorkload({ ...world, seed, validate: false });
      const doubled = await runWorkload({
        ...world,
        seed,
        validate: false,
        messages: { doubled: { any: { rate: 1 } } },
      });
      expect(doubled.log).toEqual(quiet.log);
      expect(doubled.endNs).toBe(quiet.endNs);
      const instructions = (run: typeof quiet) => run.recorded.flatMap((each) => each.instructions);
      expect(instructions(doubled)).toEqual(instructions(quiet));
    }),
    { numRuns: 20 },
  );
});
