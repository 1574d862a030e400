import fc from "fast-check";
import { MasterCore } from "slicescheduler";
import { expect, test } from "vitest";
import { faults, type RunOptions, type RunReport, runWorkload, worlds } from "../src/index.ts";

const numRuns = Number(process.env["WORLDS"] ?? 40);
const timeoutMs = 20_000 + numRuns * 200;

/** Everything that a run can be told apart by. */
function bytesOf({ log, recorded, outcomes, refusals, executorStats, stats }: RunReport): string {
  return JSON.stringify({ log, recorded, outcomes, refusals, executorStats, stats });
}

/** Suspicions and tries are answers like all others. */
const health = { faultsToSuspect: 2, probeNs: 20, silentNsMin: 400 };

test(
  "the same options give the same run, byte for byte, with noise, cancels and faults",
  async () => {
    await fc.assert(
      fc.asyncProperty(worlds({ cancels: true }), faults(), async (world, broken) => {
        const options = { ...world, faults: broken, validate: false };
        expect(bytesOf(await runWorkload(options))).toBe(bytesOf(await runWorkload(options)));
      }),
      { numRuns },
    );
  },
  timeoutMs,
);

test(
  "another seed changes durations when there is noise, and nothing when there is none",
  async () => {
    const durations = { durationNsMin: 1_000_000, durationNsMax: 2_000_000 };
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(worlds(durations), fc.nat(), async (world, otherSeed) => {
        const run = (options: Partial<RunOptions>) => runWorkload({ ...world, validate: false, ...options });
        const seed = otherSeed === world.seed ? otherSeed + 1 : otherSeed;
        const quiet = { operatorCv: 0, transferCv: 0 };
        expect(bytesOf(await run({ ...quiet, seed }))).toBe(bytesOf(await run(quiet)));
        const noisy = await run({ operatorCv: 0.3 });
        if (noisy.stats.operatorsDone === 0) return;
        compared += 1;
        expect(observedNs(await run({ operatorCv: 0.3, seed }))).not.toEqual(observedNs(noisy));
      }),
      { numRuns },
    );
    expect(compared).toBeGreaterThan(numRuns / 2);
  },
  timeoutMs,
);

function observedNs({ log }: RunReport): number[] {
  return log.flatMap(({ name, value }) => (name === "operatorDone" ? [value.observedNs] : []));
}

test(
  "recorded events, written out and read back, give a fresh core the same instructions and the executor's very memory",
  async () => {
    await fc.assert(
      fc.asyncProperty(worlds({ cancels: true }), faults(), async (world, broken) => {
        const { cluster, scheduling = {}, arbitration = {} } = world;
        const core = new MasterCore({ cluster, scheduling, arbitration, health, manifest: { probes: true } });
        let replayed = 0;
        await runWorkload({
          ...world,
          faults: broken,
          health,
          validate: false,
          onQuiet: ({ recorded, executor }) => {
            for (; replayed < recorded.length; replayed++) {
              const { event, nowNs, instructions } = recorded[replayed] as (typeof recorded)[number];
              const answered = core.handle(JSON.parse(JSON.stringify(event)), nowNs).instructions;
              expect(JSON.stringify(answered)).toBe(JSON.stringify(instructions));
            }
            // Within an instant the executor may allocate a buffer before a release reaches it: peaks can differ by that.
            for (const [a, { name, usedHbmBytes }] of executor.stats().accelerators.entries()) {
              expect({ name, usedHbmBytes: core.graph.ledger.usedBytes(a) }).toEqual({ name, usedHbmBytes });
            }
          },
        });
        expect(replayed).toBeGreaterThan(0);
      }),
      { numRuns },
    );
  },
  timeoutMs,
);
