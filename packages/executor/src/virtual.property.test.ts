import fc from "fast-check";
import { expect, test } from "vitest";
import { opened } from "../test/mini-master.ts";
import { issuesOf, type Plan, plans, releasesOf } from "../test/plan.ts";
import { type PlannedRerank, twinRun } from "../test/twin.ts";
import { EVENT_KIND } from "./index.ts";

function run(plan: Plan, options: { seed?: number; cv?: number } = {}) {
  const { executor, master, time } = opened(plan, options);
  executor.execute([...issuesOf(plan).issues, ...releasesOf(plan)]);
  time.run();
  return { executor, log: master.log };
}

function timesOf(plan: Plan, log: ReturnType<typeof run>["log"], type: "operatorStarted" | "operatorDone"): number[] {
  return plan.operators.map((_, index) => {
    const found = log.filter(({ event }) => event.type === type && event.issueNumber === index);
    expect(found, `${type} of ${index}`).toHaveLength(1);
    return found[0]?.atNs ?? -1;
  });
}

test("agrees with the rules played slowly, to the nanosecond and to the byte", () => {
  fc.assert(
    fc.property(plans, (plan) => {
      const { executor, log } = run(plan);
      const twin = twinRun(plan);
      expect(timesOf(plan, log, "operatorStarted")).toEqual(twin.starts);
      expect(timesOf(plan, log, "operatorDone")).toEqual(twin.ends);
      const stats = executor.stats();
      expect(stats.accelerators.map(({ peakHbmBytes }) => peakHbmBytes)).toEqual(twin.peaks);
      const busyNs = plan.operators.reduce((sum, { durationNs }) => sum + durationNs, 0);
      expect(stats.accelerators.reduce((sum, accelerator) => sum + accelerator.busyNs, 0)).toBe(busyNs);
    }),
    { numRuns: 100 },
  );
});

test("agrees with them too while operators get other classes at any time, the last of an instant", () => {
  const drawn = fc.array(fc.record({ atNs: fc.nat({ max: 40 }), operator: fc.nat(), rank: fc.nat({ max: 3 }) }), {
    minLength: 1,
    maxLength: 12,
  });
  let moved = 0;
  fc.assert(
    fc.property(plans, drawn, (plan, picks) => {
      const reranks: PlannedRerank[] = picks.map((pick) => ({
        ...pick,
        operator: pick.operator % plan.operators.length,
      }));
      const { executor, master, time } = opened(plan);
      for (const [number, { atNs, operator, rank }] of reranks.entries()) {
        time.at(atNs, { kind: EVENT_KIND.application, number }, () =>
          executor.execute([{ type: "rerank", issueNumber: operator, rank }]),
        );
      }
      executor.execute([...issuesOf(plan).issues, ...releasesOf(plan)]);
      time.run();
      const twin = twinRun(plan, [], reranks);
      expect(timesOf(plan, master.log, "operatorStarted")).toEqual(twin.starts);
      expect(timesOf(plan, master.log, "operatorDone")).toEqual(twin.ends);
      expect(executor.stats().accelerators.map(({ peakHbmBytes }) => peakHbmBytes)).toEqual(twin.peaks);
      if (twinRun(plan).starts.some((startNs, index) => startNs !== twin.starts[index])) moved++;
    }),
    { numRuns: 100 },
  );
  expect(moved).toBeGreaterThan(2);
});

test("every operator runs once, after its inputs, one at a time, and nothing is left", () => {
  fc.assert(
    fc.property(plans, fc.nat(), (plan, seed) => {
      const { executor, log } = run(plan, { seed, cv: 0.5 });
      const starts = timesOf(plan, log, "operatorStarted");
      const ends = timesOf(plan, log, "operatorDone");
      const madeBy = new Map(
        plan.operators.flatMap(({ outputs }, index) => outputs.map(({ tensor }) => [tensor, index])),
      );
      for (const [index, { inputs, accelerator }] of plan.operators.entries()) {
        for (const tensor of inputs) expect(ends[madeBy.get(tensor) ?? -1]).toBeLessThanOrEqual(starts[index] ?? -1);
        const others = plan.operators.flatMap((other, at) =>
          at !== index && other.accelerator === accelerator ? [at] : [],
        );
        for (const other of others) {
          const apart = (ends[other] ?? 0) <= (starts[index] ?? 0) || (ends[index] ?? 0) <= (starts[other] ?? 0);
          expect(apart).toBe(true);
        }
      }
      expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
      for (const { usedHbmBytes } of executor.stats().accelerators) expect(usedHbmBytes).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test("the same seed gives the same events", () => {
  fc.assert(
    fc.property(plans, fc.nat(), (plan, seed) => {
      expect(run(plan, { seed, cv: 0.3 }).log).toEqual(run(plan, { seed, cv: 0.3 }).log);
    }),
    { numRuns: 20 },
  );
});

test("withdrawals at any time and operators that do not fit leave nothing behind", () => {
  const picks = fc.array(fc.record({ afterEvent: fc.nat({ max: 40 }), pick: fc.nat({ max: 1 << 20 }) }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(plans, picks, fc.constantFrom(400, 1500, 1_000_000), (plan, withdrawals, hbmBytes) => {
      const count = plan.operators.length;
      const open = new Set(plan.operators.keys());
      let events = 0;
      const { executor, master, time } = opened(plan, {
        hbmBytes,
        onEvent: (event, executorNow) => {
          for (const { pick, afterEvent } of withdrawals)
            if (afterEvent === events) executorNow.execute([{ type: "withdraw", issueNumber: pick % count }]);
          events++;
          if (event.type === "operatorDone" || event.type === "operatorFailed" || event.type === "withdrawn") {
            expect(open.delete(event.issueNumber), `${event.type} ${event.issueNumber}`).toBe(true);
            master.retry();
          }
        },
      });
      executor.execute([...issuesOf(plan).issues, ...releasesOf(plan)]);
      time.run();
      // What waits for something that will never be: the master takes it back, and what room that makes is used.
      executor.execute([...open].map((issueNumber) => ({ type: "withdraw", issueNumber })));
      for (let round = 0; round < count * 4; round++) {
        master.retry();
        time.run();
      }
      expect([...open]).toEqual([]);
      const left = executor.leftovers();
      // Two accelerators may be full of what each is to send the other: intents end by being sent, and neither can be.
      const stuck = left.transfers.filter(({ state }) => state === "intent");
      expect(left.operators).toEqual([]);
      expect(left.transfers).toEqual(stuck);
      const isStuck = (tensor: number) => stuck.some((transfer) => transfer.tensor === tensor);
      expect(left.tensors.filter(({ tensor }) => !isStuck(tensor))).toEqual([]);
      if (hbmBytes === 1_000_000) expect(stuck).toEqual([]);
      for (const { peakHbmBytes, usedHbmBytes } of executor.stats().accelerators) {
        expect(peakHbmBytes).toBeLessThanOrEqual(hbmBytes);
        if (stuck.length === 0) expect(usedHbmBytes).toBe(0);
      }
    }),
    { numRuns: 100 },
  );
});
