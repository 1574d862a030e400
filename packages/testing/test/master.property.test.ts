import fc from "fast-check";
import { expect, test } from "vitest";
import { faults, type RunReport, runWorkload, type WorldOptions, worlds } from "../src/index.ts";

/** Worlds per property; a long hunt sets WORLDS to thousands. */
const numRuns = Number(process.env["WORLDS"] ?? 100);
const timeoutMs = 20_000 + numRuns * 200;

/** What all worlds of a property did: one over worlds in which nothing happens would prove nothing. */
class Tally {
  readonly outcomes = { done: 0, failed: 0, cancelled: 0, refused: 0 };
  transfers = 0;
  waitedForMemory = 0;

  add({ outcomes, log }: RunReport): void {
    for (const outcome of outcomes) this.outcomes[outcome ?? "refused"] += 1;
    for (const { name, value } of log) {
      if (name === "transferDone") this.transfers += 1;
      if (name === "decision" && value.candidates.some(({ shortage }) => shortage !== null)) this.waitedForMemory += 1;
    }
  }
}

/** Nothing that goes on is given up: a deadline that noise can pass fails what waits for the transfer, by rights. */
async function allIsDoneIn(options: WorldOptions): Promise<Tally> {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(worlds(options), async ({ arbitration, ...world }) => {
      const { deadlineFactor: _, deadlineMinNs: __, ...patient } = arbitration ?? {};
      const report = await runWorkload({ ...world, arbitration: patient });
      tally.add(report);
      expect(report.outcomes.filter((outcome) => outcome === "failed" || outcome === "cancelled")).toEqual([]);
    }),
    { numRuns },
  );
  return tally;
}

/** `runWorkload` throws when an invariant breaks, when an instance gets no outcome, and when anything is left at the end. */
async function holdsIn(options: WorldOptions, withFaults = false): Promise<Tally> {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(worlds(options), withFaults ? faults() : fc.constant(undefined), async (world, broken) => {
      tally.add(await runWorkload({ ...world, ...(broken === undefined ? {} : { faults: broken }) }));
    }),
    { numRuns },
  );
  return tally;
}

test(
  "with ample memory nothing is refused and everything is done",
  async () => {
    const { outcomes, transfers } = await allIsDoneIn({ hbm: "ample", careless: false, restricted: false });
    expect(outcomes.refused).toBe(0);
    expect(Math.min(outcomes.done, transfers)).toBeGreaterThan(numRuns);
  },
  timeoutMs,
);

test(
  "with tight memory everything that is taken on is done",
  async () => {
    const { outcomes, transfers, waitedForMemory } = await allIsDoneIn({ hbm: "tight" });
    expect(Math.min(outcomes.done, outcomes.refused, transfers, waitedForMemory)).toBeGreaterThan(numRuns / 20);
  },
  timeoutMs,
);

test(
  "cancels at any time settle and leave nothing behind",
  async () => {
    const { outcomes } = await holdsIn({ cancels: true });
    expect(Math.min(outcomes.done, outcomes.cancelled, outcomes.failed)).toBeGreaterThan(numRuns / 20);
  },
  timeoutMs,
);

test(
  "failing operators and transfers take down what needs them and nothing else",
  async () => {
    const { outcomes } = await holdsIn({ cancels: true }, true);
    expect(Math.min(outcomes.done, outcomes.cancelled, outcomes.failed)).toBeGreaterThan(numRuns / 20);
  },
  timeoutMs,
);
