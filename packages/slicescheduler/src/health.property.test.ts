import fc from "fast-check";
import { expect, test } from "vitest";
import { checkedHealth, Health, type HealthState, type HealthStep, healthFaults } from "./health.ts";

/** The same by one loop over all that ever happened to one accelerator: slow, and obvious. */
class SlowHealth {
  state: HealthState = "trusted";
  /** Since it was trusted last: whether operators failed or succeeded, the latest last. */
  ends: boolean[] = [];
  /** Rounds of this suspicion: when each began, and whether its probe was answered well. */
  rounds: { beginNs: number; passed: boolean }[] = [];

  readonly options: ReturnType<typeof checkedHealth>;
  readonly hasProbes: boolean;

  constructor(options: ReturnType<typeof checkedHealth>, hasProbes: boolean) {
    this.options = options;
    this.hasProbes = hasProbes;
  }

  get faultsInARow(): number {
    const lastGood = this.ends.lastIndexOf(true);
    return this.ends.length - 1 - lastGood;
  }

  get dueNs(): number {
    const round = this.rounds.at(-1);
    if (this.state !== "suspect" || round === undefined) return Number.POSITIVE_INFINITY;
    return round.beginNs + this.options.probeNs * 2 ** Math.min(this.rounds.length - 1, 10);
  }

  suspect(nowNs: number): string[] {
    this.state = "suspect";
    this.rounds = [];
    return ["suspect", ...this.round(nowNs)];
  }

  round(nowNs: number): string[] {
    this.rounds.push({ beginNs: nowNs, passed: false });
    return this.hasProbes ? ["probe"] : [];
  }

  clear(): string[] {
    this.state = "trusted";
    this.ends = [];
    this.rounds = [];
    return ["clear"];
  }

  ended(well: boolean, nowNs: number): string[] {
    this.ends.push(well);
    const suffices = this.faultsInARow >= this.options.faultsToSuspect;
    return !well && this.state === "trusted" && suffices ? this.suspect(nowNs) : [];
  }

  answered(healthy: boolean, isOverdue: boolean): string[] {
    const round = this.rounds.at(-1);
    if (this.state !== "suspect" || round === undefined || !healthy) return [];
    round.passed = true;
    return isOverdue ? [] : this.clear();
  }

  due(nowNs: number, isOverdue: boolean): string[] {
    if (this.dueNs > nowNs) return [];
    const passed = this.rounds.at(-1)?.passed === true;
    if (!isOverdue && (passed || !this.hasProbes)) return this.clear();
    if (this.hasProbes && this.rounds.length >= this.options.probesMax) {
      this.gone();
      return [passed ? "giveUp" : "giveUp fatal"];
    }
    return this.round(nowNs);
  }

  gone(): void {
    this.state = "gone";
    this.ends = [];
    this.rounds = [];
  }
}

function wordsOf(step: HealthStep): string {
  return step.type === "giveUp" && step.fatal ? "giveUp fatal" : step.type;
}

const happening = fc.oneof(
  fc.record({ type: fc.constant("ended" as const), well: fc.boolean() }),
  fc.record({ type: fc.constant("overdue" as const) }),
  fc.record({ type: fc.constant("probed" as const), healthy: fc.boolean(), isOld: fc.boolean() }),
  fc.record({ type: fc.constant("due" as const) }),
  fc.record({ type: fc.constant("lost" as const) }),
  fc.record({ type: fc.constant("returned" as const) }),
);

test("each accelerator goes by its own history, as told by a slow twin", () => {
  const options = fc
    .record({
      faultsToSuspect: fc.integer({ min: 1, max: 4 }),
      probeNs: fc.integer({ min: 1, max: 20 }),
      probesMax: fc.integer({ min: 1, max: 14 }),
    })
    .map(checkedHealth);
  const command = fc.record({
    accelerator: fc.nat({ max: 2 }),
    afterNs: fc.nat({ max: 60 }),
    isOverdue: fc.boolean(),
    what: happening,
  });
  fc.assert(
    fc.property(options, fc.boolean(), fc.array(command, { maxLength: 80 }), (given, hasProbes, commands) => {
      const health = new Health(3, given, hasProbes);
      const twins = [0, 1, 2].map(() => new SlowHealth(given, hasProbes));
      const probes = [-1, -1, -1];
      let nowNs = 0;
      for (const { accelerator, afterNs, isOverdue, what } of commands) {
        nowNs += afterNs;
        const twin = twins[accelerator] as SlowHealth;
        let steps: HealthStep[] = [];
        let expected: string[] = [];
        switch (what.type) {
          case "ended":
            if (what.well) health.succeeded(accelerator);
            else steps = health.faulted(accelerator, nowNs);
            expected = twin.ended(what.well, nowNs);
            break;
          case "overdue":
            steps = health.overdue(accelerator, nowNs, "something");
            expected = twin.state === "trusted" ? twin.suspect(nowNs) : [];
            break;
          case "probed": {
            const probe = (probes[accelerator] as number) - (what.isOld ? 1 : 0);
            steps = health.probed(accelerator, probe, what.healthy, () => isOverdue);
            if (!what.isOld && probe >= 0) expected = twin.answered(what.healthy, isOverdue);
            break;
          }
          case "due":
            steps = [...health.due(nowNs, (it) => it === accelerator && isOverdue)];
            expected = twins.flatMap((it, i) => it.due(nowNs, i === accelerator && isOverdue));
            break;
          case "lost":
            health.gone(accelerator);
            twin.gone();
            break;
          case "returned":
            health.returned(accelerator);
            twins[accelerator] = new SlowHealth(given, hasProbes);
            break;
        }
        expect(steps.map(wordsOf)).toEqual(expected);
        for (const step of steps) if (step.type === "probe") probes[step.accelerator] = step.probe;
        expect([0, 1, 2].map((it) => health.state(it))).toEqual(twins.map(({ state }) => state));
        expect(health.nextNs).toBe(Math.min(...twins.map(({ dueNs }) => dueNs)));
        // Whoever is suspect is heard of again, in bounded time.
        const longestNs = given.probeNs * 2 ** Math.min(given.probesMax, 10);
        for (const { state, dueNs } of twins)
          if (state === "suspect") expect(dueNs - nowNs).toBeLessThanOrEqual(longestNs);
      }
    }),
  );
});

test("a suspicion ends within the sum of its rounds, whatever is answered", () => {
  const answers = fc.array(fc.constantFrom("well", "badly", "not"), { maxLength: 40 });
  fc.assert(
    fc.property(answers, fc.array(fc.boolean(), { maxLength: 40 }), (answered, overdue) => {
      const options = checkedHealth({ probeNs: 10, probesMax: 4 });
      const health = new Health(1, options, true);
      let steps = health.overdue(0, 0, "something");
      let nowNs = 0;
      for (let round = 0; health.state(0) === "suspect"; round++) {
        const probe = steps.find(({ type }) => type === "probe");
        expect(probe).toBeDefined();
        const answer = answered[round] ?? "not";
        if (probe?.type === "probe" && answer !== "not")
          health.probed(0, probe.probe, answer === "well", () => overdue[round] ?? false);
        if (health.state(0) !== "suspect") break;
        nowNs = health.nextNs;
        steps = [...health.due(nowNs, () => overdue[round] ?? false)];
      }
      expect(nowNs).toBeLessThanOrEqual(10 + 20 + 40 + 80);
    }),
  );
});

test("what is wrong with options is told, everything at once", () => {
  const faults = healthFaults({ faultsToSuspect: 0, probeNs: 1.5, probesMax: 31, silentNsMin: -1, silentFactor: 0.5 });
  expect(faults.map((fault) => fault.split(":")[0])).toEqual([
    "health.faultsToSuspect",
    "health.probeNs",
    "health.probesMax",
    "health.silentNsMin",
    "health.silentFactor",
  ]);
  expect(healthFaults({})).toEqual([]);
});
