import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runWorld, type WorldRun, worlds } from "../../test/world.ts";
import { readEventLog } from "../log/reader.ts";
import { replayEventLog } from "../log/replay.ts";
import { inspectEventLog, inspectMaster, inspectSnapshot } from "./inspect.ts";
import { decisionText, inspectionText } from "./inspection-text.ts";

/** Issued, and neither ended, taken back nor lost by then, by what the scheduler told; running or not. */
function slowOperators(
  { notices, events }: WorldRun,
  atNs: number,
): Map<number, { accelerator: number; startedNs: number }> {
  const there = new Map<number, { accelerator: number; startedNs: number }>();
  for (const { name, value } of notices) {
    if ((value as { atNs: number }).atNs > atNs) break;
    if (name === "operatorIssued") there.set(value.issueNumber, { accelerator: value.accelerator, startedNs: -1 });
    else if (name === "operatorStarted")
      there.set(value.issueNumber, { accelerator: value.accelerator, startedNs: value.atNs });
    else if (name === "operatorDone" || name === "operatorFailed" || name === "operatorWithdrawn")
      there.delete(value.issueNumber);
    else if (name === "acceleratorLost") {
      for (const [issueNumber, { accelerator }] of there)
        if (accelerator === value.accelerator) there.delete(issueNumber);
    }
  }
  // What is given back for good, as of a cancelled instance, is not told of.
  for (const { event, nowNs } of events)
    if (event.type === "withdrawn" && nowNs <= atNs) there.delete(event.issueNumber);
  return there;
}

describe("inspectEventLog", () => {
  it("finds on each accelerator what was told to be issued there and to run, and who has each byte", async () => {
    const seen = { running: 0, queued: 0, waiting: 0, transfers: 0, blocked: 0 };
    await fc.assert(
      fc.asyncProperty(worlds, fc.nat(4000), async (world, atNs) => {
        const run = await runWorld(world);
        const found = inspectEventLog(readEventLog(run.log), { atNs });
        const slow = slowOperators(run, atNs);
        found.accelerators.forEach(({ running, queue, usedBytes, owners }, accelerator) => {
          const own = [...slow].filter(([, operator]) => operator.accelerator === accelerator);
          const slowRunning = own.filter(([, { startedNs }]) => startedNs >= 0);
          expect(running === null ? [] : [[running.issueNumber, running.startedNs]]).toEqual(
            slowRunning.map(([issueNumber, { startedNs }]) => [issueNumber, startedNs]),
          );
          const slowQueue = own.filter(([, { startedNs }]) => startedNs < 0).map(([issueNumber]) => issueNumber);
          expect(queue.map(({ issueNumber }) => issueNumber)).toEqual(slowQueue);
          for (const { state, missing } of queue)
            if (state !== "recalled") expect(missing.length > 0).toBe(state === "blocked");
          expect(owners.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(usedBytes);
          expect(owners.map(({ owner }) => owner.kind)).not.toContain("nobody");
          seen.running += running === null ? 0 : 1;
          seen.queued += queue.length;
          seen.blocked += queue.filter(({ state }) => state === "blocked").length;
        });
        expect(found.waiting.length).toBe(Math.min(100, found.waitingOperators));
        seen.waiting += found.waiting.length;
        seen.transfers += found.transfers.length;
      }),
      { numRuns: 60 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
  });

  it("finds the same as a look at the master, and at its snapshot but for what that does not tell", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, fc.nat(4000), async (world, atNs) => {
        const run = await runWorld(world);
        const log = readEventLog(run.log);
        const found = inspectEventLog(log, { atNs });
        const { core, nowNs } = replayEventLog(log, { untilNs: atNs });
        const { requests, ...rest } = found;
        const untold = requests.map((request) => ({ ...request, tenant: null }));
        expect(inspectMaster(core, nowNs)).toEqual({ ...rest, requests: untold });
        const saved = inspectSnapshot(JSON.parse(JSON.stringify(core.graph.snapshot())), { nowNs });
        expect(saved.requests).toEqual(untold);
        expect(saved.transfers).toEqual(rest.transfers);
        expect(saved.waiting.map(({ operator, instance }) => [operator, instance])).toEqual(
          rest.waiting.map(({ operator, instance }) => [operator, instance]),
        );
        saved.accelerators.forEach((accelerator, index) => {
          expect({ ...accelerator, isSuspect: false, queue: [] }).toEqual({
            ...rest.accelerators[index],
            isSuspect: false,
            queue: [],
          });
        });
        expect(inspectSnapshot(core.graph.snapshot()).atNs).toBeLessThanOrEqual(nowNs);
      }),
      { numRuns: 30 },
    );
  });

  it("explains every decision and every instance that was placed, and writes it without what does not print", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, fc.nat(), async (world, pick) => {
        const run = await runWorld(world);
        const log = readEventLog(run.log);
        const decisions = run.notices.flatMap((notice) => (notice.name === "decision" ? [notice.value] : []));
        const chosen = decisions[pick % Math.max(1, decisions.length)];
        if (chosen === undefined) return;
        const { decision, instance } = inspectEventLog(log, { decision: chosen.round, instance: chosen.instance });
        expect(decision).toEqual(chosen);
        expect(instance?.decisions).toEqual(decisions.filter((it) => it.instance === chosen.instance));
        const text = decisionText(chosen);
        expect(text.split("\n")).toHaveLength(chosen.candidates.length + 2);
        for (const { partition } of chosen.candidates) expect(text).toContain(`  ${partition}: `);
        expect(text.match(/: chosen/g)).toHaveLength(1);
        const whole = inspectionText(
          inspectEventLog(log, { atNs: chosen.atNs, instance: chosen.instance, decision: chosen.round }),
        );
        expect(/[\p{Cf}]|(?!\n)\p{Cc}/u.test(whole)).toBe(false);
        expect(whole).toContain(text);
      }),
      { numRuns: 30 },
    );
  });
});
