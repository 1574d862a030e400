import fc from "fast-check";
import { expect, test } from "vitest";
import { opened } from "../test/mini-master.ts";
import { drawnOutages, expectSilence, outagesOf, type PlannedOutage } from "../test/outages.ts";
import { issuesOf, type Plan, plans, releasesOf, twice } from "../test/plan.ts";
import { type TwinRun, twinRun } from "../test/twin.ts";
import type { ExecutorEvent, ExecutorInstruction } from "./index.ts";

const NOTHING = { operators: [], tensors: [], transfers: [] };

/** Times of the events of one type per operator; −1 where there was none. */
function timesOf(plan: Plan, log: readonly { readonly atNs: number; readonly event: ExecutorEvent }[], type: string) {
  const times = plan.operators.map(() => -1);
  for (const { atNs, event } of log) {
    if (event.type !== type || !("issueNumber" in event)) continue;
    expect(times[event.issueNumber], `${type} ${event.issueNumber} again`).toBe(-1);
    times[event.issueNumber] = atNs;
  }
  return times;
}

function usedAt(twin: TwinRun, atNs: number): readonly number[] {
  return twin.used.findLast((one) => one.atNs <= atNs)?.bytes ?? [];
}

function withdrawAll(plan: Plan): ExecutorInstruction[] {
  return plan.operators.map((_, issueNumber) => ({ type: "withdraw", issueNumber }));
}

test("what an outage leaves goes on by the rules played slowly, to the nanosecond and to the byte", () => {
  const reached = { lostRunning: 0, lostOnTheWay: 0, blocked: 0 };
  fc.assert(
    fc.property(plans, drawnOutages, (plan, drawn) => {
      const outages = outagesOf(plan, drawn);
      const twin = twinRun(plan, outages);
      const { executor, master, time } = opened(plan, { outages });
      executor.execute([...issuesOf(plan).issues, ...releasesOf(plan)]);
      const used = twin.used.map(({ atNs }) => {
        time.run(atNs);
        return executor.stats().accelerators.map(({ usedHbmBytes }) => usedHbmBytes);
      });
      // Of several events of one instant the last counts.
      expect(used).toEqual(twin.used.map(({ atNs }) => usedAt(twin, atNs)));
      time.run();
      expect(timesOf(plan, master.log, "operatorStarted")).toEqual(twin.starts);
      expect(timesOf(plan, master.log, "operatorDone")).toEqual(twin.ends);
      expectSilence(plan, master.log);
      const { accelerators, ignored } = executor.stats();
      expect(
        accelerators.map(({ busyNs, peakHbmBytes, losses, absent }) => [busyNs, peakHbmBytes, losses, absent]),
      ).toEqual(
        accelerators.map((_, at) => [
          twin.busyNs[at],
          twin.peaks[at],
          outages.filter(({ accelerator }) => accelerator === at).length,
          false,
        ]),
      );
      expect(ignored).toBe(0);
      reached.blocked += executor.leftovers().operators.length;
      reached.lostRunning += twin.starts.filter((atNs, index) => atNs >= 0 && twin.ends[index] === -1).length;
      reached.lostOnTheWay += master.log.filter(({ event }) => event.type === "recvReady").length;
      reached.lostOnTheWay -= master.log.filter(({ event }) => event.type === "transferDone").length;
      // What waits for results that were lost is taken back; then nothing is left.
      executor.execute(withdrawAll(plan));
      expect(executor.leftovers()).toEqual(NOTHING);
      for (const { usedHbmBytes } of executor.stats().accelerators) expect(usedHbmBytes).toBe(0);
    }),
    { numRuns: 80 },
  );
  // The outages reach what they are to test.
  expect(Math.min(...Object.values(reached))).toBeGreaterThan(2);
});

test("accelerators that have returned do the same work again as if they were new", () => {
  fc.assert(
    fc.property(plans, drawnOutages, (plan, drawn) => {
      const both = twice(plan);
      const { issues } = issuesOf(both);
      const releases = releasesOf(both);
      const count = plan.operators.length;
      const { executor, master, time } = opened(both, { outages: outagesOf(plan, drawn) });
      executor.execute([...issues.slice(0, count), ...releases]);
      time.run();
      executor.execute(withdrawAll(plan));
      const againNs = time.nowNs();
      executor.execute([...issues.slice(count), ...releases]);
      time.run();
      const after = (type: string) => timesOf(both, master.log, type).slice(count);
      const twin = twinRun(plan);
      expect(after("operatorStarted")).toEqual(twin.starts.map((atNs) => atNs + againNs));
      expect(after("operatorDone")).toEqual(twin.ends.map((atNs) => atNs + againNs));
      expect(executor.leftovers()).toEqual(NOTHING);
    }),
    { numRuns: 40 },
  );
});

test("the same outages give the same events, with noise too", () => {
  const log = (plan: Plan, outages: readonly PlannedOutage[], seed: number) => {
    const { executor, master, time } = opened(plan, { outages, seed, cv: 0.3 });
    executor.execute([...issuesOf(plan).issues, ...releasesOf(plan)]);
    time.run();
    return master.log;
  };
  fc.assert(
    fc.property(plans, drawnOutages, fc.nat(), (plan, drawn, seed) => {
      const outages = outagesOf(plan, drawn);
      expect(log(plan, outages, seed)).toEqual(log(plan, outages, seed));
    }),
    { numRuns: 20 },
  );
});

const deeds = fc.array(
  fc.record({
    afterEvent: fc.nat({ max: 12 }),
    type: fc.constantFrom("lose", "return", "flip", "flip", "flip", "withdraw", "hold", "release", "issue", "issue"),
    pick: fc.nat({ max: 1 << 20 }),
  }),
  { maxLength: 14, size: "max" },
);
type Deed = typeof deeds extends fc.Arbitrary<readonly (infer T)[]> ? T : never;

/** Does whatever it is told to within the delivery of an event, when messages are in line that know nothing of it. */
class Unruly {
  readonly #plan: Plan;
  readonly #issues: readonly ExecutorInstruction[];
  readonly #releases: readonly ExecutorInstruction[];
  #issued: number;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#issues = issuesOf(plan).issues;
    this.#releases = releasesOf(plan);
    this.#issued = Math.ceil(this.#issues.length / 2);
  }

  get first(): readonly ExecutorInstruction[] {
    return this.#issues.slice(0, this.#issued);
  }

  act({ type, pick }: Deed, executor: ReturnType<typeof opened>["executor"]): void {
    const accelerator = pick % this.#plan.accelerators;
    const isAbsent = executor.stats().accelerators[accelerator]?.absent;
    if (type === "lose" || (type === "flip" && isAbsent !== true)) executor.loseAccelerator(accelerator);
    else if (type === "return" || type === "flip") executor.returnAccelerator(accelerator);
    else if (type === "withdraw") executor.execute([{ type, issueNumber: pick % this.#issued }]);
    else if (type === "issue") executor.execute(this.#issues.slice(this.#issued, this.#next()));
    else {
      const release = this.#releases[pick % this.#releases.length];
      if (release?.type === "release") executor.execute([{ ...release, type }]);
    }
  }

  #next(): number {
    this.#issued = Math.min(this.#issued + 1, this.#issues.length);
    return this.#issued;
  }

  /** Everything is there again, and nothing is wanted any more. */
  end(executor: ReturnType<typeof opened>["executor"]): void {
    for (let accelerator = 0; accelerator < this.#plan.accelerators; accelerator++)
      executor.returnAccelerator(accelerator);
    executor.execute(this.#issues.slice(this.#issued));
    executor.execute([...withdrawAll(this.#plan), ...this.#releases]);
  }
}

test("losses, returns, holds and withdrawals at any time within a delivery leave nothing behind", () => {
  let returns = 0;
  fc.assert(
    fc.property(plans, deeds, fc.constantFrom(1500, 1_000_000), (plan, drawn, hbmBytes) => {
      const unruly = new Unruly(plan);
      const ended = new Set<number>();
      const absent = new Set<number>();
      let events = 0;
      let isEnding = false;
      const { executor, master, time } = opened(plan, {
        hbmBytes,
        onEvent(event, executorNow) {
          if (event.type === "operatorDone" || event.type === "operatorFailed" || event.type === "withdrawn") {
            expect(ended, `${event.type} ${event.issueNumber}`).not.toContain(event.issueNumber);
            ended.add(event.issueNumber);
          } else if (event.type === "acceleratorLost") absent.add(event.accelerator);
          else if (event.type === "acceleratorReturned") expect(absent.delete(event.accelerator)).toBe(true);
          for (const deed of drawn) if (deed.afterEvent === events && !isEnding) unruly.act(deed, executorNow);
          events++;
        },
      });
      executor.execute(unruly.first);
      time.run();
      returns += executor.stats().accelerators.filter(({ losses, absent: still }) => losses > 0 && !still).length;
      isEnding = true;
      unruly.end(executor);
      for (let round = 0; round < plan.operators.length * 4; round++) {
        master.retry();
        time.run();
      }
      expect([...absent]).toEqual([]);
      const left = executor.leftovers();
      // Only intents that never find room, and what they would send, may be left.
      const isStuck = (tensor: number) => left.transfers.some((one) => one.state === "intent" && one.tensor === tensor);
      if (hbmBytes > 1500) expect(left).toEqual(NOTHING);
      expect(left.operators).toEqual([]);
      expect(left.tensors.filter(({ tensor }) => !isStuck(tensor))).toEqual([]);
    }),
    { numRuns: 100 },
  );
  expect(returns).toBeGreaterThan(2);
});
